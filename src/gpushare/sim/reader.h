/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernels of a workload file, one after the other, in memory that does not
 * grow with the file.  Several readers may share a text.
 */
#ifndef GPUSHARE_SIM_READER_H
#define GPUSHARE_SIM_READER_H

#include "gpushare/sim/line.h"
#include "gpushare/sim/text.h"

struct sim_reader {
	const struct sim_text *text;
	struct sim_columns columns; /* once the first line that counts was read */
	struct sim_line line;       /* the last one that was read */
	uint64_t line_at;           /* its offset in the text */
	char *buffer;
	size_t from, have;          /* what is not read yet of what the buffer holds */
	uint64_t at;                /* the buffer's offset in the text */
	size_t ask;                 /* so much is read at a time */
	int ended;                  /* the buffer holds the text's end */
};

/* The text outlives it.  -1: no memory. */
int sim_reader_open(struct sim_reader *reader, const struct sim_text *text, struct gs_error *err);
void sim_reader_close(struct sim_reader *reader);

/* The next kernel: 1; 0: there is none; -1 with "name:line:column: reason". */
int sim_reader_kernel(struct sim_reader *reader, struct sim_kernel *kernel, struct gs_error *err);

/* The same, of which only the name is looked at, and the column that it is in. */
int sim_reader_name(struct sim_reader *reader, char name[SIM_NAME_MAX], size_t *column,
		    struct gs_error *err);

/* Go on with the line at this offset, a former line_at; after one that was read. */
void sim_reader_seek(struct sim_reader *reader, uint64_t line_at);

#endif
