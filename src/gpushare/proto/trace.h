/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who held the GPU when, as it travels: the answer to QUERY trace is one
 * image, cut into TEXT messages.
 *
 *	head, head.lanes x gs_trace_lane, head.records x gs_trace_record
 *
 * Native byte order, times in ns of the monotonic clock.
 */
#ifndef GPUSHARE_PROTO_TRACE_H
#define GPUSHARE_PROTO_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define GS_TRACE_MAGIC 0x43525447u
#define GS_TRACE_VERSION 1u
#define GS_TRACE_NAME_MAX 160

enum gs_trace_kind {
#define TRACE(NAME, words) GS_TRACE_##NAME,
#include "gpushare/proto/trace.def"
#undef TRACE
	GS_TRACE_COUNT
};

struct gs_trace_head {
	uint32_t magic, version;
	uint32_t lanes, records;
	uint64_t now_ns;
	uint64_t lost; /* records that were overwritten */
};

/* A client, gone ones included as long as a record speaks of them. */
struct gs_trace_lane {
	uint64_t id;
	uint32_t gpu, job_id, step_id, pad;
	double ntt; /* of its step, so far; 0: unknown */
	char name[GS_TRACE_NAME_MAX];
};

struct gs_trace_record {
	uint32_t lane; /* index */
	uint32_t kind; /* enum gs_trace_kind */
	uint64_t from_ns, to_ns;
};

struct gs_trace_image {
	uint64_t now_ns, lost;
	struct gs_trace_lane *lane;
	size_t lanes;
	struct gs_trace_record *record; /* in the order in which they ended, per GPU */
	size_t records;
};

void gs_trace_image_free(struct gs_trace_image *image); /* what it holds, not itself */

/* The image in one piece, to be freed; *size in bytes.  NULL: no memory. */
char *gs_trace_pack(const struct gs_trace_image *image, size_t *size);

/* The reverse, every figure checked.  0, or -1 with the reason. */
int gs_trace_unpack(const char *bytes, size_t size, struct gs_trace_image *image,
		    struct gs_error *err);

#endif
