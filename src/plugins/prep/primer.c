/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The primer; see primer.h.
 *
 * slurmctld learns that gres/gpushare is shared (records.c) when the first
 * node registers.  After a restart it reads its jobs before that, takes their
 * one bit per GPU for one bit per share, finds "gres/gpushare count mismatch"
 * and kills them; a reconfiguration corrupts the indices in the same way.  So
 * a record like those of the nodes is fed to the function that reads them,
 * before there is any node.
 */
#define _GNU_SOURCE
#include "plugins/prep/primer.h"

#include <string.h>

#include "plugins/gs_slurm_compat.h"
#include "plugins/prep/admission.h"

#define GRES_NAME "gpushare"
#define RECORD_MAGIC 0x438a34d4 /* GRES_MAGIC of Slurm's gres.c */

/* Where GresTypes names each; -1: it does not. */
static int place_of(const char *name)
{
	const char *at = slurm_conf.gres_plugins;
	size_t wanted = strlen(name);
	int place = 0;

	for (; at && *at; at += strspn(at, ","), place++) {
		size_t length = strcspn(at, ",");

		if (length == wanted && strncmp(at, name, wanted) == 0)
			return place;
		at += length;
	}
	return -1;
}

/* As in gres_node_config_pack(). */
static buf_t *one_record(uint32_t plugin_id)
{
	buf_t *buffer = init_buf(256);

	pack16(SLURM_PROTOCOL_VERSION, buffer);
	pack16(1, buffer); /* records */
	pack32(RECORD_MAGIC, buffer);
	pack64(1, buffer); /* count: what has none is passed over */
	pack32(1, buffer); /* CPUs */
	pack32(GRES_CONF_SHARED | GRES_CONF_HAS_FILE, buffer);
	pack32(plugin_id, buffer);
	packstr("0", buffer);  /* cores */
	packstr(NULL, buffer); /* links */
	packstr(GRES_NAME, buffer);
	packstr(NULL, buffer); /* type */
	packstr(NULL, buffer); /* unique id */
	set_buf_offset(buffer, 0);
	return buffer;
}

/* Does a node that comes now get a gres/gpushare that is shared? */
static int works(uint32_t plugin_id)
{
	gs_list list = NULL;
	gres_state_t *state = NULL;
	int shared = 0;

	gres_init_node_config("", &list);
	if (list)
		state = list_find_first(list, gres_find_id, &plugin_id);
	if (state)
		shared = gres_id_shared(state->config_flags);
	if (list)
		list_destroy(list);
	return shared;
}

int gs_primer(void)
{
	int gpu = place_of("gpu"), ours = place_of(GRES_NAME);
	uint32_t plugin_id = gres_build_id(GRES_NAME);
	buf_t *buffer;

	if (ours < 0)
		return SLURM_SUCCESS;
	if (gpu < 0)
		return gs_admission_start(0);
	if (gpu > ours) {
		error("gpushare: GresTypes must name gpu before gpushare");
		return SLURM_ERROR;
	}
#ifdef GS_MULTIPLE_SHARING
	if (slurm_conf.select_type_param & GS_MULTIPLE_SHARING) {
		error("gpushare: SelectTypeParameters has MULTIPLE_SHARING_GRES_PJ: Slurm would start "
		      "jobs with shares of several GPUs of a node, which fail there; leave it out");
		return SLURM_ERROR;
	}
#endif
	if (gres_init() != SLURM_SUCCESS)
		return SLURM_ERROR;
	buffer = one_record(plugin_id);
	if (gres_node_config_unpack(buffer, "gpushare-primer") != SLURM_SUCCESS ||
	    !works(plugin_id)) {
		error("gpushare: this slurmctld does not take gres/gpushare for shared; it would kill "
		      "the running jobs, so it does not start");
		free_buf(buffer);
		return SLURM_ERROR;
	}
	free_buf(buffer);
	info("gpushare: gres/gpushare is shared, one record per GPU");
	return gs_admission_start(1);
}
