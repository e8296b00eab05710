/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugins read from people and from Slurm, as values: the
 * arguments in plugstack.conf, the users' options, Slurm's gres strings.
 * Pure: text in, values out.
 */
#ifndef GPUSHARE_PLUGINS_VALUES_H
#define GPUSHARE_PLUGINS_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define GS_SPANK_PATH_MAX 108u /* sun_path */
#define GS_OPTION_TEXT_MAX 32u /* longest value of an option, with its NUL */
#define GS_PRIORITY_MAX 1000   /* as in gpushare.conf */

struct gs_spank_args {
	char socket[GS_SPANK_PATH_MAX];       /* of gpushared */
	char munge_socket[GS_SPANK_PATH_MAX]; /* "": munge's default */
	uint32_t timeout_ms;                  /* for a registration, connecting included */
	uint32_t slurmctld_timeout_ms;        /* how long a step waits for slurmctld to come back */
	int run_absent;                       /* no daemon: 1 the step runs unmanaged, 0 it fails */
};

/*
 * "socket=PATH", "munge_socket=PATH", "timeout=DURATION", "absent=run|fail",
 * "slurmctld_timeout=DURATION", each at most once; what is not given gets its default.
 * Returns 0, or -1 with the reason and all defaults in *args.
 */
int gs_spank_args_parse(int argc, char *const *argv, struct gs_spank_args *args,
			struct gs_error *err);

/*
 * The socket's path with the node's name in Slurm for each %n, so that the
 * nodes of one host can have a daemon each; node may be NULL if there is no %n.
 * 0, or -1 with the reason.
 */
int gs_socket_path(const char *path, const char *node, char *out, size_t size,
		   struct gs_error *err);

/* The GPU's index in GPUSHARE_GPU.  -1 with the reason: no number, or several. */
int gs_gpu_index(const char *text, uint32_t *gpu, struct gs_error *err);

/* --gpushare-mem: bytes, at least 1 MiB; auto is GS_MEMORY_AUTO.  0, or -1 with the reason. */
int gs_option_memory(const char *text, uint64_t *bytes, struct gs_error *err);

/* --gpushare-priority: 0..GS_PRIORITY_MAX.  0, or -1 with the reason. */
int gs_option_priority(const char *text, uint32_t *priority, struct gs_error *err);

/* --gpushare-period and --gpushare-deadline: ns, 0.1 ms to a day.  0, or -1 with the reason. */
int gs_option_period(const char *text, uint64_t *ns, struct gs_error *err);

/* --gpushare-corun: *no is 1 for "no" and 0 for "yes".  0, or -1 with the reason. */
int gs_option_corun(const char *text, int *no, struct gs_error *err);

/*
 * How many of gres `name` a list of Slurm's says there are, all types added
 * up: "gpu:1,gpushare:30(IDX:0)", "gres:gpushare:25", "gpushare(CNT:40)",
 * "gpushare".  0: none, or not understood.
 */
uint64_t gs_gres_count(const char *list, const char *name);

/*
 * 1: such a list asks for the gres without saying how many, as in "gres:gpushare" or
 * "gres/gpushare:a100".
 */
int gs_gres_is_bare(const char *list, const char *name);

/*
 * LD_LIBRARY_PATH with `dir` in front, unless it is there already; old may be
 * NULL.  0, or -1 when it does not fit.
 */
int gs_library_path(const char *old, const char *dir, char *out, size_t size);

#endif
