/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One kernel of the file at a time, or places in it; see feed.h. */
#include "gpushare/sim/feed.h"

#include <stdlib.h>

#include "gpushare/sim/reader.h"

/* A kernel that does not stand where it arrives. */
struct place {
	uint64_t at_ns;
	uint64_t line_at;
	uint32_t kernel;
};

struct sim_feed {
	const struct sim_text *text;
	struct sim_order order;
	struct sim_reader reader;
	struct sim_kernel kernel; /* the last one */
	struct place *place;      /* `count` of them, by time; NULL: the file is in order */
	size_t count, next;
};

static int by_time(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static int read_kernel(struct sim_feed *f, struct gs_error *err)
{
	int rc = sim_reader_kernel(&f->reader, &f->kernel, err);

	return rc == 0 ? gs_fail(err, "%.120s: changed while it was read", f->text->name) : rc;
}

static int find_places(struct sim_feed *f, struct gs_error *err)
{
	f->place = malloc(f->count * sizeof(*f->place));
	if (!f->place)
		return gs_fail(err, "no memory");
	for (size_t i = 0; i < f->count; i++) {
		if (read_kernel(f, err) < 0)
			return -1;
		f->place[i] = (struct place){ f->kernel.arrival_ns, f->reader.line_at,
					      (uint32_t)i };
	}
	qsort(f->place, f->count, sizeof(*f->place), by_time);
	return 0;
}

struct sim_feed *sim_feed_create(const struct sim_text *text, const struct sim_survey *survey,
				 const struct sim_order *order, struct gs_error *err)
{
	struct sim_feed *f = calloc(1, sizeof(*f));

	if (!f) {
		gs_fail(err, "no memory");
		return NULL;
	}
	f->text = text;
	f->order = *order;
	f->count = survey->count;
	if (sim_order_check(order, f->count, err) == 0 && sim_reader_open(&f->reader, text, err) == 0 &&
	    (survey->sorted || order->has_gap || find_places(f, err) == 0))
		return f;
	sim_feed_destroy(f);
	return NULL;
}

void sim_feed_destroy(struct sim_feed *feed)
{
	if (!feed)
		return;
	sim_reader_close(&feed->reader);
	free(feed->place);
	free(feed);
}

int sim_feed_restart(struct sim_feed *f, struct gs_error *err)
{
	f->next = 0;
	if (f->place) /* whose reader knows the columns */
		return 0;
	sim_reader_close(&f->reader);
	return sim_reader_open(&f->reader, f->text, err);
}

int sim_feed_next(struct sim_feed *f, struct sim_arrival *arrival,
		  const struct sim_kernel **kernel, struct gs_error *err)
{
	size_t i = f->next;

	if (i == f->count)
		return 0;
	if (f->place)
		sim_reader_seek(&f->reader, f->place[i].line_at);
	if (read_kernel(f, err) < 0)
		return -1;
	f->next++;
	arrival->kernel = f->place ? f->place[i].kernel : (uint32_t)i;
	arrival->at_ns = f->order.has_gap ? i * f->order.gap_ns : f->kernel.arrival_ns;
	*kernel = &f->kernel;
	return 1;
}
