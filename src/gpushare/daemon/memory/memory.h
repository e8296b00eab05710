/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Admission of allocations to their GPU's memory (RBDM, section 4). A registered step gets its
 * memory at once, or when its reservation is covered, or when memory becomes free. Until then its
 * programs wait for their WELCOME.
 *
 * All functions need the loop's lock (event.h).
 */
#ifndef GPUSHARE_DAEMON_MEMORY_H
#define GPUSHARE_DAEMON_MEMORY_H

#include "gpushare/daemon/base/daemon.h"
#include "gpushare/memory/rbdm.h"

struct gs_alloc;
struct gs_memory; /* the admission of one device */
struct gs_connection;

/* Makes the admission of a device with `capacity` bytes; NULL with the reason. */
struct gs_memory *gs_memory_create(const struct gs_config *config, uint64_t capacity,
				   struct gs_error *err);
void gs_memory_destroy(struct gs_memory *memory); /* NULL is fine */

/* After a reload: takes over the kind of admission, the wake-up policy, the cycle and ageing. */
void gs_memory_reload(struct gs_daemon *d, const struct gs_config *config);

/* An allocation asks for alloc->bytes. admitted: an earlier daemon has given them already. Returns
 * 0; -1 with the reason: it can never have them. */
int gs_memory_arrive(struct gs_alloc *alloc, int32_t priority, int admitted, struct gs_error *err);
/* The allocation has ended: frees what it has, or stops waiting. */
void gs_memory_leave(struct gs_alloc *alloc);
/* The priority of its step has changed. */
void gs_memory_prioritise(struct gs_alloc *alloc, int32_t priority);

/* Makes the timer that calls gs_memory_step() when a waiting step must be admitted or refused at a
 * certain time. Returns 0; -1: no memory. */
int gs_memory_timer_init(struct gs_daemon *d);
void gs_memory_timer_fini(struct gs_daemon *d);

/* Admits the allocations whose time has come, welcomes their programs, and sets the timer for the
 * next time. */
void gs_memory_step(struct gs_daemon *d);
/* Has the event loop do that, for callers that gs_memory_step() itself calls. */
void gs_memory_step_soon(struct gs_daemon *d);

/*
 * A program has sent HELLO, but its step is not admitted: sends WAIT, and calls `begin` once there
 * is memory. page: the descriptor that the program brought, or -1. Returns 0; -1: close the
 * connection. `begin` returns the same.
 */
typedef int gs_memory_begin(struct gs_connection *conn, const struct gs_msg *hello, int page);
int gs_memory_wait(struct gs_connection *conn, const struct gs_msg *hello, int page,
		   gs_memory_begin *begin);
/* Ends the wait of this connection, for whatever reason. */
void gs_memory_wait_end(struct gs_connection *conn);

/* Refuses the programs that have waited too long (MemoryWait=). Returns when the next one will
 * have, ns; UINT64_MAX: none. */
uint64_t gs_memory_refuse_late(struct gs_daemon *d, uint64_t now);

/* Welcomes the waiting programs of an admitted allocation. */
void gs_memory_welcome(struct gs_daemon *d, const struct gs_alloc *alloc);

/* The waiting allocation that is tried first for the device's memory; NULL: none waits. */
struct gs_alloc *gs_memory_first(struct gs_daemon *d, const struct gs_device *device);
/* Bytes of the device that no admitted allocation has reserved. */
uint64_t gs_memory_available(const struct gs_device *device);

/* Finds memory for allocations that wait when none is free (checkpoint.h). */
struct gs_memory_relief {
	/* Called after each admission. Returns when it must be called again at the latest, ns;
	 * UINT64_MAX: only when something happens. */
	uint64_t (*grant)(struct gs_daemon *d, uint64_t now);
	/* Appends to buf what a waiting allocation's user should know. */
	void (*why)(const struct gs_alloc *alloc, char *buf, size_t size);
};
/* Call at the daemon's start; the caller keeps *relief. Without it no memory is freed for waiting
 * allocations. */
void gs_memory_set_relief(const struct gs_memory_relief *relief);

/* Fills in *view with the allocation's state. Returns 0 if it is not known. */
int gs_memory_poll(const struct gs_alloc *alloc, struct gs_rbdm_view *view);

/* Writes to buf why it waits: "number 1 of 3 that wait for memory: 112 of 512 MiB are not
 * reserved". */
void gs_memory_why(const struct gs_alloc *alloc, char *buf, size_t size);

/* The GPUs, the reservations and the waiting steps, for `gpusharectl memory`: JSON, which the
 * caller frees. NULL: no memory. (memory_report.c) */
char *gs_memory_report(struct gs_daemon *d);

#endif
