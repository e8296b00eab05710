/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's state: one struct, owned by main, known to the daemon's own
 * files only.  It belongs to whoever holds the loop's lock (event.h).  What is
 * each GPU's scheduling belongs to its arbiter (arbiter.h).
 */
#ifndef GPUSHARE_DAEMON_DAEMON_H
#define GPUSHARE_DAEMON_DAEMON_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "gpushare/config/config.h"
#include "gpushare/daemon/device.h"
#include "gpushare/proto/msg.h"

struct event;
struct event_base;
struct gs_peer;
struct gs_step;
struct gs_history;
struct gs_learned;
struct gs_peaks;
struct gs_memory_check;
struct gs_mps;
struct gs_slurm_report;
struct gs_takeback;

/* A long report, kept for a moment (query.c). */
struct gs_kept_text {
	char *text;
	size_t size;
	uint64_t made_ns;
};

LIST_HEAD(gs_peers, gs_peer);
TAILQ_HEAD(gs_steps, gs_step);

struct gs_daemon {
	const char *config_path;
	struct gs_config *config;
	struct event_base *base;
	uint64_t started_ns;
	int stop;                 /* leave the loop */

	struct gs_device device[GS_CONFIG_GPUS_MAX];
	size_t ndevice;
	struct event *news;       /* of the arbiters: a client must go, or is overdue */
	int news_fd;
	struct gs_peaks *peaks;   /* memory_history.h */
	struct gs_memory_check *check; /* memory_check.h */
	struct gs_mps *mps;       /* mps.h; NULL with separate contexts */
	struct gs_takeback *takeback;  /* takeback.h */
	struct event *memory;     /* the next admission, or the end of somebody's patience */

	int lock_fd;              /* held while this daemon owns the socket */
	int listen_fd;
	struct event *accept;
	struct gs_peers peers;
	unsigned npeers;
	uint64_t next_id;         /* of peers and of allocations */

	struct gs_steps steps;    /* registered */
	struct gs_steps finished; /* the last GS_FINISHED_MAX of those that are over */
	unsigned nfinished;
	uint32_t next_local;      /* job id of the next `gpusharectl run` (local_job.h); 0: the first */
	struct event *sweep;      /* looks for steps whose registrant is gone */

	uid_t admin_uid;          /* SlurmUser's */

	struct gs_learned *learned; /* times of kernels that ran before */
	struct gs_history *history;
	struct gs_slurm_report *slurm;
	struct event *refresh;    /* AdminComment while jobs run, the node's Extra */
	char node_said[1024];     /* what it was told last */

	struct event *metrics;    /* MetricsFile */
	int metrics_failed;       /* to write it, as the log says already */

	struct event *signals[3];

	struct gs_kept_text kept[GS_QUERY_COUNT][2];
};

#endif
