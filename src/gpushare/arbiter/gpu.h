/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One GPU: the bridge between the clients' pages and the scheduler.
 *
 * The scheduled task is a client's busy period: from its first READY slot
 * until none of its slots waits for the GPU or is on it.  At most one client
 * is the holder, whose time slice the policy has given; others may have one beside
 * it (holders.h).  A client that is alone keeps it and launches without
 * asking anybody; it becomes a task whenever it is found busy, so that the
 * policy can compare when another one comes.
 *
 * No sockets and no clock in here: time is a parameter (ns, monotonic), and
 * what the caller must do comes back as values, so that the tests drive it
 * with plain structs for pages.
 */
#ifndef GPUSHARE_ARBITER_GPU_H
#define GPUSHARE_ARBITER_GPU_H

#include <stdint.h>

#include "common/error.h"
#include "gpushare/arbiter/settings.h"
#include "gpushare/proto/trace.h"

/* A picture for `gpusharectl status`. */
struct gs_gpu_status {
	const char *policy;
	const char *broke; /* it stands in for that, which broke its contract; NULL */
	struct gs_gpu_class {
		const char *name;
		struct gs_sched_class_status is;
	} class[GS_SCHED_CLASSES_MAX]; /* those that have a name */
	size_t nclasses;
	uint64_t holder; /* client id; 0: nobody */
	uint32_t clients, waiting;
	uint32_t draining; /* 1 while an eviction is under way */
	uint32_t faults;   /* of the policy */
	uint64_t evictions, overdue;
	double evict_p50_us, evict_p99_us; /* of the latest, as in step_usage.h */
	uint64_t handover_ns;              /* what is taken for its cost now */
};

struct gs_gpu *gs_gpu_create(uint32_t index, const struct gs_gpu_options *options, uint64_t now,
			     struct gs_error *err);
void gs_gpu_destroy(struct gs_gpu *gpu); /* clients must be gone; NULL is fine */

/* New settings: a fresh scheduler, to which the live tasks move.  -1: the old one stays. */
int gs_gpu_configure(struct gs_gpu *gpu, const struct gs_gpu_options *options, uint64_t now,
		     struct gs_error *err);

/*
 * A client has come.  adopted: its page comes from an earlier daemon, or it
 * ran without one, and kernels may be running; it keeps the GPU if nobody
 * else holds it, else they are told to leave.  NULL: no memory.
 */
struct gs_gpu_client *gs_gpu_add(struct gs_gpu *gpu, const struct gs_gpu_client_params *params,
				 int adopted, uint64_t now);

/* It is gone; its kernels with it.  The next step decides anew.  Returns gs_gpu_client_counted(),
 * with what was seen last. */
struct gs_counted gs_gpu_remove(struct gs_gpu *gpu, struct gs_gpu_client *client, uint64_t now);

/* It rang: look at its page in the next step. */
void gs_gpu_doorbell(struct gs_gpu_client *client);

/* Whoever has asked through its page since the last call has its page looked at in the next step.
 * 1 if somebody has. */
int gs_gpu_hear(struct gs_gpu *gpu);

/* Who sees that a client asks, from now on: its page says so.  At first it has to send DOORBELL. */
void gs_gpu_attend(struct gs_gpu *gpu, enum gs_attended attended);

/* A word that changes when a client asks, and what it was when that was last heard. */
struct gs_doorbell {
	const _Atomic uint32_t *word;
	uint32_t heard;
};

/* Those of the first `max` clients, valid until one comes or goes; returns how many clients there
 * are. */
size_t gs_gpu_doorbells(const struct gs_gpu *gpu, struct gs_doorbell *doorbell, size_t max);

/*
 * Is it worth a processor to see at once what the clients do?  It is while several share the GPU,
 * or have in the last 10 ms, and one of them waits, or may make another one wait by asking; not
 * while all that want it have it.
 */
int gs_gpu_wants_polling(const struct gs_gpu *gpu, uint64_t now);

/* 1, once, after a step has found a client that is bad or overdue. */
int gs_gpu_has_news(struct gs_gpu *gpu);

/* What was told since the last call; returns how many, at most GS_GPU_LESSONS. */
size_t gs_gpu_lessons(struct gs_gpu *gpu, struct gs_lesson lesson[GS_GPU_LESSONS]);

/* 1 if its page holds a value that is no state (in *launch state): the client must go. */
int gs_gpu_client_bad(const struct gs_gpu_client *client, uint32_t *state);

/* 1, once, when its kernels have not left by the deadline. */
int gs_gpu_client_overdue(struct gs_gpu_client *client);

/* The number that the client has given to a kernel of its on the GPU; UINT32_MAX: none is there. */
uint32_t gs_gpu_client_kernel_on_gpu(const struct gs_gpu_client *client);

/* What of its page is in the usage. */
struct gs_counted gs_gpu_client_counted(const struct gs_gpu_client *client);

/* As far as its page tells, kernels of it are on the GPU. */
int gs_gpu_client_on_gpu(const struct gs_gpu_client *client);

/* What people are told that it does.  It runs if it has had work on the GPU in the last quarter of
 * a second, so that one whose kernels are short does not seem to stop and go. */
enum gs_doing { GS_DOING_NOTHING, GS_DOING_STOPPED, GS_DOING_IDLES, GS_DOING_WAITS, GS_DOING_RUNS };
enum gs_doing gs_gpu_client_doing(const struct gs_gpu_client *client, uint64_t now);

/*
 * Its process has been stopped, or goes on.  While it is stopped others do not
 * wait for it: it can hear nothing, so what it has on the GPU stays there, and
 * it gets no time slice.  The time does not count.  1 if that is news.
 */
int gs_gpu_client_stopped(struct gs_gpu_client *client, int stopped, uint64_t now);

/* Could others wait for it if it did not run, or is it known as stopped? */
int gs_gpu_client_matters(const struct gs_gpu_client *client);

/*
 * The client alone has the GPU from its next time slice on and keeps it, until it is
 * unpinned or removed: the driver can only bring it to rest if nothing of it
 * has been evicted (pin.c).  One per GPU; -1: another one is.
 */
int gs_gpu_pin(struct gs_gpu_client *client);
void gs_gpu_unpin(struct gs_gpu *gpu);
/* 1 once the pinned client has finished all that it had begun before. */
int gs_gpu_settled(const struct gs_gpu *gpu);

/* Priority from now on, of a task under way too. */
void gs_gpu_client_priority(struct gs_gpu_client *client, int32_t priority, uint64_t now);

/* Class of its tasks from the next one on. */
void gs_gpu_client_class(struct gs_gpu_client *client, uint32_t class);

/* Exchange the policy; the tasks keep their history.  -1 with the known names: no such policy. */
int gs_gpu_set_policy(struct gs_gpu *gpu, const char *policy, uint64_t now, struct gs_error *err);

/* The same for the class of that name; -1 also: no such class. */
int gs_gpu_set_class_policy(struct gs_gpu *gpu, const char *class, const char *policy, uint64_t now,
			    struct gs_error *err);

/* Append who had the GPU when, what goes on now included.  0, -1: no memory. */
int gs_gpu_trace(const struct gs_gpu *gpu, uint64_t now, struct gs_trace_image *image);

/* From now on gs_gpu_step() does not ask to be called again sooner than after so many ns, except
 * for a deadline. */
void gs_gpu_poll_every(struct gs_gpu *gpu, uint64_t ns);

/*
 * Look, decide and act, once.  Returns when it
 * must be called again at the latest (ns); UINT64_MAX: when something happens.
 */
uint64_t gs_gpu_step(struct gs_gpu *gpu, uint64_t now);

/* Account for what goes on up to now, so that the usages are those of this moment. */
void gs_gpu_settle(struct gs_gpu *gpu, uint64_t now);

void gs_gpu_status(struct gs_gpu *gpu, struct gs_gpu_status *status);

#endif
