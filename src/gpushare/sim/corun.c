/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading kernels, and the parts that they would get; see corun.h. */
#define _GNU_SOURCE
#include "gpushare/sim/corun.h"

#include <stdlib.h>
#include <string.h>

#include "common/read_file.h"
#include "common/units.h"

#define FILE_MAX (1 << 20)
#define MOST 1000000 /* registers, or threads, of a multiprocessor */
#define MOST_BLOCKS 128
/* Registers are given to a warp, in eights for each thread. */
#define WARP 32
#define REGISTER_UNIT 8

enum column { NAME, REGISTERS, SHARED, THREADS, ISSUE, COLUMNS };

static const char *const column_names[COLUMNS] = { "name", "registers", "shared", "threads",
						   "issue" };

struct row {
	char *text[COLUMNS]; /* NULL: the file has no such column */
};

/* ---- Reading ----------------------------------------------------------------- */

static int number(const char *text, int64_t least, int64_t most, uint32_t *value,
		  struct gs_error *err)
{
	int64_t v = 0;

	if (gs_parse_int(text, least, most, &v, err) < 0)
		return -1;
	*value = (uint32_t)v;
	return 0;
}

static int shared_size(const char *text, uint32_t *value, struct gs_error *err)
{
	uint64_t bytes = 0;

	if (strcmp(text, "0") != 0 && gs_parse_size(text, &bytes, err) < 0)
		return -1;
	if (bytes > 1 << 30)
		return gs_fail(err, "'%.40s' is more than 1 GiB of shared memory", text);
	*value = (uint32_t)bytes;
	return 0;
}

int sim_corun_sm(const char *text, struct gs_corun_size *sm, struct gs_error *err)
{
	char *copy = strdup(text), *rest = copy, *field[4];
	int rc = copy ? 0 : gs_fail(err, "no memory");

	for (size_t i = 0; rc == 0 && i < 4; i++) {
		field[i] = strsep(&rest, ",");
		if (!field[i])
			rc = gs_fail(err,
				     "registers, shared memory, threads and blocks are wanted");
	}
	if (rc == 0 && rest)
		rc = gs_fail(err, "registers, shared memory, threads and blocks are wanted");
	if (rc == 0 && (number(field[0], 1, MOST, &sm->registers, err) < 0 ||
			shared_size(field[1], &sm->shared, err) < 0 ||
			number(field[2], 1, MOST, &sm->threads, err) < 0 ||
			number(field[3], 1, MOST_BLOCKS, &sm->blocks, err) < 0))
		rc = -1;
	free(copy);
	return rc;
}

static uint32_t rounded(uint32_t n, uint32_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static int parse_kernel(struct sim_corun *c, const struct row *row, struct gs_error *err)
{
	struct gs_corun_size *block = &c->block[c->count];
	struct gs_corun_alone *alone = &c->alone[c->count];
	uint32_t registers, issue = 100;
	size_t length = strlen(row->text[NAME]);

	if (!length || length >= SIM_NAME_MAX)
		return gs_fail(err, "a name has 1 to %d characters", SIM_NAME_MAX - 1);
	memcpy(c->name[c->count], row->text[NAME], length + 1);
	*block = (struct gs_corun_size) { .blocks = 1 };
	if (number(row->text[REGISTERS], 0, 255, &registers, err) < 0 ||
	    number(row->text[THREADS], 1, 1024, &block->threads, err) < 0 ||
	    (row->text[SHARED] && shared_size(row->text[SHARED], &block->shared, err) < 0) ||
	    (row->text[ISSUE] && number(row->text[ISSUE], 0, 100, &issue, err) < 0))
		return -1;
	block->threads = rounded(block->threads, WARP);
	block->registers = rounded(registers, REGISTER_UNIT) * block->threads;
	alone->issue = issue / 100.0;
	alone->blocks = gs_corun_fit(block, &c->sm);
	if (!alone->blocks)
		return gs_fail(err, "a block of '%s' does not fit on a multiprocessor",
			       row->text[NAME]);
	c->count++;
	return 0;
}

/* Cuts a line at its commas; which column each is. */
static int cut(char *line, const enum column *columns, size_t n, struct row *row,
	       struct gs_error *err)
{
	size_t i = 0;

	for (char *field; (field = strsep(&line, ",")) != NULL; i++) {
		if (i == n)
			return gs_fail(err, "more fields than the first line names");
		row->text[columns[i]] = field;
	}
	return i == n ? 0 : gs_fail(err, "fewer fields than the first line names");
}

static int parse_columns(char *line, enum column *columns, size_t *n, struct gs_error *err)
{
	unsigned seen = 0;

	for (char *field; (field = strsep(&line, ",")) != NULL; (*n)++) {
		enum column c = NAME;

		while (c < COLUMNS && strcmp(field, column_names[c]) != 0)
			c++;
		if (c == COLUMNS || seen & 1u << c)
			return gs_fail(err,
				       "'%.40s' is not a column, or is there twice: name, "
				       "registers, shared, threads, issue",
				       field);
		seen |= 1u << c;
		columns[*n] = c;
	}
	if (~seen & (1u << NAME | 1u << REGISTERS | 1u << THREADS))
		return gs_fail(err, "name, registers and threads must be among the columns");
	return 0;
}

static int parse_line(struct sim_corun *c, char *line, enum column *columns, size_t *n,
		      struct gs_error *err)
{
	struct row row = { { NULL } };

	line[strcspn(line, "\r")] = '\0';
	if (!*line || *line == '#')
		return 0;
	if (!*n)
		return parse_columns(line, columns, n, err);
	if (c->count == GS_CORUN_MAX)
		return gs_fail(err, "more than %d kernels", GS_CORUN_MAX);
	return cut(line, columns, *n, &row, err) < 0 ? -1 : parse_kernel(c, &row, err);
}

int sim_corun_parse(const char *name, char *text, struct sim_corun *c, struct gs_error *err)
{
	enum column columns[COLUMNS];
	size_t n = 0, at = 0;
	struct gs_error why;

	for (char *line; (line = strsep(&text, "\n")) != NULL;) {
		at++;
		if (parse_line(c, line, columns, &n, &why) < 0)
			return gs_fail(err, "%.80s:%zu: %.140s", name, at, why.text);
	}
	return c->count ? 0 : gs_fail(err, "%.80s: no kernels", name);
}

int sim_corun_load(const char *path, struct sim_corun *c, struct gs_error *err)
{
	size_t len;
	char *text = gs_read_input(path, FILE_MAX, &len, err);
	int rc = text ? sim_corun_parse(path, text, c, err) : -1;

	free(text);
	return rc;
}

/* ---- Writing ----------------------------------------------------------------- */

/* Of a kernel's blocks on all multiprocessors: how many in all, and on how many it is alone. */
struct spread {
	uint32_t blocks;
	size_t on, alone;
};

static struct spread spread_of(const struct sim_corun *c, const uint32_t *blocks, size_t k)
{
	struct spread s = { 0 };

	for (size_t m = 0; m < c->sms; m++) {
		const uint32_t *here = &blocks[m * c->count];
		size_t kernels = 0;

		for (size_t j = 0; j < c->count; j++)
			kernels += here[j] > 0;
		s.blocks += here[k];
		s.on += here[k] > 0;
		s.alone += here[k] && kernels == 1;
	}
	return s;
}

static void write_row(FILE *out, const struct sim_corun *c, size_t k, const uint32_t *on_demand,
		      const uint32_t *blocks, const double *quota, const size_t *sms, int csv)
{
	struct spread s = spread_of(c, on_demand, k);
	double share = gs_corun_share(&c->block[k], 1, &c->sm);

	fprintf(out,
		csv ? "%s,%.4f,%u,%zu,%u,%zu,%zu,%u,%.4f,%.4f\n" :
		      "%-20s %9.4f %7u %7zu %9u %7zu %7zu %11u %9.4f %7.4f\n",
		c->name[k], share, c->alone[k].blocks, sms[k], s.blocks, s.on, s.alone, blocks[k],
		share * blocks[k], quota[k]);
}

int sim_corun_write(FILE *out, const struct sim_corun *c, int csv)
{
	uint32_t *on_demand = calloc(c->sms * c->count, sizeof(*on_demand)), blocks[GS_CORUN_MAX];
	double quota[GS_CORUN_MAX];
	size_t sms[GS_CORUN_MAX];

	if (!on_demand)
		return -1;
	gs_corun_on_demand(c->block, c->count, &c->sm, c->sms, on_demand);
	gs_corun_partition(c->block, c->count, &c->sm, blocks);
	gs_corun_quotas(c->alone, blocks, c->count, quota);
	gs_corun_spart(c->count, c->sms, sms);
	if (csv)
		fputs("name,block_share,alone_blocks,spart_sms,on_demand_blocks,on_demand_sms,"
		      "on_demand_alone_sms,partition_blocks,partition_share,quota\n",
		      out);
	else
		fprintf(out,
			"%-28s %9s %7s %26s %25s\n%-20s %9s %7s %7s %9s %7s %7s %11s %9s %7s\n", "",
			"alone", "Spart", "on demand", "each multiprocessor", "kernel", "block",
			"blocks", "SMs", "blocks", "SMs", "alone", "blocks", "share", "quota");
	for (size_t k = 0; k < c->count; k++)
		write_row(out, c, k, on_demand, blocks, quota, sms, csv);
	free(on_demand);
	return 0;
}
