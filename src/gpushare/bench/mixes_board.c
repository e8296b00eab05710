/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mapped file of a program, and figures from what it recorded; see mixes_board.h. */
#define _GNU_SOURCE
#include "gpushare/bench/mixes_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define BYTES (sizeof(struct mixes_board) + MIXES_RECORDS_MAX * sizeof(struct mixes_record))
#define POLL_NS (1000 * GS_NS_PER_US)

static struct mixes_board *map(const char *path, int flags, struct gs_error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	struct stat st;
	void *p;

	if (fd < 0 || (flags && ftruncate(fd, (off_t)BYTES) < 0) || fstat(fd, &st) < 0) {
		gs_fail_errno(err, "cannot open %.150s", path);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	p = (size_t)st.st_size == BYTES ?
		    mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) :
		    MAP_FAILED;
	close(fd);
	if (p == MAP_FAILED) {
		gs_fail(err, "cannot map %.150s", path);
		return NULL;
	}
	return p;
}

struct mixes_board *mixes_board_create(const char *path, struct gs_error *err)
{
	struct mixes_board *board = map(path, O_CREAT | O_EXCL, err);

	if (board)
		board->capacity = MIXES_RECORDS_MAX;
	return board;
}

struct mixes_board *mixes_board_open(const char *path, struct gs_error *err)
{
	return map(path, 0, err);
}

void mixes_board_close(struct mixes_board *board)
{
	if (board)
		munmap(board, BYTES);
}

void mixes_board_record(struct mixes_board *board, uint64_t end_ns, uint64_t value)
{
	uint64_t n = atomic_load(&board->records);

	if (n >= board->capacity)
		return;
	board->record[n] = (struct mixes_record) { end_ns, value };
	atomic_store(&board->records, n + 1);
}

uint64_t mixes_board_next(struct mixes_board *board, uint64_t last)
{
	struct timespec inspect = { 0, POLL_NS };
	uint64_t next;

	atomic_store(&board->ready, last + 1);
	while ((next = atomic_load(&board->window)) == last)
		nanosleep(&inspect, NULL);
	return next;
}

static double within(uint64_t begin, uint64_t end, uint64_t from, uint64_t to)
{
	uint64_t a = begin > from ? begin : from, b = end < to ? end : to;

	if (end <= begin)
		return end >= from && end < to;
	return b > a ? (double)(b - a) / (double)(end - begin) : 0;
}

double mixes_units(const struct mixes_record *record, size_t count, uint64_t begin_ns,
		   uint64_t from_ns, uint64_t to_ns)
{
	double units = 0;

	for (size_t i = 0; i < count; i++) {
		if (record[i].end_ns < begin_ns)
			continue;
		units += (double)record[i].value *
			 within(begin_ns, record[i].end_ns, from_ns, to_ns);
		begin_ns = record[i].end_ns;
	}
	return units;
}

double mixes_longest(const struct mixes_record *record, size_t count, uint64_t from_ns,
		     uint64_t to_ns)
{
	uint64_t last = from_ns, longest = 0;

	for (size_t i = 0; i < count; i++) {
		if (record[i].end_ns <= last)
			continue;
		if (record[i].end_ns >= to_ns)
			break;
		if (record[i].end_ns - last > longest)
			longest = record[i].end_ns - last;
		last = record[i].end_ns;
	}
	return (double)(to_ns > last && to_ns - last > longest ? to_ns - last : longest);
}

size_t mixes_latencies(const struct mixes_record *record, size_t count, uint64_t begin_ns,
		       uint64_t period_ns, uint64_t from_ns, uint64_t to_ns, uint64_t over_ns,
		       double *latency, size_t max)
{
	uint64_t due = begin_ns;
	size_t n = 0, i = 0;

	for (; due < to_ns && n < max; due += period_ns) {
		if (due < from_ns)
			continue;
		while (i < count && record[i].value < due)
			i++;
		latency[n++] = i < count && record[i].value == due ?
				       (double)(record[i].end_ns - due) :
				       (double)(over_ns > due ? over_ns - due : 0);
	}
	return n;
}
