/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as gpushare.conf; what is accepted must hold its invariants. */
#include <stdlib.h>
#include <string.h>

#include "gpushare/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_error err = { "" };
	struct gs_config *c = gs_config_parse("fuzz", (const char *)data, size, &err);

	if (!c) {
		must(memchr(err.text, '\0', sizeof(err.text)) != NULL && err.text[0]);
		return 0;
	}
	/* slurmctld's file may have node types only */
	must((c->ngpu || c->nnode_type) && c->ngpu <= GS_CONFIG_GPUS_MAX &&
	     c->nnode_type <= GS_CONFIG_NODE_TYPES_MAX);
	for (size_t i = 0; i < c->nnode_type; i++)
		must(c->node_type[i].memory != 0);
	for (size_t i = 0; i < c->ngpu; i++)
		must(c->gpu[i].memory && c->gpu[i].shares &&
		     gs_config_gpu(c, c->gpu[i].index) == &c->gpu[i]);
	for (size_t i = 0; i < c->npartition; i++)
		must(gs_config_priority(
			     c, &(struct gs_config_who) { c->partition[i].name, "", 1001 }) ==
		     (c->partition[i].priority < 0 ? 1000 : c->partition[i].priority));
	for (size_t i = 0; i < c->nqos; i++)
		must(gs_config_qos(c, c->qos[i].name) == &c->qos[i] &&
		     (c->qos[i].priority >= 0 || c->qos[i].class));
	must(c->min_quantum_ns && c->rr_quantum_ns && c->cfs_epoch_ns && c->socket[0] == '/');
	gs_config_free(c);
	return 0;
}
