/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workload files, read into memory; see workload.h. */
#include "gpushare/sim/workload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/read_file.h"
#include "gpushare/sim/line.h"

/* What a round needs for each kernel: itself, its name's place, its arrival, outcome and row, and
 * how it is scheduled. */
#define BYTES_PER_KERNEL 400
#define KERNELS_MAX (UINT32_MAX - 1) /* a number of 32 bits names each */

/* Which kernel has a name: numbers from 1 in a table that is open to the next free place. */
struct names {
	uint32_t *number; /* 0: free */
	size_t mask;
};

struct parser {
	const char *at, *end;       /* what is not read yet */
	struct sim_line line;       /* the last one that was read */
	struct sim_columns columns; /* once the first line that counts was read */
	struct names names;
	struct sim_workload *workload;
};

static size_t hash_name(const char *name)
{
	uint64_t h = gs_hash(GS_HASH_EMPTY, name, strlen(name));

	return (size_t)(h ^ h >> 32);
}

/* 1: the kernel that was parsed last has a name of its own. */
static int is_new(struct parser *p)
{
	const struct sim_workload *w = p->workload;
	const char *name = w->kernel[w->count].name;
	size_t i = hash_name(name) & p->names.mask;

	for (; p->names.number[i]; i = (i + 1) & p->names.mask)
		if (strcmp(w->kernel[p->names.number[i] - 1].name, name) == 0)
			return 0;
	p->names.number[i] = (uint32_t)w->count + 1;
	return 1;
}

/* The next line that is no comment, its end stripped: 1; 0: there is none. */
static int next_line(struct parser *p)
{
	while (p->at < p->end) {
		const char *eol = memchr(p->at, '\n', (size_t)(p->end - p->at));
		const char *stop = eol ? eol : p->end;

		p->line.text = p->at;
		p->line.len = (size_t)(stop - p->at);
		p->line.number++;
		p->at = eol ? eol + 1 : p->end;
		if (p->line.len && p->line.text[p->line.len - 1] == '\r')
			p->line.len--;
		if (p->line.len && *p->line.text != '#')
			return 1;
	}
	return 0;
}

static int parse(struct parser *p, struct gs_error *err)
{
	struct sim_workload *w = p->workload;
	size_t name_at;

	if (next_line(p) && sim_line_columns(&p->line, &p->columns, err) < 0)
		return -1;
	for (; next_line(p); w->count++) {
		if (sim_line_kernel(&p->line, &p->columns, &w->kernel[w->count], &name_at, err) < 0)
			return -1;
		if (!is_new(p))
			return sim_line_fail(&p->line, name_at, err,
					     "name: there is a kernel of this name already");
	}
	if (w->count > 0)
		return 0;
	p->line.number += p->line.number == 0;
	return sim_line_fail(&p->line, 1, err, "no kernel");
}

static size_t count_lines(const char *text, size_t len)
{
	size_t lines = 1;

	for (const char *at = text;
	     len && (at = memchr(at, '\n', len - (size_t)(at - text))) != NULL; at++)
		lines++;
	return lines;
}

/* Room for as many kernels as there are lines; a file that the machine cannot hold is refused
 * before it swaps. */
static int make_room(struct parser *p, size_t lines, struct gs_error *err)
{
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	size_t places = 16;

	if (lines > KERNELS_MAX)
		return gs_fail(err, "%.120s: too many kernels", p->line.file);
	while (places < 2 * lines)
		places *= 2;
	p->names.mask = places - 1;
	if (lines <= machine / BYTES_PER_KERNEL) {
		p->workload->kernel = malloc(lines * sizeof(*p->workload->kernel));
		p->names.number = calloc(places, sizeof(*p->names.number));
	}
	if (p->workload->kernel && p->names.number)
		return 0;
	return gs_fail(err,
		       "%.120s: too large for the memory here: %zu kernels need %" PRIu64 " MiB",
		       p->line.file, lines, (uint64_t)lines * BYTES_PER_KERNEL >> 20);
}

int sim_workload_parse(const char *name, const char *text, size_t len,
		       struct sim_workload *workload, struct gs_error *err)
{
	struct parser p = {
		.at = text, .end = text + len, .line.file = name, .workload = workload
	};
	int rc;

	*workload = (struct sim_workload) { .name = name };
	rc = make_room(&p, count_lines(text, len), err);
	if (rc == 0)
		rc = parse(&p, err);
	free(p.names.number);
	if (rc < 0)
		sim_workload_free(workload);
	return rc;
}

int sim_workload_load(const char *path, struct sim_workload *workload, struct gs_error *err)
{
	size_t len;
	char *text = gs_read_input(path, SIM_FILE_MAX, &len, err);
	int rc;

	*workload = (struct sim_workload) { 0 };
	if (!text)
		return -1;
	rc = sim_workload_parse(path, text, len, workload, err);
	free(text);
	return rc;
}

void sim_workload_free(struct sim_workload *workload)
{
	free(workload->kernel);
	*workload = (struct sim_workload) { 0 };
}
