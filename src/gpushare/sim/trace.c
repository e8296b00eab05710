/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading Slurm's accounting; see trace.h. */
#define _GNU_SOURCE
#include "gpushare/sim/trace.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/read_file.h"
#include "common/units.h"
#include "gpushare/sim/workload.h"

#define FIELDS_MAX 256
#define FIELD_MAX 512
#define ELAPSED_MAX_S (INT64_C(365) * 86400)
#define GPUS_MAX 10000

enum what { OTHER, ID, SUBMIT, ELAPSED_RAW, ELAPSED, TRES, PARTITION };

static const struct {
	const char *name;
	enum what what;
} known[] = {
	{ "JobID", ID },        { "JobIDRaw", ID },
	{ "Submit", SUBMIT },   { "ElapsedRaw", ELAPSED_RAW },
	{ "Elapsed", ELAPSED }, { "AllocTRES", TRES },
	{ "ReqTRES", TRES },    { "Partition", PARTITION },
};

struct reader {
	const char *file;
	const struct sim_partition *partition;
	size_t partitions;
	struct sim_trace *trace;
	size_t room, line;
	enum what field[FIELDS_MAX]; /* of the file, left to right; the first of alternatives */
	size_t fields;
};

static int fail_at(const struct reader *r, size_t at, struct gs_error *err, const char *why)
{
	return gs_fail(err, "%.80s:%zu:%zu: %.140s", r->file, r->line, at, why);
}

/* The field at *at; *at goes behind its bar, or to NULL at the line's end. */
static int next_field(const struct reader *r, const char *line, const char *end, const char **at,
		      char text[FIELD_MAX], size_t *column, struct gs_error *err)
{
	const char *from = *at, *to = memchr(from, '|', (size_t)(end - from));

	*column = (size_t)(from - line) + 1;
	*at = to ? to + 1 : NULL;
	if (!to)
		to = end;
	if (to - from >= FIELD_MAX)
		return fail_at(r, *column, err, "a field of more than 511 characters");
	memcpy(text, from, (size_t)(to - from));
	text[to - from] = '\0';
	return memchr(text, '\0', (size_t)(to - from)) ? fail_at(r, *column, err, "a NUL byte") : 0;
}

static int parse_header(struct reader *r, const char *line, const char *end, struct gs_error *err)
{
	unsigned seen = 0;
	char text[FIELD_MAX];
	size_t column;

	for (const char *at = line; at; r->fields++) {
		enum what what = OTHER;

		if (r->fields == FIELDS_MAX)
			return fail_at(r, 1, err, "more than 256 fields");
		if (next_field(r, line, end, &at, text, &column, err) < 0)
			return -1;
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (strcmp(text, known[i].name) == 0)
				what = known[i].what;
		/* JobID beside JobIDRaw, Elapsed beside ElapsedRaw: the first of them counts. */
		if (what == ELAPSED && seen & 1u << ELAPSED_RAW)
			what = OTHER;
		if (what == ELAPSED_RAW && seen & 1u << ELAPSED)
			what = OTHER;
		if (what != OTHER && seen & 1u << what)
			what = OTHER;
		seen |= 1u << what;
		r->field[r->fields] = what;
	}
	if (!(seen & 1u << ID) || !(seen & 1u << SUBMIT) || !(seen & 1u << TRES) ||
	    !(seen & (1u << ELAPSED | 1u << ELAPSED_RAW)))
		return fail_at(r, 1, err,
			       "the first line names the fields, among them JobID, Submit, "
			       "ElapsedRaw or Elapsed, AllocTRES or ReqTRES");
	return 0;
}

static int parse_time(const char *text, uint64_t *ns, struct gs_error *err)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	time_t t;

	if (!end || *end)
		return gs_fail(err, "'%.40s' is not a time like 2026-11-20T08:15:00", text);
	t = timegm(&tm);
	if (t < 0 || t > INT64_C(4102444800))
		return gs_fail(err, "'%.40s' is not between 1970 and 2100", text);
	*ns = (uint64_t)t * GS_NS_PER_S;
	return 0;
}

/* [DD-]HH:MM:SS or MM:SS, perhaps with a fraction, which is dropped. */
static int parse_elapsed(const char *text, uint64_t *ns, struct gs_error *err)
{
	uint64_t part[3] = { 0 }, days = 0;
	size_t n = 0;
	const char *c = text;
	char *end;

	for (;; c = end + 1) {
		uint64_t v;

		if (!isdigit((unsigned char)*c) || n == 3)
			return gs_fail(err, "'%.40s' is not a time like 1-02:03:04", text);
		v = strtoull(c, &end, 10);
		if (*end == '-' && n == 0 && !days && end - c <= 5) {
			days = v;
			continue;
		}
		if (v > 9999)
			return gs_fail(err, "'%.40s' is not a time like 1-02:03:04", text);
		part[n++] = v;
		if (*end != ':')
			break;
	}
	if ((*end && (*end != '.' || end[1 + strspn(end + 1, "0123456789")])) || n < 2)
		return gs_fail(err, "'%.40s' is not a time like 1-02:03:04", text);
	if (n == 2) {
		part[2] = part[1];
		part[1] = part[0];
		part[0] = 0;
	}
	*ns = days * 86400 + part[0] * 3600 + part[1] * 60 + part[2];
	if (*ns > (uint64_t)ELAPSED_MAX_S)
		return gs_fail(err, "'%.40s' is more than a year", text);
	*ns *= GS_NS_PER_S;
	return 0;
}

/*
 * The number behind `key` in "billing=4,cpu=4,gres/gpushare=25", or the sum of those of its types,
 * as in gres/gpu:a100=1,gres/gpu:h200=2, which is all that there is where AccountingStorageTRES has
 * only types; 0: neither is there.
 */
static int tres(const char *text, const char *key, int64_t most, int64_t *value,
		struct gs_error *err)
{
	size_t n = strlen(key);
	int64_t one, typed = 0;
	char number[24];

	for (const char *at = text; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t len = strcspn(at, ","), name = strcspn(at, "=,");

		if (name == len || strncmp(at, key, n) != 0 || (at[n] != '=' && at[n] != ':'))
			continue;
		if (len - name - 1 >= sizeof(number))
			return gs_fail(err, "%s is too long a number", key);
		memcpy(number, at + name + 1, len - name - 1);
		number[len - name - 1] = '\0';
		if (gs_parse_int(number, 0, most, &one, err) < 0)
			return -1;
		if (name == n) {
			*value = one;
			return 0;
		}
		typed += one;
		if (typed > most)
			return gs_fail(err, "more than %lld of %s", (long long)most, key);
	}
	*value = typed;
	return 0;
}

static int parse_tres(const char *text, struct sim_job *job, struct gs_error *err)
{
	int64_t shares, gpus;

	if (tres(text, "gres/gpushare", (int64_t)GPUS_MAX * SIM_GPU_SHARES, &shares, err) < 0 ||
	    tres(text, "gres/gpu", GPUS_MAX, &gpus, err) < 0)
		return -1;
	job->shares = (uint32_t)(shares ? shares : gpus * SIM_GPU_SHARES);
	return 0;
}

static int parse_id(const char *text, struct sim_job *job, struct gs_error *err)
{
	size_t n = strlen(text);

	if (n == 0 || n >= sizeof(job->id))
		return gs_fail(err, "a job's id has 1 to %d characters", SIM_JOB_ID_MAX - 1);
	if (text[strspn(text, "0123456789_+.-[]%,abcdefghijklmnopqrstuvwxyz")])
		return gs_fail(err, "'%.40s' is not a job's id", text);
	memcpy(job->id, text, n + 1);
	return 0;
}

static int parse_value(const struct reader *r, enum what what, const char *text,
		       struct sim_job *job, struct gs_error *err)
{
	int64_t seconds;

	switch (what) {
	case ID:
		return parse_id(text, job, err);
	case SUBMIT:
		return parse_time(text, &job->submit_ns, err);
	case ELAPSED:
		return parse_elapsed(text, &job->length_ns, err);
	case ELAPSED_RAW:
		if (gs_parse_int(text, 0, ELAPSED_MAX_S, &seconds, err) < 0)
			return -1;
		job->length_ns = (uint64_t)seconds * GS_NS_PER_S;
		return 0;
	case TRES:
		return parse_tres(text, job, err);
	case PARTITION:
		for (size_t i = 0; i < r->partitions; i++)
			if (strcmp(r->partition[i].name, text) == 0)
				job->priority = r->partition[i].priority;
		return 0;
	default:
		return 0;
	}
}

static int keep(struct reader *r, const struct sim_job *job, struct gs_error *err)
{
	struct sim_trace *t = r->trace;

	if (strchr(job->id, '.'))
		t->steps++;
	else if (!job->shares)
		t->no_gpu++;
	else if (!job->length_ns)
		t->never_ran++;
	else {
		if (t->count == r->room) {
			size_t room = r->room ? r->room * 2 : 1024;
			struct sim_job *grown = realloc(t->job, room * sizeof(*grown));

			if (!grown)
				return gs_fail(err, "no memory");
			t->job = grown;
			r->room = room;
		}
		t->job[t->count++] = *job;
	}
	return 0;
}

static int parse_row(struct reader *r, const char *line, const char *end, struct gs_error *err)
{
	struct sim_job job = { .priority = 1, .line = (uint32_t)r->line };
	size_t field = 0, column;
	char text[FIELD_MAX];
	struct gs_error why;

	for (const char *at = line; at; field++) {
		if (next_field(r, line, end, &at, text, &column, err) < 0)
			return -1;
		if (field == r->fields)
			return fail_at(r, column, err, "more fields than the first line names");
		if (parse_value(r, r->field[field], text, &job, &why) < 0)
			return fail_at(r, column, err, why.text);
		/* A step's other fields are as good as any, and not looked at. */
		if (r->field[field] == ID && strchr(job.id, '.'))
			return keep(r, &job, err);
	}
	if (field < r->fields)
		return fail_at(r, (size_t)(end - line) + 1, err,
			       "fewer fields than the first line names");
	return keep(r, &job, err);
}

static int by_submission(const void *a, const void *b)
{
	const struct sim_job *x = a, *y = b;

	if (x->submit_ns != y->submit_ns)
		return x->submit_ns < y->submit_ns ? -1 : 1;
	return strverscmp(x->id, y->id);
}

int sim_trace_parse(const char *name, const char *text, size_t len,
		    const struct sim_partition *partition, size_t partitions,
		    struct sim_trace *trace, struct gs_error *err)
{
	struct reader r = {
		.file = name, .partition = partition, .partitions = partitions, .trace = trace
	};
	const char *end = text + len;
	int rc = 0;

	*trace = (struct sim_trace) { .file = name };
	while (rc == 0 && text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		const char *stop = eol ? eol : end;

		r.line++;
		if (stop > text)
			rc = r.fields ? parse_row(&r, text, stop, err) :
					parse_header(&r, text, stop, err);
		text = eol ? eol + 1 : end;
	}
	if (rc == 0 && trace->count == 0) {
		r.line += r.line == 0;
		rc = fail_at(&r, 1, err, "no job that used a GPU");
	}
	if (rc < 0) {
		sim_trace_free(trace);
		return -1;
	}
	qsort(trace->job, trace->count, sizeof(*trace->job), by_submission);
	for (size_t i = trace->count; i-- > 0;)
		trace->job[i].submit_ns -= trace->job[0].submit_ns;
	return 0;
}

int sim_trace_load(const char *path, const struct sim_partition *partition, size_t partitions,
		   struct sim_trace *trace, struct gs_error *err)
{
	size_t len;
	char *text = gs_read_input(path, SIM_FILE_MAX, &len, err);
	int rc;

	*trace = (struct sim_trace) { 0 };
	if (!text)
		return -1;
	rc = sim_trace_parse(path, text, len, partition, partitions, trace, err);
	free(text);
	return rc;
}

void sim_trace_free(struct sim_trace *trace)
{
	free(trace->job);
	*trace = (struct sim_trace) { 0 };
}
