/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace's image to bytes and back; see trace.h. */
#define _GNU_SOURCE
#include "gpushare/proto/trace.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct gs_trace_head) == 32, "no padding");
_Static_assert(sizeof(struct gs_trace_lane) == 192, "no padding");
_Static_assert(sizeof(struct gs_trace_record) == 24, "no padding");

void gs_trace_image_free(struct gs_trace_image *image)
{
	free(image->lane);
	free(image->record);
	image->lane = NULL;
	image->record = NULL;
	image->lanes = image->records = 0;
}

char *gs_trace_pack(const struct gs_trace_image *image, size_t *size)
{
	struct gs_trace_head head = {
		.magic = GS_TRACE_MAGIC,
		.version = GS_TRACE_VERSION,
		.lanes = (uint32_t)image->lanes,
		.records = (uint32_t)image->records,
		.now_ns = image->now_ns,
		.lost = image->lost,
	};
	size_t lanes = image->lanes * sizeof(*image->lane);
	size_t records = image->records * sizeof(*image->record);
	char *bytes;

	*size = sizeof(head) + lanes + records;
	bytes = malloc(*size);
	if (!bytes)
		return NULL;
	memcpy(bytes, &head, sizeof(head));
	if (lanes)
		memcpy(bytes + sizeof(head), image->lane, lanes);
	if (records)
		memcpy(bytes + sizeof(head) + lanes, image->record, records);
	return bytes;
}

static int check(struct gs_trace_image *image, struct gs_error *err)
{
	for (size_t i = 0; i < image->lanes; i++)
		if (!memchr(image->lane[i].name, 0, sizeof(image->lane[i].name)))
			return gs_fail(err, "a trace with an unterminated name");
	for (size_t i = 0; i < image->records; i++) {
		const struct gs_trace_record *r = &image->record[i];

		if (r->lane >= image->lanes || r->kind >= GS_TRACE_COUNT || r->to_ns < r->from_ns)
			return gs_fail(err, "record %zu of the trace makes no sense", i);
	}
	return 0;
}

int gs_trace_unpack(const char *bytes, size_t size, struct gs_trace_image *image,
		    struct gs_error *err)
{
	struct gs_trace_head head;
	size_t lanes, records;

	memset(image, 0, sizeof(*image));
	if (size < sizeof(head))
		return gs_fail(err, "a trace of %zu bytes", size);
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != GS_TRACE_MAGIC || head.version != GS_TRACE_VERSION)
		return gs_fail(err, "a trace of another version");
	lanes = head.lanes * sizeof(*image->lane);
	records = head.records * sizeof(*image->record);
	if (size != sizeof(head) + lanes + records)
		return gs_fail(err, "a trace of %zu bytes instead of %zu", size,
			       sizeof(head) + lanes + records);
	image->lane = malloc(lanes + 1);
	image->record = malloc(records + 1);
	if (!image->lane || !image->record) {
		gs_trace_image_free(image);
		return gs_fail(err, "no memory");
	}
	memcpy(image->lane, bytes + sizeof(head), lanes);
	memcpy(image->record, bytes + sizeof(head) + lanes, records);
	image->lanes = head.lanes;
	image->records = head.records;
	image->now_ns = head.now_ns;
	image->lost = head.lost;
	if (check(image, err) == 0)
		return 0;
	gs_trace_image_free(image);
	return -1;
}
