/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of gpushare.conf that say who a job is: classes, partitions, QOS; see config.h. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/units.h"
#include "gpushare/config/key.h"
#include "gpushare/config/parse.h"
#include "gpushare/proto/msg.h"

/* The next Name=Value of a record; 1, 0 at the end, -1 with the reason. */
int gs_parse_pair(char **rest, char **name, char **value, struct gs_error *err)
{
	char *word = strsep(rest, " \t");

	while (word && !*word)
		word = strsep(rest, " \t");
	if (!word)
		return 0;
	*value = strchr(word, '=');
	if (!*value || *value == word)
		return gs_fail(err, "'%.60s' is not Name=Value", word);
	*(*value)++ = '\0';
	*name = word;
	return 1;
}

/* A number of shares, not given twice. */
int gs_parse_shares(uint32_t *shares, const char *name, const char *value, struct gs_error *err)
{
	int64_t number;

	if (*shares)
		return gs_fail(err, "%s is given twice", name);
	if (gs_parse_int(value, 1, GS_SHARES_MAX, &number, err) < 0)
		return -1;
	*shares = (uint32_t)number;
	return 0;
}

/* Class=interactive Priority=10 [Policy=frs] */
int gs_parse_class(struct gs_config *config, char *rest, struct gs_error *err)
{
	struct gs_config_class *class = &config->class[config->nclass];
	char *name, *value, *own;
	int64_t priority = INT64_MIN;
	int more;

	if (config->nclass == GS_CONFIG_CLASSES_MAX)
		return gs_fail(err, "more than %d classes", GS_CONFIG_CLASSES_MAX);
	if (gs_parse_pair(&rest, &name, &own, err) < 0)
		return -1;
	if (!*own || strlen(own) > GS_CONFIG_VALUE_MAX)
		return gs_fail(err, "'%.70s' is not a class's name", own);
	for (size_t i = 0; i < config->nclass; i++)
		if (strcmp(config->class[i].name, own) == 0)
			return gs_fail(err, "class '%.70s' is described twice", own);
	class->name = strdup(own);
	if (!class->name)
		return gs_fail(err, "no memory");
	/* From here on gs_config_free() releases what the record owns. */
	config->nclass++;
	while ((more = gs_parse_pair(&rest, &name, &value, err)) > 0) {
		if (strcasecmp(name, "Policy") == 0 && !class->policy)
			more = gs_key_policy(&class->policy, value, err);
		else if (strcasecmp(name, "Priority") == 0 && priority == INT64_MIN)
			more = gs_parse_int(value, -1000, 1000, &priority, err);
		else
			more = gs_fail(err,
				       "a Class line has one Priority and at most one "
				       "Policy, no '%.40s' besides",
				       name);
		if (more < 0)
			return -1;
	}
	if (more < 0)
		return -1;
	if (priority == INT64_MIN)
		return gs_fail(err, "class '%.70s' has no Priority=", own);
	class->priority = (int32_t)priority;
	return 0;
}

static int set_class(const struct gs_config *config, uint32_t *class, const char *value,
		     struct gs_error *err)
{
	if (*class)
		return gs_fail(err, "Class is given twice");
	for (size_t i = 0; i < config->nclass; i++)
		if (strcmp(config->class[i].name, value) == 0)
			*class = (uint32_t)i + 1;
	return *class ? 0 : gs_fail(err, "class '%.40s' has no Class= line above", value);
}

static int set_priority(int32_t *field, const char *value, struct gs_error *err)
{
	int64_t priority;

	if (*field >= 0)
		return gs_fail(err, "Priority is given twice");
	if (gs_parse_int(value, 0, GS_CONFIG_PRIORITY_MAX, &priority, err) < 0)
		return -1;
	*field = (int32_t)priority;
	return 0;
}

static int set_partition_field(const struct gs_config *config, struct gs_config_partition *p,
			       const char *name, const char *value, struct gs_error *err)
{
	if (strcasecmp(name, "Class") == 0)
		return set_class(config, &p->class, value, err);
	if (strcasecmp(name, "Priority") == 0)
		return set_priority(&p->priority, value, err);
	if (strcasecmp(name, "MaxShares") == 0)
		return gs_parse_shares(&p->max_shares, "MaxShares", value, err);
	if (strcasecmp(name, "DefaultShares") == 0)
		return gs_parse_shares(&p->default_shares, "DefaultShares", value, err);
	if (strcasecmp(name, "AllowGpushare") == 0) {
		if (p->allow >= 0)
			return gs_fail(err, "AllowGpushare is given twice");
		return gs_parse_bool(value, &p->allow, err);
	}
	return gs_fail(err,
		       "a Partition line has no '%.40s': Priority, Class, MaxShares, "
		       "DefaultShares and AllowGpushare",
		       name);
}

/* What the fields of one line say together. */
static int finish_partition(struct gs_config_partition *p, struct gs_error *err)
{
	if (p->max_shares && p->default_shares > p->max_shares)
		return gs_fail(err, "DefaultShares=%" PRIu32 " is more than MaxShares=%" PRIu32,
			       p->default_shares, p->max_shares);
	if (p->allow == 0 && (p->max_shares || p->default_shares))
		return gs_fail(err, "AllowGpushare=no beside MaxShares or DefaultShares");
	if (p->allow < 0)
		p->allow = 1;
	return 0;
}

/* Partition=high Priority=10 [Class=interactive] [MaxShares=50] [DefaultShares=25]
 * [AllowGpushare=no] */
int gs_parse_partition(struct gs_config *config, char *rest, struct gs_error *err)
{
	struct gs_config_partition *p = &config->partition[config->npartition];
	char *name, *value, *partition;
	int more, fields = 0;

	if (config->npartition == GS_CONFIG_PARTITIONS_MAX)
		return gs_fail(err, "more than %d partitions", GS_CONFIG_PARTITIONS_MAX);
	if (gs_parse_pair(&rest, &name, &partition, err) < 0)
		return -1;
	if (!*partition || strlen(partition) >= sizeof(((struct gs_msg_step *)0)->partition))
		return gs_fail(err, "'%.70s' is not a partition's name", partition);
	if (gs_config_partition(config, partition))
		return gs_fail(err, "partition '%s' is described twice", partition);
	*p = (struct gs_config_partition) { .priority = -1, .allow = -1 };
	while ((more = gs_parse_pair(&rest, &name, &value, err)) > 0) {
		if (set_partition_field(config, p, name, value, err) < 0)
			return -1;
		fields++;
	}
	if (more < 0)
		return -1;
	if (!fields)
		return gs_fail(err,
			       "the line says nothing about partition '%s': Priority, "
			       "Class, MaxShares, DefaultShares or AllowGpushare",
			       partition);
	if (finish_partition(p, err) < 0)
		return -1;
	p->name = strdup(partition);
	if (!p->name)
		return gs_fail(err, "no memory");
	config->npartition++;
	return 0;
}

static int set_qos_field(const struct gs_config *config, struct gs_config_qos *q, const char *name,
			 const char *value, struct gs_error *err)
{
	if (strcasecmp(name, "Class") == 0)
		return set_class(config, &q->class, value, err);
	if (strcasecmp(name, "Priority") == 0)
		return set_priority(&q->priority, value, err);
	/* A policy orders kernels that compete as equals: that is a class, not a job. */
	if (strcasecmp(name, "Policy") == 0)
		return gs_fail(err,
			       "a policy is a class's: Class=... Policy=%.40s, and "
			       "Class= on the QOS line",
			       value);
	return gs_fail(err, "a QOS line has no '%.40s': Priority and Class", name);
}

/* QOS=urgent [Priority=100] [Class=interactive] */
int gs_parse_qos(struct gs_config *config, char *rest, struct gs_error *err)
{
	struct gs_config_qos *q = &config->qos[config->nqos];
	char *name, *value, *qos;
	int more;

	if (config->nqos == GS_CONFIG_QOS_MAX)
		return gs_fail(err, "more than %d QOS", GS_CONFIG_QOS_MAX);
	if (gs_parse_pair(&rest, &name, &qos, err) < 0)
		return -1;
	if (!*qos || strlen(qos) >= sizeof(((struct gs_msg_step *)0)->qos))
		return gs_fail(err, "'%.70s' is not a QOS's name", qos);
	if (gs_config_qos(config, qos))
		return gs_fail(err, "QOS '%s' is described twice", qos);
	*q = (struct gs_config_qos) { .priority = -1 };
	while ((more = gs_parse_pair(&rest, &name, &value, err)) > 0)
		if (set_qos_field(config, q, name, value, err) < 0)
			return -1;
	if (more < 0)
		return -1;
	if (q->priority < 0 && !q->class)
		return gs_fail(err, "the line says nothing about QOS '%s': Priority or Class", qos);
	q->name = strdup(qos);
	if (!q->name)
		return gs_fail(err, "no memory");
	config->nqos++;
	return 0;
}
