/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that writes whatever it likes into its page: e4_flip FD SECONDS SEED. Two threads store
 * random words, and such as could be right, all over the page of descriptor FD; the parent's
 * connection goes on meanwhile. Prints how many words they have stored.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "gpushare/proto/page.h"

static _Atomic uint32_t *words;
static size_t count;
static _Atomic int over;

struct flipper {
	pthread_t thread;
	uint64_t seed, stored;
};

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

#define SLOTS_AT (offsetof(struct gs_page, slot) / sizeof(uint32_t))
#define SLOT_WORDS (sizeof(struct gs_slot) / sizeof(uint32_t))
#define USED_AT (offsetof(struct gs_page, used) / sizeof(uint32_t))
#define SLOTS 8

/* Nothing, an index about as large as the tables, all ones, a bit more or less. */
static uint32_t word(uint64_t r, uint32_t old)
{
	switch (r % 8) {
	case 0:
	case 1:
		return 0;
	case 2:
		return (uint32_t)(r >> 32) % 5000;
	case 3:
		return UINT32_MAX;
	case 4:
		return old ^ 1u << (r >> 32) % 32;
	case 5:
		return old + 1;
	default:
		return (uint32_t)(r >> 32);
	}
}

/* For a state that there is not the daemon ends the connection at once, and looks at nothing else.
 * So most of the time there is one, in few slots. */
static uint32_t word_at(size_t at, uint64_t r, uint32_t old)
{
	if (r >> 44 == 0)
		return (uint32_t)r;
	if (at == USED_AT)
		return 1 + (uint32_t)(r >> 32) % SLOTS;
	if (at >= SLOTS_AT && (at - SLOTS_AT) % SLOT_WORDS == 0)
		return (uint32_t)(r >> 32) % GS_K_COUNT;
	return word(r, old);
}

static void *flip(void *arg)
{
	struct flipper *f = arg;

	while (!over)
		for (int i = 0; i < 4096; i++, f->stored++) {
			uint64_t r = next(&f->seed);
			size_t at = r % 4 ? SLOTS_AT + (r >> 8) % (SLOTS * SLOT_WORDS) :
					    (r >> 8) % count;

			atomic_store_explicit(&words[at], word_at(at, next(&f->seed), words[at]),
					      memory_order_relaxed);
		}
	return NULL;
}

int main(int argc, char **argv)
{
	struct flipper f[2] = { { 0 } };
	struct stat st;
	struct timespec time;
	int fd;

	if (argc != 4)
		return 2;
	fd = atoi(argv[1]);
	if (fstat(fd, &st) < 0)
		return 1;
	words = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		return 1;
	count = (size_t)st.st_size / sizeof(*words);
	for (int i = 0; i < 2; i++) {
		f[i].seed = (strtoull(argv[3], NULL, 10) + 1) * UINT64_C(0x9e3779b97f4a7c15) +
			    (uint64_t)i;
		if (pthread_create(&f[i].thread, NULL, flip, &f[i]) != 0)
			return 1;
	}
	time.tv_sec = (time_t)atof(argv[2]);
	time.tv_nsec = (long)((atof(argv[2]) - (double)time.tv_sec) * 1e9);
	nanosleep(&time, NULL);
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(f[i].thread, NULL);
	printf("%" PRIu64 "\n", f[0].stored + f[1].stored);
	return 0;
}
