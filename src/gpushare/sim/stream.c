/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels from the feed, outcomes to the spool, metrics and rows from there; see stream.h. */
#include "gpushare/sim/stream.h"

#include <stdlib.h>

#include "gpushare/metrics/metrics.h"
#include "gpushare/sim/feed.h"
#include "gpushare/sim/reader.h"
#include "gpushare/sim/spool.h"

/* What the metrics need of a kernel once it is gone; by its number. */
struct record {
	struct sim_outcome outcome;
	uint64_t alone_ns;
	uint32_t shares;
};

struct sim_stream {
	const struct sim_experiment *x;
	struct sim_text text;
	struct sim_survey survey;
	struct sim_feed *feed;
	struct sim_spool *spool;
	size_t live; /* kernels that arrived and have not finished */
};

struct sim_stream *sim_stream_open(const char *path, const struct sim_experiment *x,
				   struct gs_error *err)
{
	struct sim_stream *s = calloc(1, sizeof(*s));

	if (!s) {
		gs_fail(err, "no memory");
		return NULL;
	}
	s->x = x;
	if (sim_text_open(path, &s->text, err) == 0 &&
	    sim_survey(&s->text, &s->survey, err) == 0 &&
	    (s->feed = sim_feed_create(&s->text, &s->survey, &x->order, err)) != NULL) {
		s->spool = sim_spool_create(sizeof(struct record));
		if (s->spool)
			return s;
		gs_fail(err, "no memory");
	}
	sim_stream_close(s);
	return NULL;
}

void sim_stream_close(struct sim_stream *stream)
{
	if (!stream)
		return;
	sim_feed_destroy(stream->feed);
	sim_spool_destroy(stream->spool);
	sim_text_close(&stream->text);
	free(stream);
}

static int next(void *arg, struct sim_arrival *arrival, const struct sim_kernel **kernel,
		struct gs_error *err)
{
	struct sim_stream *s = arg;
	int rc = sim_feed_next(s->feed, arrival, kernel, err);
	struct record *record;

	if (rc != 1)
		return rc;
	/* They may finish in any order. */
	sim_spool_widen(s->spool, ++s->live);
	record = sim_spool_set(s->spool, arrival->kernel);
	record->alone_ns = sim_kernel_original(*kernel);
	record->shares = (*kernel)->shares;
	return sim_spool_check(s->spool, err) < 0 ? -1 : 1;
}

static void finished(void *arg, uint32_t kernel, const struct sim_outcome *outcome)
{
	struct sim_stream *s = arg;
	struct record *record = sim_spool_set(s->spool, kernel);

	record->outcome = *outcome;
	s->live--;
}

/* The row of a kernel, and what it is of. */
static const struct record *row_of(struct sim_stream *s, size_t kernel, struct sim_row *row)
{
	const struct record *record = sim_spool_get(s->spool, kernel);

	*row = (struct sim_row){ 0 };
	sim_row_add(row, &record->outcome, record->alone_ns);
	return record;
}

static int summarize(struct sim_stream *s, struct sim_summary *summary, struct gs_error *err)
{
	uint64_t first = UINT64_MAX, last = 0;
	struct gs_sums sums = { 0 };
	struct gs_sharing sharing;
	struct sim_row row;

	for (size_t i = 0; i < s->survey.count; i++) {
		const struct record *r = row_of(s, i, &row);

		gs_sums_add(&sums, row.ntt, r->shares);
		last = r->outcome.finish_ns > last ? r->outcome.finish_ns : last;
		first = r->outcome.arrival_ns < first ? r->outcome.arrival_ns : first;
	}
	for (size_t i = 0; i < s->survey.count; i++) {
		row_of(s, i, &row);
		gs_sums_deviate(&sums, row.ntt);
	}
	gs_sums_sharing(&sums, &sharing);
	summary->antt = sharing.antt;
	summary->dntt = summary->dntt_avg = sharing.dntt;
	summary->stp = sharing.stp;
	summary->jain = sharing.jain;
	summary->makespan_ms = (double)(last - first) / 1e6;
	return sim_spool_check(s->spool, err);
}

int sim_stream_run(struct sim_stream *s, const char *policy, struct sim_summary *summary,
		   struct gs_error *err)
{
	struct sim_run run = {
		.policy = policy, .options = &s->x->options, .costs = &s->x->costs,
		.next = next, .finished = finished, .arg = s,
	};

	s->live = 0;
	if (sim_feed_restart(s->feed, err) < 0 || sim_engine_run(&run, err) < 0)
		return -1;
	*summary = (struct sim_summary){
		.policy = policy, .handovers = (double)run.handovers, .faults = run.faults,
	};
	return summarize(s, summary, err);
}

int sim_stream_rows(struct sim_stream *s,
		    void (*tell)(void *arg, const char *name, const struct sim_row *row), void *arg,
		    struct gs_error *err)
{
	char name[SIM_NAME_MAX];
	struct sim_reader reader;
	struct sim_row row;
	size_t column;
	int rc = 1;

	if (sim_reader_open(&reader, &s->text, err) < 0)
		return -1;
	for (size_t i = 0; i < s->survey.count; i++) {
		rc = sim_reader_name(&reader, name, &column, err);
		if (rc != 1)
			break;
		row_of(s, i, &row);
		tell(arg, name, &row);
	}
	sim_reader_close(&reader);
	if (rc == 0)
		return gs_fail(err, "%.120s: changed while it was read", s->text.name);
	return rc < 0 ? -1 : sim_spool_check(s->spool, err);
}
