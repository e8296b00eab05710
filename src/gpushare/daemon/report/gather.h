/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon knows, gathered for the reports: JSON, if nothing else is said, to be freed;
 * NULL: no memory. */
#ifndef GPUSHARE_DAEMON_GATHER_H
#define GPUSHARE_DAEMON_GATHER_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/daemon/report/aggregate.h"
#include "gpushare/daemon/base/daemon.h"

char *gs_gather_status(struct gs_daemon *d);

/* The steps of a job (0: of all), those that are over first. */
char *gs_gather_report(struct gs_daemon *d, uint32_t job);

/* A step for the history. */
void gs_gather_past(const struct gs_daemon *d, struct gs_step *step, struct gs_past_step *past);

/* The registered steps (finished: and those over that are kept here) for it; free() *past. -1: no
 * memory. */
int gs_gather_all(struct gs_daemon *d, int finished, struct gs_past_step **past, size_t *n);

/* The kernels of the registered steps; of a job's, also when they are over. */
char *gs_gather_kernels(struct gs_daemon *d, uint32_t job);

/* The image of proto/trace.h, of all GPUs. */
char *gs_gather_trace(struct gs_daemon *d, size_t *size);

/* The same for Prometheus. */
char *gs_gather_metrics(struct gs_daemon *d);

/* The GPUs in a line, for the node's Extra; cut if need be.  -1: no memory. */
int gs_gather_node(struct gs_daemon *d, char *buf, size_t size);

/* The step has ended: from now on its figures are in its job's sum. Local jobs have none. */
void gs_gather_ended(struct gs_daemon *d, struct gs_step *step);

/* The job's summary over its steps on this node, the ended ones included, for AdminComment; -1 if
 * it has none. */
int gs_gather_comment(struct gs_daemon *d, uint32_t job_id, char *buf, size_t size);

#endif
