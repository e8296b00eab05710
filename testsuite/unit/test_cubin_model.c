/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule of the guards (device/ptx/guard.h) under random interleavings: each
 * unit runs exactly once, what ran is a prefix of the grid after each launch, and
 * all blocks of a cluster decide alike.  Blocks are dispatched in any order, each
 * step of each block may be held up, and what a multiprocessor remembers may be
 * old or lost.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/ptx/guard.h"

#define UNITS_MAX 24u
#define BLOCKS_MAX (UNITS_MAX * 4u)
#define SEEN_MAX 128u
#define PROCESSORS 4u
#define RUNS 100000

enum step { BEGIN, LOOK, ASK, REMEMBER, DECIDE, OVER };

struct block {
	enum step next;
	unsigned unit, processor;
	uint64_t old; /* what it knows of W */
	int runs;
};

struct processor {
	uint64_t seen[SEEN_MAX]; /* each value that its word ever had */
	unsigned count;
};

struct launch {
	struct block block[BLOCKS_MAX];
	struct processor processor[PROCESSORS];
	struct gs_guard arg;
	uint64_t word;
	unsigned blocks, units;
	int looks; /* maxt */
};

static uint64_t state;

static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}

static void remember(struct processor *p, uint64_t value)
{
	if (p->count < SEEN_MAX)
		p->seen[p->count++] = value;
}

/* One step of a block, as the guard's code has them. */
static void step(struct launch *l, struct block *b)
{
	uint64_t b1 = (b->unit >> l->arg.group) + 1;
	struct processor *p = &l->processor[b->processor];

	switch (b->next) {
	case BEGIN:
		b->next = b->unit < l->arg.base ? OVER : l->looks ? LOOK : ASK;
		break;
	case LOOK:
		/* Any value of the past: a first-level cache may hold it. */
		b->old = p->seen[below(p->count)];
		b->next = b->old >= b1 ? DECIDE : ASK;
		break;
	case ASK:
		b->old = l->word;
		l->word = l->word > b1 ? l->word : b1;
		b->next = l->looks ? REMEMBER : DECIDE;
		break;
	case REMEMBER:
		remember(p, b->old > b1 ? b->old : b1);
		b->next = DECIDE;
		break;
	case DECIDE:
		b->runs = (b->old ^ GS_GUARD_LEAVE) >= b1;
		b->next = OVER;
		break;
	default:
		break;
	}
}

static void begin(struct launch *l, unsigned units, unsigned each, unsigned base, unsigned group)
{
	memset(l, 0, sizeof(*l));
	l->units = units;
	l->blocks = units * each;
	l->arg.base = base;
	l->arg.group = group;
	l->looks = (int)below(2);
	l->word = below(2) ? base >> group : 0;
	for (unsigned i = 0; i < PROCESSORS; i++)
		remember(&l->processor[i], 0);
	for (unsigned i = 0; i < l->blocks; i++) {
		l->block[i].unit = i / each;
		l->block[i].processor = below(PROCESSORS);
	}
}

/* Runs all of it; `window`: how many blocks are under way beside each other, in which order. */
static void run(struct launch *l, int evict_at)
{
	unsigned order[BLOCKS_MAX], left = l->blocks, window = 1 + below(l->blocks);
	int shuffled = (int)below(2);

	for (unsigned i = 0; i < l->blocks; i++)
		order[i] = i;
	for (unsigned i = l->blocks; shuffled && i > 1; i--) {
		unsigned j = below(i), t = order[i - 1];

		order[i - 1] = order[j];
		order[j] = t;
	}
	for (int time = 0; left; time++) {
		unsigned i = below(window < left ? window : left);
		struct block *b = &l->block[order[i]];

		if (time == evict_at)
			l->word |= GS_GUARD_LEAVE;
		step(l, b);
		if (b->next != OVER)
			continue;
		memmove(&order[i], &order[i + 1], (left - i - 1) * sizeof(order[0]));
		left--;
	}
}

static unsigned done(const struct launch *l)
{
	uint64_t n = (uint64_t)GS_GUARD_COUNT(l->word) << l->arg.group;

	if (n < l->arg.base)
		n = l->arg.base;
	return n < l->units ? (unsigned)n : l->units;
}

static void one_grid(unsigned *evictions)
{
	unsigned units = 1 + below(UNITS_MAX), each = 1 + below(4), group = below(4), base = 0;
	unsigned ran[BLOCKS_MAX] = { 0 };
	struct launch l;

	for (int tries = 0; base < units; tries++) {
		unsigned n;

		begin(&l, units, each, base, group);
		run(&l, tries < 6 ? (int)below(l.blocks * 3) : -1);
		n = done(&l);
		*evictions += n < units;
		for (unsigned i = 0; i < l.blocks; i++) {
			ran[i] += (unsigned)l.block[i].runs;
			assert_int_equal(l.block[i].runs,
					 l.block[i].unit >= base && l.block[i].unit < n);
		}
		assert_true(n >= base && tries < 100);
		base = n;
	}
	for (unsigned i = 0; i < units * each; i++)
		assert_int_equal(ran[i], 1);
}

static void each_unit_runs_once(void **unused)
{
	unsigned evictions = 0;

	(void)unused;
	for (unsigned i = 1; i <= RUNS; i++) {
		state = i * UINT64_C(0x9e3779b97f4a7c15);
		one_grid(&evictions);
	}
	print_message("%u grids, %u evictions\n", RUNS, evictions);
	assert_true(evictions > RUNS / 2);
}

/* The model finds what is wrong: a rule that forgets who was let in before the eviction. */
static void a_wrong_rule_is_found(void **unused)
{
	unsigned split = 0;

	(void)unused;
	for (unsigned i = 1; i <= 2000; i++) {
		struct launch l;
		int runs[UNITS_MAX][2] = { { 0 } };

		state = i * UINT64_C(0x9e3779b97f4a7c15);
		begin(&l, UNITS_MAX, 2, 0, 0);
		l.looks = 0;
		for (unsigned b = 0; b < l.blocks; b++) {
			if (b == 11)
				l.word |= GS_GUARD_LEAVE;
			step(&l, &l.block[b]);
			step(&l, &l.block[b]);
			runs[b / 2][b % 2] = !(l.block[b].old & GS_GUARD_LEAVE);
		}
		for (unsigned u = 0; u < UNITS_MAX; u++)
			split += runs[u][0] != runs[u][1];
	}
	assert_true(split > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_unit_runs_once),
		cmocka_unit_test(a_wrong_rule_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
