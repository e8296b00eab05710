/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * variant_cost [--quick]: what a guarded variant that is never evicted costs beside its kernel as
 * written, part by part (src/device/shim/launch/guarded.c), on the GPU of the driver that is found.
 *
 * Each way of launching is timed by two events, as the shim does it, once on an idle GPU and once
 * behind a kernel in the stream; the ways take turns. Prints CSV: of each way the shortest and the
 * median time, and in a second table what each part adds, which is the difference of two shortest
 * times:
 *
 *   guard    the guard in front of each block
 *   end      the kernel that reports the end
 *   place    the watcher, which has the place of a block while the kernel runs if there is no room
 *            beside the blocks; `expected_us` is a block's time for each wave that this makes more
 *   launch   the host's launch of the watcher, if it is between the first event and the kernel
 *   idle     the host's launch of the kernel as written: an idle GPU waits for it behind the event
 *   in pairs what a comparison shows of a kernel that is launched in pairs, if the first of each
 *            pair, on an idle GPU, is always the variant and the second, behind it, as written
 *
 * --quick: some small launches, for a look at whether it works.
 */
#define _GNU_SOURCE
#include "variant_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 25
#define ROUNDS_QUICK 2
#define BLOCK_US 120.0
#define BYTES ((uint64_t)2 << 30) /* a half of what PyTorch reduces in the measurements */
#define BYTES_QUICK ((uint64_t)1 << 20)
#define LIMIT_S 90

static const char *const way_names[WAYS] = { "written", "guarded", "with end",
					     "with end and watcher", "watcher in between" };

/* A multiprocessor of a large GPU holds 2,048 threads, 64 warps. */
static struct subject subjects[] = {
	{ .name = "all places full, no room beside", .threads = 1024, .waves = 12 },
	{ .name = "all places full, room beside", .threads = 960, .waves = 12, .room = 1 },
	{ .name = "places free, no room beside", .threads = 1024, .waves = 12, .free_percent = 25 },
	{ .name = "memory", .memory = 1, .threads = 512, .waves = 8, .free_percent = 24 },
};
#define SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

struct series {
	double event_us[ROUNDS], host_us[ROUNDS];
};
static struct series all[SUBJECTS][2][WAYS]; /* idle, queued */
static unsigned int rounds = ROUNDS;

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void measure(size_t i)
{
	for (unsigned int round = 0; round < rounds; round++)
		for (int queued = 0; queued < 2; queued++)
			for (unsigned int w = 0; w < WAYS; w++) {
				/* each way comes behind each other one */
				enum way way = (enum way)((w * (1 + round % 4) + round) % WAYS);
				struct times t = launch_once(&subjects[i], way, queued);

				all[i][queued][way].event_us[round] = t.event_us;
				all[i][queued][way].host_us[round] = t.host_us;
			}
	for (int queued = 0; queued < 2; queued++)
		for (int way = 0; way < WAYS; way++) {
			struct series *s = &all[i][queued][way];

			qsort(s->event_us, rounds, sizeof(double), by_value);
			qsort(s->host_us, rounds, sizeof(double), by_value);
		}
}

static double least(size_t i, int queued, enum way way)
{
	return all[i][queued][way].event_us[0];
}

static void print_times(void)
{
	printf("kernel,stream,way,least_us,median_us,host_median_us\n");
	for (size_t i = 0; i < SUBJECTS; i++)
		for (int queued = 0; queued < 2; queued++)
			for (int way = 0; way < WAYS; way++)
				printf("\"%s\",%s,%s,%.1f,%.1f,%.1f\n", subjects[i].name,
				       queued ? "queued" : "idle", way_names[way],
				       all[i][queued][way].event_us[0],
				       all[i][queued][way].event_us[rounds / 2],
				       all[i][queued][way].host_us[rounds / 2]);
}

/* What one place less should cost. */
static double more_waves_us(const struct subject *s)
{
	unsigned int places = s->places;

	if (places < 2 || s->room)
		return 0;
	return s->block_us *
	       ((s->blocks + places - 2) / (places - 1) - (s->blocks + places - 1) / places);
}

static void print_part(size_t i, const char *stream, const char *part, double us,
		       const char *expected)
{
	printf("\"%s\",%s,%s,%.1f,%.4f,%s\n", subjects[i].name, stream, part, us,
	       us / least(i, 1, WRITTEN), expected);
}

static void print_parts(void)
{
	printf("kernel,stream,part,us,of_kernel,expected_us\n");
	for (size_t i = 0; i < SUBJECTS; i++) {
		for (int q = 0; q < 2; q++) {
			const char *stream = q ? "queued" : "idle";
			char expected[32];

			snprintf(expected, sizeof(expected), "%.1f", more_waves_us(&subjects[i]));
			print_part(i, stream, "guard", least(i, q, GUARD) - least(i, q, WRITTEN),
				   "");
			print_part(i, stream, "end", least(i, q, END) - least(i, q, GUARD), "");
			print_part(i, stream, "place", least(i, q, WATCH) - least(i, q, END),
				   expected);
			print_part(i, stream, "launch",
				   least(i, q, WATCH_TIMED) - least(i, q, WATCH), "");
		}
		print_part(i, "both", "idle", least(i, 0, WRITTEN) - least(i, 1, WRITTEN), "");
		print_part(i, "both", "in pairs", least(i, 0, WATCH_TIMED) - least(i, 1, WRITTEN),
			   "");
	}
}

int main(int argc, char **argv)
{
	int quick = argc == 2 && strcmp(argv[1], "--quick") == 0;

	if (argc > 1 && !quick) {
		fprintf(stderr, "usage: variant_cost [--quick]\n");
		return 2;
	}
	alarm(LIMIT_S); /* a kernel that never ends is nobody's evidence */
	gpu_open(quick ? BYTES_QUICK : BYTES);
	rounds = quick ? ROUNDS_QUICK : ROUNDS;
	printf("# %s\n", gpu_name());
	for (size_t i = 0; i < SUBJECTS; i++) {
		if (quick) {
			subjects[i].threads /= 32;
			subjects[i].waves = 2;
		}
		subject_prepare(&subjects[i], quick ? 0 : BLOCK_US);
		printf("# %s: %u blocks of %u threads in %u places, %.1f us a block\n",
		       subjects[i].name, subjects[i].blocks, subjects[i].threads,
		       subjects[i].places, subjects[i].block_us);
		fflush(stdout);
		measure(i);
	}
	print_times();
	print_parts();
	return 0;
}
