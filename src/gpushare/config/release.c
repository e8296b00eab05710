/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Releasing a configuration; see config.h. */
#include <stdlib.h>

#include "gpushare/config/config.h"
#include "gpushare/config/key.h"

void gs_config_free(struct gs_config *config)
{
	if (!config)
		return;
	gs_key_release(config);
	for (size_t i = 0; i < config->ngpu; i++) {
		free(config->gpu[i].file);
		free(config->gpu[i].uuid);
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
