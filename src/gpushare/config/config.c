/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading, asking and releasing a configuration; see config.h. */
#define _GNU_SOURCE
#include "gpushare/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/config/key.h"

#define FILE_MAX_BYTES (1u << 20)

struct gs_config *gs_config_load(const char *path, struct gs_error *err)
{
	struct gs_config *config = NULL;
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t n;

	if (!file) {
		gs_fail_errno(err, "%.120s: cannot open", path);
		return NULL;
	}
	text = malloc(FILE_MAX_BYTES + 1);
	if (!text) {
		gs_fail(err, "no memory");
		goto out;
	}
	n = fread(text, 1, FILE_MAX_BYTES + 1, file);
	if (ferror(file))
		gs_fail_errno(err, "%.120s: cannot read", path);
	else if (n > FILE_MAX_BYTES)
		gs_fail(err, "%.120s: larger than %u bytes", path, FILE_MAX_BYTES);
	else
		config = gs_config_parse(path, text, n, err);
out:
	free(text);
	fclose(file);
	return config;
}

void gs_config_free(struct gs_config *config)
{
	if (!config)
		return;
	gs_key_release(config);
	for (size_t i = 0; i < config->ngpu; i++) {
		free(config->gpu[i].file);
		free(config->gpu[i].policy);
	}
	for (size_t i = 0; i < config->nclass; i++) {
		free(config->class[i].name);
		free(config->class[i].policy);
	}
	for (size_t i = 0; i < config->npartition; i++)
		free(config->partition[i].name);
	for (size_t i = 0; i < config->nqos; i++)
		free(config->qos[i].name);
	for (size_t i = 0; i < config->nnode_type; i++) {
		free(config->node_type[i].name);
		free(config->node_type[i].nodes);
	}
	free(config->job_env);
	free(config);
}

const struct gs_config_partition *gs_config_partition(const struct gs_config *config,
						      const char *name)
{
	for (size_t i = 0; i < config->npartition; i++)
		if (strcmp(config->partition[i].name, name) == 0)
			return &config->partition[i];
	return NULL;
}

const struct gs_config_qos *gs_config_qos(const struct gs_config *config, const char *name)
{
	for (size_t i = 0; i < config->nqos; i++)
		if (strcmp(config->qos[i].name, name) == 0)
			return &config->qos[i];
	return NULL;
}

int32_t gs_config_priority(const struct gs_config *config, const struct gs_config_who *who)
{
	const struct gs_config_partition *p = gs_config_partition(config, who->partition);
	const struct gs_config_qos *q = gs_config_qos(config, who->qos);

	if (q && q->priority >= 0)
		return q->priority;
	if (p && p->priority >= 0)
		return p->priority;
	if (!who->tier)
		return GS_PRIORITY_DEFAULT;
	return who->tier - 1 < GS_CONFIG_PRIORITY_MAX ? (int32_t)(who->tier - 1) :
							GS_CONFIG_PRIORITY_MAX;
}

uint32_t gs_config_class(const struct gs_config *config, const struct gs_config_who *who)
{
	const struct gs_config_partition *p = gs_config_partition(config, who->partition);
	const struct gs_config_qos *q = gs_config_qos(config, who->qos);

	if (q && q->class)
		return q->class;
	return p ? p->class : 0;
}

static int32_t class_priority(const struct gs_config *config, uint32_t class)
{
	return class && class <= config->nclass ? config->class[class - 1].priority : 0;
}

int gs_config_has_above(const struct gs_config *config, uint32_t class, int32_t priority)
{
	int32_t own = class_priority(config, class);

	for (size_t i = 0; i < config->npartition; i++) {
		const struct gs_config_partition *p = &config->partition[i];
		int32_t its = class_priority(config, p->class);

		if (its > own || (its == own && p->priority > priority))
			return 1;
	}
	for (size_t i = 0; i < config->nqos; i++) {
		const struct gs_config_qos *q = &config->qos[i];
		int32_t its = class_priority(config, q->class);

		if ((q->class && its > own) ||
		    ((!q->class || its == own) && q->priority > priority))
			return 1;
	}
	return 0;
}

const struct gs_config_gpu *gs_config_gpu(const struct gs_config *config, uint32_t index)
{
	for (size_t i = 0; i < config->ngpu; i++)
		if (config->gpu[i].index == index)
			return &config->gpu[i];
	return NULL;
}
