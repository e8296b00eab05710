/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Typed values of the keys in keys.def; see key.h. */
#define _GNU_SOURCE
#include "gpushare/config/key.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/log.h"
#include "common/units.h"
#include "gpushare/memory/rbdm.h"
#include "gpushare/proto/msg.h"

enum key_type {
	/* Texts first, see gs_key_release(). */
	TYPE_STRING,
	TYPE_PATH,
	TYPE_POLICY,
	TYPE_WAKE,
	TYPE_DURATION,
	TYPE_PERIOD,
	TYPE_SIZE,
	TYPE_AMOUNT,
	TYPE_PERCENT,
	TYPE_BOOL,
	TYPE_ABSENT,
	TYPE_SIGNAL,
	TYPE_LEVEL,
	TYPE_ADMISSION,
	TYPE_COUNT,
	TYPE_ISOLATION,
	TYPE_PREEMPT,
	TYPE_SUSPEND,
	TYPE_QUEUE,
	TYPE_MOUNT,
	TYPE_UNMANAGED,
	TYPE_MIG,
	TYPE_OVERDUE,
	TYPE_CPU,
	TYPE_ARBITER,
	TYPE_MACHINE,
	TYPE_COPIES,
	TYPE_CHUNK,
	TYPE_CORUN,
	TYPE_LIST,
};

static const struct key {
	const char *name;
	const char *initial;
	enum key_type type;
	size_t offset;
	const char *list; /* of a parameter: the key that it stands in */
} keys[] = {
#define KEY(name, field, type, def, words) \
	{ #name, def, TYPE_##type, offsetof(struct gs_config, field), NULL },
#define LIST(name, words) { #name, "", TYPE_LIST, 0, NULL },
#include "gpushare/config/keys.def"
#undef KEY
#undef LIST
#define PARAMETER(list, name, field, type, def, words) \
	{ #name, def, TYPE_##type, offsetof(struct gs_config, field), #list },
#include "gpushare/config/parameters.def"
#undef PARAMETER
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

int gs_key_find(const char *name)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (!keys[i].list && strcasecmp(name, keys[i].name) == 0)
			return (int)i;
	return -1;
}

const char *gs_key_gone(const char *name)
{
	static const struct {
		const char *name, *instead;
	} gone[] = {
#define GONE(name, instead) { #name, instead },
#include "gpushare/config/gone.def"
#undef GONE
	};

	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		if (strcasecmp(name, gone[i].name) == 0)
			return gone[i].instead;
	return NULL;
}

int gs_key_is_list(size_t key)
{
	return keys[key].type == TYPE_LIST;
}

int gs_key_parameter(size_t list, const char *name)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (keys[i].list && strcmp(keys[i].list, keys[list].name) == 0 &&
		    strcasecmp(name, keys[i].name) == 0)
			return (int)i;
	return -1;
}

const char *gs_key_name(size_t key)
{
	return keys[key].name;
}

size_t gs_key_count(void)
{
	return KEY_COUNT;
}

static int set_text(char **field, const char *value, struct gs_error *err)
{
	char *copy = strdup(value);

	if (!copy)
		return gs_fail(err, "no memory");
	free(*field);
	*field = copy;
	return 0;
}

static int set_path(char **field, const char *value, const char *initial, struct gs_error *err)
{
	if (*value != '/' && (*value || *initial))
		return gs_fail(err, "'%.60s' is not an absolute path", value);
	return set_text(field, value, err);
}

int gs_key_policy(char **field, const char *value, struct gs_error *err)
{
	static const char *const names[] = {
#define POLICY(name, words, source) #name,
#include "gpushare/sched/policies.def"
#undef POLICY
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(value, names[i]) == 0)
			return set_text(field, names[i], err);
	return gs_fail(err, "'%.40s' is not a policy: choose one of"
#define POLICY(name, words, source) " " #name
#include "gpushare/sched/policies.def"
#undef POLICY
		       ,
		       value);
}

static int set_wake(char **field, const char *value, struct gs_error *err)
{
	static const char *const names[] = {
#define WAKE(name, words) #name,
#include "gpushare/memory/wake.def"
#undef WAKE
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(value, names[i]) == 0)
			return set_text(field, names[i], err);
	return gs_fail(err, "'%.40s' is not a wake-up policy: choose one of"
#define WAKE(name, words) " " #name
#include "gpushare/memory/wake.def"
#undef WAKE
		       ,
		       value);
}

static int set_queue(int *on_node, const char *value, struct gs_error *err)
{
	*on_node = strcasecmp(value, "node") == 0;
	if (*on_node || strcasecmp(value, "slurm") == 0)
		return 0;
	return gs_fail(err, "'%.40s' is neither slurm nor node", value);
}

static int set_percent(uint64_t *field, const char *value, struct gs_error *err)
{
	int64_t percent;

	if (gs_parse_int(value, 0, 1000, &percent, err) < 0)
		return -1;
	*field = (uint64_t)percent;
	return 0;
}

static int set_amount(uint64_t *field, const char *value, struct gs_error *err)
{
	*field = 0;
	return strcmp(value, "0") == 0 ? 0 : gs_parse_size(value, field, err);
}

static int set_period(uint64_t *field, const char *value, struct gs_error *err)
{
	uint64_t ns;

	if (gs_parse_duration(value, &ns, err) < 0)
		return -1;
	if (ns == 0)
		return gs_fail(err, "'%.40s': must be longer than zero", value);
	*field = ns;
	return 0;
}

/* One of `n` words; *field becomes its number. */
static int set_word(int *field, const char *value, const char *const names[], int n,
		    struct gs_error *err)
{
	char known[128] = "";

	for (int i = 0; i < n; i++) {
		if (strcasecmp(value, names[i]) == 0) {
			*field = i;
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), " %s", names[i]);
	}
	return gs_fail(err, "'%.40s' is none of%s", value, known);
}

static const char *const absent_names[GS_ABSENT_COUNT] = GS_ABSENT_WORDS;

static const char *const signal_names[] = {
	[GS_SIGNAL_AUTO] = "auto",
	[GS_SIGNAL_PROXY] = "proxy",
	[GS_SIGNAL_MEMOP] = "memop",
	[GS_SIGNAL_DMA] = "dma",
};

static const char *const isolation_names[] = {
	[GS_ISOLATION_CONTEXTS] = "contexts",
	[GS_ISOLATION_MPS] = "mps",
};

const char *gs_isolation_name(int isolation)
{
	return isolation_names[isolation == GS_ISOLATION_MPS];
}

static const char *const admission_names[GS_ADMISSION_COUNT] = GS_ADMISSION_WORDS;
static const char *const preempt_names[] = { "no", "checkpoint" };
static const char *const overdue_names[] = { "warn", "kill" };
static const char *const machine_names[GS_MACHINE_COUNT] = GS_MACHINE_WORDS;
static const char *const corun_names[] = { "no", "smk" };
static const char *const copies_names[] = { "no", "priority", "fair" };
static const char *const arbiter_names[] = { "auto", "poll", "sleep" };
static const char *const mount_names[] = { "step", "node", "no" };
static const char *const unmanaged_names[] = { "log", "kill" };
static const char *const mig_names[] = { "no", "unverified" };
static const char *const suspend_names[] = { "keep", "checkpoint" };

static int set_count(uint32_t *field, const char *value, struct gs_error *err)
{
	int64_t number = 0;

	if (gs_parse_int(value, 0, 1000, &number, err) < 0)
		return -1;
	*field = (uint32_t)number;
	return 0;
}

static int set_cpu(int *field, const char *value, struct gs_error *err)
{
	int64_t number = -1;

	if (strcasecmp(value, "no") != 0 &&
	    gs_parse_int(value, 0, CPU_SETSIZE - 1, &number, err) < 0)
		return -1;
	*field = (int)number;
	return 0;
}

#define CHUNK_LEAST (UINT64_C(64) << 10)
#define CHUNK_MOST (UINT64_C(1) << 30)

static int set_chunk(uint64_t *field, const char *value, struct gs_error *err)
{
	*field = strcasecmp(value, "no") == 0 ? 0 : UINT64_MAX;
	if (*field == 0 || strcasecmp(value, "auto") == 0)
		return 0;
	if (gs_parse_size(value, field, err) < 0)
		return -1;
	if (*field < CHUNK_LEAST || *field > CHUNK_MOST)
		return gs_fail(err, "'%.40s' is not between 64K and 1G", value);
	return 0;
}

static int set_level(int *field, const char *value, struct gs_error *err)
{
	int level = gs_log_level_parse(value);

	if (level < 0)
		return gs_fail(err, "'%.40s' is neither error, warn, info nor debug", value);
	*field = level;
	return 0;
}

int gs_key_set(struct gs_config *config, size_t key, const char *value, struct gs_error *err)
{
	const struct key *k = &keys[key];
	void *field = (char *)config + k->offset;

	if (strlen(value) > GS_CONFIG_VALUE_MAX)
		return gs_fail(err, "the value is longer than %d bytes", GS_CONFIG_VALUE_MAX);
	switch (k->type) {
	case TYPE_STRING:
		return set_text(field, value, err);
	case TYPE_PATH:
		return set_path(field, value, k->initial, err);
	case TYPE_POLICY:
		return gs_key_policy(field, value, err);
	case TYPE_WAKE:
		return set_wake(field, value, err);
	case TYPE_DURATION:
		return gs_parse_duration(value, field, err);
	case TYPE_PERIOD:
		return set_period(field, value, err);
	case TYPE_SIZE:
		return gs_parse_size(value, field, err);
	case TYPE_AMOUNT:
		return set_amount(field, value, err);
	case TYPE_PERCENT:
		return set_percent(field, value, err);
	case TYPE_BOOL:
		return gs_parse_bool(value, field, err);
	case TYPE_ABSENT:
		return set_word(field, value, absent_names, GS_ABSENT_COUNT, err);
	case TYPE_MACHINE:
		return set_word(field, value, machine_names, GS_MACHINE_COUNT, err);
	case TYPE_COPIES:
		return set_word(field, value, copies_names, 3, err);
	case TYPE_CORUN:
		return set_word(field, value, corun_names, 2, err);
	case TYPE_CHUNK:
		return set_chunk(field, value, err);
	case TYPE_SIGNAL:
		return set_word(field, value, signal_names, GS_SIGNAL_DMA + 1, err);
	case TYPE_LEVEL:
		return set_level(field, value, err);
	case TYPE_COUNT:
		return set_count(field, value, err);
	case TYPE_ISOLATION:
		return set_word(field, value, isolation_names, GS_ISOLATION_MPS + 1, err);
	case TYPE_PREEMPT:
		return set_word(field, value, preempt_names, 2, err);
	case TYPE_SUSPEND:
		return set_word(field, value, suspend_names, 2, err);
	case TYPE_CPU:
		return set_cpu(field, value, err);
	case TYPE_ARBITER:
		return set_word(field, value, arbiter_names, 3, err);
	case TYPE_MOUNT:
		return set_word(field, value, mount_names, GS_MOUNT_NO + 1, err);
	case TYPE_UNMANAGED:
		return set_word(field, value, unmanaged_names, 2, err);
	case TYPE_MIG:
		return set_word(field, value, mig_names, 2, err);
	case TYPE_OVERDUE:
		return set_word(field, value, overdue_names, 2, err);
	case TYPE_QUEUE:
		return set_queue(field, value, err);
	case TYPE_ADMISSION:
		return set_word(field, value, admission_names, GS_ADMISSION_COUNT, err);
	case TYPE_LIST:
		break;
	}
	return gs_fail(err, "a key without a type");
}

int gs_key_defaults(struct gs_config *config, struct gs_error *err)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (!gs_key_is_list(i) && gs_key_set(config, i, keys[i].initial, err) < 0)
			return -1;
	return 0;
}

void gs_key_release(struct gs_config *config)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (keys[i].type <= TYPE_WAKE)
			free(*(char **)((char *)config + keys[i].offset));
}
