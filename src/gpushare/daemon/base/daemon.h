/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's state: one struct, owned by main() and known only to the daemon's own files. The
 * thread that holds the loop's lock (event.h) may use it. Each GPU's scheduling state belongs to
 * its arbiter (arbiter.h).
 */
#ifndef GPUSHARE_DAEMON_DAEMON_H
#define GPUSHARE_DAEMON_DAEMON_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "gpushare/config/config.h"
#include "gpushare/daemon/base/device.h"
#include "gpushare/proto/msg.h"

struct event;
struct event_base;
struct gs_connection;
struct gs_step;
struct gs_history;
struct gs_learned;
struct gs_loop;
struct gs_peaks;
struct gs_memory_check;
struct gs_mps;
struct gs_server;
struct gs_slurm_report;
struct gs_checkpoint;

LIST_HEAD(gs_connections, gs_connection);
TAILQ_HEAD(gs_steps, gs_step);

/* GS_FINISHED_MAX (step.h) of the steps that have ended, the latest last (places.h). */
struct gs_finished {
	struct gs_steps list;
	unsigned n;
};

struct gs_daemon {
	struct gs_config *config;
	struct event_base *base;
	struct gs_loop *loop; /* loop.h */
	uint64_t started_ns;

	struct gs_device device[GS_CONFIG_GPUS_MAX];
	size_t ndevice;
	struct gs_peaks *peaks;           /* memory_history.h */
	struct gs_memory_check *check;    /* memory_check.h */
	struct gs_mps *mps;               /* mps.h; NULL with separate contexts */
	struct gs_checkpoint *checkpoint; /* checkpoint.h */
	/* fires at the next admission, or when a client has waited long enough */
	struct event *memory;

	struct gs_server *server; /* server.h */
	struct gs_connections conns;
	uint64_t next_id; /* id of the next connection or allocation */

	struct gs_steps steps; /* the registered steps */
	struct gs_finished finished;
	uint32_t next_local; /* job id of the next `gpusharectl run` (local_job.h); 0: the first */

	struct gs_learned *learned; /* times of kernels that ran before */
	struct gs_history *history;
	struct gs_slurm_report *slurm;
};

#endif
