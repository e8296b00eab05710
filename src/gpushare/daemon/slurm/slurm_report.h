/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The jobs' AdminComment and the node's Extra.  libslurm's calls block and may exit, so they are
 * made by a forked helper behind a socket pair; the loop never waits.  A
 * helper that hangs is killed and a new one takes its place.
 */
#ifndef GPUSHARE_DAEMON_SLURM_REPORT_H
#define GPUSHARE_DAEMON_SLURM_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/proto/comment.h"
#include "gpushare/daemon/base/daemon.h"

/* Who hears what became of it. */
struct gs_slurm_listeners {
	void (*done)(struct gs_daemon *d,
		     uint32_t ticket); /* that report is out, or never will be */
	void (*not_killed)(struct gs_daemon *d, uint32_t job_id);
	/* the answer to that question: 1, 0, or -1: slurmctld does not say */
	void (*suspended)(struct gs_daemon *d, uint32_t ticket, int is);
};
/* At the daemon's start, before a report is created; the caller keeps them. */
void gs_slurm_report_listen(const struct gs_slurm_listeners *listeners);

/* NULL when the configuration or the build leaves reports out; says so once. */
struct gs_slurm_report *gs_slurm_report_create(struct gs_daemon *d);
void gs_slurm_report_destroy(struct gs_slurm_report *r); /* NULL is fine */

/*
 * Put `text` into the job's AdminComment.  Returns a ticket; 0 when it cannot
 * be sent.  When the helper has answered or was given up,
 * the listeners' `done` is called with the ticket.  If slurmctld is away, the
 * text is sent again every few seconds for up to an hour, unless a newer one of the
 * job takes its place.
 */
uint32_t gs_slurm_report_send(struct gs_slurm_report *r, uint32_t job_id, const char *text);

/*
 * Put `text` there, and have slurmctld kill the job.  Returns as gs_slurm_report_send; if the
 * job cannot be killed in the end, the listeners' `not_killed` is called with it.
 */
uint32_t gs_slurm_report_kill(struct gs_slurm_report *r, uint32_t job_id, const char *text);

/* As gs_slurm_report_kill(), but the job is requeued if it may be. */
uint32_t gs_slurm_report_requeue(struct gs_slurm_report *r, uint32_t job_id, const char *text);

/* Ask whether the job is suspended: the listeners' `suspended` is called.  Returns as
 * gs_slurm_report_send. */
uint32_t gs_slurm_report_inquire(struct gs_slurm_report *r, uint32_t job_id);

/* The same for the Extra of this node (NodeName).  Nobody is told when it is out. */
void gs_slurm_report_node(struct gs_slurm_report *r, const char *text);

/*
 * The helper's whole life: requests from `sock`, answers to it; returns at
 * its end of file.  (slurm_helper.c, the only file that knows libslurm.)
 */
void gs_slurm_helper(int sock, const char *slurm_conf);

#define GS_SLURM_FAILED (-1)
#define GS_SLURM_LATER (-2)

#define GS_SLURM_KILL 1
#define GS_SLURM_REQUEUE 2
#define GS_SLURM_INQUIRE 3
/* What travels between the two. */
struct gs_slurm_request {
	uint32_t ticket, job_id;
	/* GS_SLURM_KILL: the job is to be killed, too; _REQUEUE: or requeued; _INQUIRE: whether it
	 * is suspended, and nothing else */
	uint32_t what;
	char self[64]; /* this node, in Slurm */
	char node[64]; /* not empty: this node's Extra, not a job's AdminComment */
	char text[GS_COMMENT_MAX];
};
struct gs_slurm_answer {
	uint32_t ticket;
	int32_t rc; /* 0: written; GS_SLURM_LATER: slurmctld may take it later; GS_SLURM_FAILED:
		       never */
	uint32_t suspended; /* GS_SLURM_INQUIRE: it is */
	char reason[128];
};

#endif
