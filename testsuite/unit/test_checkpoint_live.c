/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real gpushared that takes memory back, with a script in place of gpushare-mem. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "live_util.h"

#define MIB UINT64_C(1048576)

static void program_path(const struct live *l, char *path, size_t size)
{
	snprintf(path, size, "%s/mem", l->dir);
}

/* The daemon anew, which runs that script to move a process's memory. */
static void begin(struct live *l, const char *script)
{
	char path[96], extra[256];
	FILE *f;

	program_path(l, path, sizeof(path));
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\ncd %s || exit 1\n%s\n", l->dir, script);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0755), 0);
	live_stop(l, SIGTERM);
	snprintf(extra, sizeof(extra), "MemoryPreempt=checkpoint\nMemoryParameters=program=%s\n",
		 path);
	live_configure(l, extra);
	live_start(l);
}

static void end(struct live *l)
{
	char path[96];

	live_stop(l, SIGTERM);
	program_path(l, path, sizeof(path));
	unlink(path);
}

/* With one share each, and one share for the step that wants their memory. */
#define STEPS 99
/* Less than it takes to choose each of them within the choice of the one before. */
#define STACK (2u << 20)

/* They have no programs, so each has left as soon as it was told to. */
static void test_any_number_of_steps_leaves(void **state)
{
	struct live *l = *state;
	struct rlimit before, small;
	int own[STEPS], high, client;
	struct gs_page *page;
	uint32_t job;

	assert_int_equal(getrlimit(RLIMIT_STACK, &before), 0);
	small = (struct rlimit) { STACK, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_STACK, &small), 0);
	begin(l, "exit 0");
	assert_int_equal(setrlimit(RLIMIT_STACK, &before), 0);
	for (int i = 0; i < STEPS; i++)
		own[i] = live_local(l, 1, 10 * MIB, "low", &job);
	high = live_local(l, 1, 1000 * MIB, "high", &job);
	client = live_hello(l, job, &page, NULL);
	assert_int_equal(live_logged(l, "are on the host"), STEPS);
	gs_page_unmap(page);
	close(client);
	close(high);
	for (int i = 0; i < STEPS; i++)
		close(own[i]);
	end(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_any_number_of_steps_leaves),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
