/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of gpushare-sim follows the kernels that are there at a time, not those of the
 * file: ten times as many kernels, of which as few are there, may cost a few bytes each.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_NAME "test_sim_live.csv"
#define FEW 50000
#define MANY 500000
/* Two for the names; the whole kernel, its outcome and its row were about 250. */
#define BYTES_PER_KERNEL 8
#define TIME_LIMIT_S 240

/* One every ms, three parts of four as long. */
static void write_sparse(int kernels)
{
	FILE *out = fopen(FILE_NAME, "we");

	assert_non_null(out);
	fprintf(out, "name,arrival_ms,length_ms\n");
	for (int i = 0; i < kernels; i++)
		fprintf(out, "kernel%d,%d,0.%d\n", i, i, 5 + i % 5);
	assert_int_equal(fclose(out), 0);
}

static void exec_simulator(const char *format, int as_pipe)
{
	const char *all = "cat " FILE_NAME " | exec ./gpushare-sim -p frs -w - -f \"$0\"";

	alarm(TIME_LIMIT_S);
	setenv("TMPDIR", ".", 0);
	/* The address sanitizer would keep what is freed. */
	setenv("ASAN_OPTIONS", "quarantine_size_mb=1", 1);
	if (!freopen("/dev/null", "w", stdout))
		_exit(126);
	if (as_pipe)
		execl("/bin/sh", "sh", "-c", all, format, (char *)NULL);
	else
		execl("./gpushare-sim", "gpushare-sim", "-p", "frs", "-w", FILE_NAME, "-f",
		      format, (char *)NULL);
	_exit(127);
}

/* The most memory that it, or what it started, had, in bytes. */
static long peak(const char *format, int as_pipe)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		exec_simulator(format, as_pipe);
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	return usage.ru_maxrss * 1024;
}

static void memory_follows_what_is_live(void **state)
{
	static const struct {
		const char *format;
		int as_pipe;
	} way[] = { { "csv", 0 }, { "json", 0 }, { "table", 1 } };
	long few[3], many[3];

	(void)state;
	write_sparse(FEW);
	for (size_t i = 0; i < 3; i++)
		few[i] = peak(way[i].format, way[i].as_pipe);
	write_sparse(MANY);
	for (size_t i = 0; i < 3; i++)
		many[i] = peak(way[i].format, way[i].as_pipe);
	unlink(FILE_NAME);
	for (size_t i = 0; i < 3; i++)
		if (many[i] - few[i] > (long)BYTES_PER_KERNEL * (MANY - FEW))
			fail_msg("%s: %ld bytes for %d kernels, %ld for %d: %.1f for each more",
				 way[i].format, few[i], FEW, many[i], MANY,
				 (double)(many[i] - few[i]) / (MANY - FEW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_follows_what_is_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
