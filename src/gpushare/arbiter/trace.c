/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring of a GPU's latest time slices; see trace.h. */
#define _GNU_SOURCE
#include "gpushare/arbiter/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct gs_traced {
	LIST_ENTRY(gs_traced) link;
	struct gs_trace_lane lane;
	size_t records; /* how many records are about it */
	int gone;
	uint32_t number; /* its number in the image that was made last */
};

struct record {
	struct gs_traced *client;
	uint32_t kind;
	uint64_t from_ns, to_ns;
};

struct gs_trace {
	LIST_HEAD(, gs_traced) clients;
	size_t room;
	uint64_t written; /* records ever written; the next goes to written % room */
	struct record record[];
};

struct gs_trace *gs_trace_create(size_t records)
{
	struct gs_trace *trace = calloc(1, sizeof(*trace) + records * sizeof(struct record));

	if (!trace)
		return NULL;
	trace->room = records;
	LIST_INIT(&trace->clients);
	return trace;
}

static void forget(struct gs_traced *client)
{
	LIST_REMOVE(client, link);
	free(client);
}

void gs_trace_destroy(struct gs_trace *trace)
{
	if (!trace)
		return;
	while (!LIST_EMPTY(&trace->clients))
		forget(LIST_FIRST(&trace->clients));
	free(trace);
}

struct gs_traced *gs_trace_join(struct gs_trace *trace, const struct gs_trace_lane *lane)
{
	struct gs_traced *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->lane = *lane;
	LIST_INSERT_HEAD(&trace->clients, client, link);
	return client;
}

void gs_trace_leave(struct gs_trace *trace, struct gs_traced *client)
{
	(void)trace;
	if (!client)
		return;
	client->gone = 1;
	if (!client->records)
		forget(client);
}

void gs_trace_add(struct gs_trace *trace, struct gs_traced *client, enum gs_trace_kind kind,
		  uint64_t from_ns, uint64_t to_ns)
{
	struct record *r = &trace->record[trace->written % trace->room];

	if (!client)
		return;
	if (trace->written >= trace->room && --r->client->records == 0 && r->client->gone &&
	    r->client != client)
		forget(r->client);
	*r = (struct record) { client, kind, from_ns, to_ns };
	client->records++;
	trace->written++;
}

/* Grows an array, doubling it at each power of two. */
static void *grow(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return realloc(array, (count ? 2 * count : 1) * size);
}

int gs_trace_image_add(struct gs_trace_image *image, const struct gs_traced *client,
		       enum gs_trace_kind kind, uint64_t from_ns, uint64_t to_ns)
{
	struct gs_trace_record *grown;

	if (!client)
		return 0;
	grown = grow(image->record, image->records, sizeof(*grown));
	if (!grown)
		return -1;
	image->record = grown;
	grown[image->records++] = (struct gs_trace_record) { client->number, kind, from_ns, to_ns };
	return 0;
}

int gs_trace_image(struct gs_trace *trace, struct gs_trace_image *image)
{
	uint64_t first = trace->written > trace->room ? trace->written - trace->room : 0;
	struct gs_traced *client;

	LIST_FOREACH (client, &trace->clients, link) {
		struct gs_trace_lane *grown = grow(image->lane, image->lanes, sizeof(*grown));

		if (!grown)
			return -1;
		image->lane = grown;
		client->number = (uint32_t)image->lanes;
		grown[image->lanes++] = client->lane;
	}
	for (uint64_t i = first; i < trace->written; i++) {
		const struct record *r = &trace->record[i % trace->room];

		if (gs_trace_image_add(image, r->client, (enum gs_trace_kind)r->kind, r->from_ns,
				       r->to_ns) < 0)
			return -1;
	}
	image->lost += first;
	return 0;
}
