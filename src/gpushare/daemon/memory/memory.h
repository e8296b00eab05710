/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Admission of the allocations to their GPU's memory (RBDM, section 4): a
 * step that is registered gets its memory at once, or when its reservation is
 * covered, or when memory is there.  Until then its programs wait for their
 * WELCOME.
 */
#ifndef GPUSHARE_DAEMON_MEMORY_H
#define GPUSHARE_DAEMON_MEMORY_H

#include "gpushare/daemon/base/daemon.h"
#include "gpushare/memory/rbdm.h"

struct gs_alloc;
struct gs_memory; /* of one device */
struct gs_connection;

struct gs_memory *gs_memory_create(const struct gs_config *config, uint64_t capacity,
				   struct gs_error *err);
void gs_memory_destroy(struct gs_memory *memory); /* NULL is fine */

/* After a reload: admission, wake-up policy, cycle, ageing. */
void gs_memory_reload(struct gs_daemon *d, const struct gs_config *config);

/*
 * An allocation of alloc->bytes asks for its memory; admitted: an earlier
 * daemon has given it already.  -1 with the reason: it can never be had.
 */
int gs_memory_arrive(struct gs_alloc *alloc, int32_t priority, int admitted, struct gs_error *err);
/* It is over: what it has, or what it waits for, is free for others. */
void gs_memory_leave(struct gs_alloc *alloc);
/* Its step's priority has changed. */
void gs_memory_prioritise(struct gs_alloc *alloc, int32_t priority);

/* What has gs_memory_step() called when time alone admits or refuses somebody.  -1: no memory. */
int gs_memory_timer_init(struct gs_daemon *d);
void gs_memory_timer_fini(struct gs_daemon *d);

/* Admit whose time has come and welcome their programs; sets the timer for the next time. */
void gs_memory_step(struct gs_daemon *d);

/*
 * A program of a step that is not admitted has said HELLO: it is told to WAIT,
 * and begins by that function once there is memory.  0; -1: close it (`begin`
 * says so, too).  page: the descriptor it brought, or -1.
 */
typedef int gs_memory_begin(struct gs_connection *conn, const struct gs_msg *hello, int page);
int gs_memory_wait(struct gs_connection *conn, const struct gs_msg *hello, int page,
		   gs_memory_begin *begin);
/* It need not wait any longer, one way or the other. */
void gs_memory_wait_end(struct gs_connection *conn);

/* Refuse those that have waited too long (MemoryWait=); when the next of them will have, ns. */
uint64_t gs_memory_refuse_late(struct gs_daemon *d, uint64_t now);

/* Welcome the programs of an admitted allocation that wait. */
void gs_memory_welcome(struct gs_daemon *d, const struct gs_alloc *alloc);

/* Who of those that wait for the device's memory is tried first; NULL: nobody. */
struct gs_alloc *gs_memory_first(struct gs_daemon *d, const struct gs_device *device);
/* Bytes of the device that nobody who is admitted has reserved. */
uint64_t gs_memory_available(const struct gs_device *device);

/* Who finds memory for those that wait, where none is free (checkpoint.h). */
struct gs_memory_relief {
	/* After each admission; when it must be called again at the latest, ns; UINT64_MAX: when
	 * something happens. */
	uint64_t (*grant)(struct gs_daemon *d, uint64_t now);
	/* Append to buf what is to be said of a waiting allocation. */
	void (*why)(const struct gs_alloc *alloc, char *buf, size_t size);
};
/* At the daemon's start; the caller keeps it.  Without one, nobody does. */
void gs_memory_set_relief(const struct gs_memory_relief *relief);

/* How the allocation stands; 0: unknown. */
int gs_memory_poll(const struct gs_alloc *alloc, struct gs_rbdm_view *view);

/* Why it waits, in words: "number 1 of 3 that wait for memory: 112 of 512 MiB are not reserved". */
void gs_memory_why(const struct gs_alloc *alloc, char *buf, size_t size);

/* GPUs, reservations and who waits, for `gpusharectl memory`: JSON, to be freed.  (memory_report.c)
 */
char *gs_memory_report(struct gs_daemon *d);

#endif
