/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * More work than the GPU can do: almost every kernel of the file is there at a time.  Policies
 * whose keys stay fixed while tasks wait still need about what fifo needs for each, in processor
 * time (not the clock's: the machine may be busy) and in memory.
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

#define FILE_NAME "test_sim_over.csv"
#define KERNELS 100000
/* They need 1 to 3 times as much; looking at all that are there, 30 to 100. */
#define TIMES_FIFO 12
/* They need 450. */
#define BYTES_PER_KERNEL 1000
#define TIME_LIMIT_S 240

struct need {
	double s;
	long bytes;
};

/* One every 0.1 ms, of a millisecond each on the average. */
static void write_overload(int kernels)
{
	FILE *out = fopen(FILE_NAME, "we");

	assert_non_null(out);
	srandom(1);
	fprintf(out, "name,arrival_ms,length_ms,priority,shares\n");
	for (int i = 0; i < kernels; i++)
		fprintf(out, "kernel%d,%d.%d,%f,%ld,%ld\n", i, i / 10, i % 10,
			0.05 + (double)(random() % 190000) / 1e5, random() % 20, 1 + random() % 3);
	assert_int_equal(fclose(out), 0);
}

static struct need need_of(const char *policy, const char *handover)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(TIME_LIMIT_S);
		/* The address sanitizer would keep what is freed. */
		setenv("ASAN_OPTIONS", "quarantine_size_mb=1", 1);
		if (freopen("/dev/null", "w", stdout))
			execl("./gpushare-sim", "gpushare-sim", "-p", policy, "-w", FILE_NAME, "-f",
			      "csv", "--handover", handover, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("%s with a hand-over of %s ms: status %d", policy, handover, status);
	return (struct need) {
		(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
		usage.ru_maxrss * 1024,
	};
}

static void overload_costs_little(void **state)
{
	static const char *const policies[] = { "srt", "piv", "cfs" };
	static const char *const handovers[] = { "0", "0.01" };

	(void)state;
	write_overload(KERNELS);
	for (size_t k = 0; k < 2; k++) {
		struct need fifo = need_of("fifo", handovers[k]);

		for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
			struct need need = need_of(policies[i], handovers[k]);

			print_message(
				"%s, hand-over %s ms: %.2f s, fifo %.2f, %ld bytes a kernel\n",
				policies[i], handovers[k], need.s, fifo.s, need.bytes / KERNELS);
			if (need.s > fifo.s * TIMES_FIFO)
				fail_msg("%s takes %.1f times as long as fifo", policies[i],
					 need.s / fifo.s);
			assert_in_range(need.bytes / KERNELS, 0, BYTES_PER_KERNEL);
		}
	}
	unlink(FILE_NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overload_costs_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
