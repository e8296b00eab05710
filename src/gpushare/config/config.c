/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking a configuration; see config.h. */
#include "gpushare/config/config.h"

#include <string.h>

/* Where neither a line nor a PriorityTier says. */
#define PRIORITY_DEFAULT 1

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
		return PRIORITY_DEFAULT;
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

int gs_config_is_instance(const struct gs_config_gpu *gpu)
{
	return (gpu->uuid && strncmp(gpu->uuid, "MIG-", 4) == 0) ||
	       (gpu->file && strstr(gpu->file, "nvidia-cap"));
}
