/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shim's lines: a child can write them whatever its parent's threads did when it was forked. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/base/shim.h"

#define CHILDREN 200

static char path[] = "/tmp/linesXXXXXX";
static atomic_int over;

static void *write_lines(void *unused)
{
	while (!over)
		shim_log("a thread of the parent");
	return unused;
}

static void forked_while_a_thread_writes(void **unused)
{
	pthread_t threads[2];
	int status, good = 0;

	(void)unused;
	/* This opens the file: the address sanitizer's malloc() is not safe in a forked child. */
	shim_log("before the threads");
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_lines, NULL), 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			alarm(30);
			shim_log("a child");
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status))
			break; /* it waited until the alarm, and so would the others */
		good++;
	}
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(good, CHILDREN);
}

/* Every child's line is in the file. */
static void lines_of_the_children(void **unused)
{
	FILE *file = fopen(path, "r");
	char line[256];
	int lines = 0;

	(void)unused;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		lines += strstr(line, ": a child\n") != NULL;
	fclose(file);
	assert_int_equal(lines, CHILDREN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forked_while_a_thread_writes),
		cmocka_unit_test(lines_of_the_children),
	};
	int fd = mkstemp(path), failures;

	if (fd < 0)
		return 1;
	close(fd);
	setenv("GPUSHARE_LOG", path, 1);
	failures = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failures;
}
