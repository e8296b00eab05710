/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who had the GPU when: a ring of the latest records of one GPU.  Bounded:
 * the oldest record gives way, and a client that has left is forgotten with
 * the last record that speaks of it.  Pure; time is a parameter.
 */
#ifndef GPUSHARE_ARBITER_TRACE_H
#define GPUSHARE_ARBITER_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/proto/trace.h"

/* 32 bytes each.  With quanta of a few ms and two records each: a minute and more. */
#define GS_TRACE_RECORDS 32768

struct gs_trace;
struct gs_traced; /* a client in it */

/* Room for that many records, at least 1.  NULL: no memory. */
struct gs_trace *gs_trace_create(size_t records);
void gs_trace_destroy(struct gs_trace *trace); /* NULL is fine */

/* A client comes (lane is copied), and goes.  NULL: no memory; then nothing is recorded of it. */
struct gs_traced *gs_trace_join(struct gs_trace *trace, const struct gs_trace_lane *lane);
void gs_trace_leave(struct gs_trace *trace, struct gs_traced *client);

/* A record of a client (NULL is fine). */
void gs_trace_add(struct gs_trace *trace, struct gs_traced *client, enum gs_trace_kind kind,
		  uint64_t from_ns, uint64_t to_ns);

/* Append the clients and the records to the image.  0, -1: no memory. */
int gs_trace_image(struct gs_trace *trace, struct gs_trace_image *image);

/* Append one record to the image, of a client that is in it.  0, -1: no memory. */
int gs_trace_image_add(struct gs_trace_image *image, const struct gs_traced *client,
		       enum gs_trace_kind kind, uint64_t from_ns, uint64_t to_ns);

#endif
