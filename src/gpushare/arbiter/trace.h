/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ring of the latest records of who had one GPU when. Bounded: the oldest record is overwritten,
 * and a client that has left is forgotten with the last record about it. Pure: times are
 * parameters, ns of the monotonic clock.
 */
#ifndef GPUSHARE_ARBITER_TRACE_H
#define GPUSHARE_ARBITER_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/proto/trace.h"

/*
 * 32 bytes each. With quanta of a few ms and two records per quantum they cover a minute or more.
 */
#define GS_TRACE_RECORDS 32768

struct gs_trace;
struct gs_traced; /* a client in the trace; owned by the trace */

/* Makes a ring of `records` records, at least 1; the caller destroys it. NULL: no memory. */
struct gs_trace *gs_trace_create(size_t records);
void gs_trace_destroy(struct gs_trace *trace); /* NULL is fine */

/*
 * A client has come (lane is copied), or has gone. gs_trace_join() returns NULL if there is no
 * memory; then nothing is recorded of that client. After gs_trace_leave() its pointer is invalid.
 */
struct gs_traced *gs_trace_join(struct gs_trace *trace, const struct gs_trace_lane *lane);
void gs_trace_leave(struct gs_trace *trace, struct gs_traced *client);

/* Adds a record of a client; client NULL is fine, and does nothing. */
void gs_trace_add(struct gs_trace *trace, struct gs_traced *client, enum gs_trace_kind kind,
		  uint64_t from_ns, uint64_t to_ns);

/* Appends all clients and records to the image, which the caller owns. Returns 0; -1: no memory. */
int gs_trace_image(struct gs_trace *trace, struct gs_trace_image *image);

/* Appends one record of a client that is in the image. Returns 0; -1: no memory. */
int gs_trace_image_add(struct gs_trace_image *image, const struct gs_traced *client,
		       enum gs_trace_kind kind, uint64_t from_ns, uint64_t to_ns);

#endif
