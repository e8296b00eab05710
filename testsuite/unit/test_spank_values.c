/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SPANK plugin's arguments, options and gres strings. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/values.h"

static int parse(struct gs_spank_args *args, struct gs_error *err, int argc, const char *a,
		 const char *b)
{
	char *argv[2] = { (char *)(uintptr_t)a, (char *)(uintptr_t)b };

	return gs_spank_args_parse(argc, argv, args, err);
}

static void test_defaults(void **state)
{
	struct gs_spank_args args;
	struct gs_error err;

	(void)state;
	assert_int_equal(parse(&args, &err, 0, NULL, NULL), 0);
	assert_string_equal(args.socket, "/run/gpushare/gpushared.sock");
	assert_string_equal(args.munge_socket, "");
	assert_int_equal(args.timeout_ms, 5000);
	assert_int_equal(args.slurmctld_timeout_ms, 530000);
	assert_int_equal(args.run_absent, 0);
}

static void test_given(void **state)
{
	struct gs_spank_args args;
	struct gs_error err;

	(void)state;
	assert_int_equal(parse(&args, &err, 2, "socket=/a/b", "munge_socket=/c"), 0);
	assert_string_equal(args.socket, "/a/b");
	assert_string_equal(args.munge_socket, "/c");
	assert_int_equal(parse(&args, &err, 2, "absent=run", "timeout=250ms"), 0);
	assert_int_equal(args.run_absent, 1);
	assert_int_equal(args.timeout_ms, 250);
	assert_int_equal(parse(&args, &err, 1, "slurmctld_timeout=20s", NULL), 0);
	assert_int_equal(args.slurmctld_timeout_ms, 20000);
	assert_int_equal(parse(&args, &err, 1, "absent=fail", NULL), 0);
	assert_int_equal(args.run_absent, 0);
}

static void test_bad_arguments(void **state)
{
	static const struct {
		const char *a, *b, *says;
	} bad[] = {
		{ "sockets=/a", NULL, "unknown argument sockets=/a" },
		{ "socket", NULL, "unknown argument socket" },
		{ "=/a", NULL, "unknown argument" },
		{ "socket=run/x", NULL, "not an absolute path" },
		{ "socket=", NULL, "not an absolute path" },
		{ "socket=/a", "socket=/b", "twice" },
		{ "absent=", NULL, "run or fail" },
		{ "absent=runs", NULL, "run or fail" },
		{ "timeout=0", NULL, "from 1ms to 60s" },
		{ "timeout=61s", NULL, "from 1ms to 60s" },
		{ "timeout=soon", NULL, "timeout=soon" },
		{ "slurmctld_timeout=600s", NULL, "from 1ms to 530s" },
		{ "slurmctld_timeout=0", NULL, "from 1ms to 530s" },
	};
	char longest[200] = "socket=/";
	struct gs_spank_args args;
	struct gs_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(&args, &err, bad[i].b ? 2 : 1, bad[i].a, bad[i].b), -1);
		assert_non_null(strstr(err.text, bad[i].says));
		assert_string_equal(args.socket, "/run/gpushare/gpushared.sock");
	}
	memset(longest + 8, 'x', sizeof(longest) - 9);
	assert_int_equal(parse(&args, &err, 1, longest, NULL), -1);
	assert_non_null(strstr(err.text, "too long"));
	longest[7 + 107] = 0;
	assert_int_equal(parse(&args, &err, 1, longest, NULL), 0);
}

static void test_memory(void **state)
{
	static const char *const bad[] = { "",     "0",    "-1G",
					   "8X",   "8 G",  "1023K",
					   "4096", "G",    "99999999999999999999999999999999",
					   "1e3",  "0x10M" };
	struct gs_error err;
	uint64_t bytes;

	(void)state;
	assert_int_equal(gs_option_memory("8G", &bytes, &err), 0);
	assert_true(bytes == UINT64_C(8) << 30);
	assert_int_equal(gs_option_memory("512MiB", &bytes, &err), 0);
	assert_true(bytes == UINT64_C(512) << 20);
	assert_int_equal(gs_option_memory("1048576", &bytes, &err), 0);
	assert_true(bytes == UINT64_C(1) << 20);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = 0;
		assert_int_equal(gs_option_memory(bad[i], &bytes, &err), -1);
		assert_true(err.text[0] != 0);
	}
	assert_int_equal(gs_option_memory(NULL, &bytes, &err), -1);
	assert_int_equal(gs_option_memory("auto", &bytes, &err), 0);
	assert_true(bytes == UINT64_MAX);
	assert_int_equal(gs_option_memory("automatic", &bytes, &err), -1);
}

static void test_period(void **state)
{
	static const char *const bad[] = { "",     "0",   "-20ms",
					   "99us", "25h", "20 ms",
					   "soon", "1e3", "00000000000000000000000000000020ms" };
	struct gs_error err;
	uint64_t ns;

	(void)state;
	assert_int_equal(gs_option_period("20ms", &ns, &err), 0);
	assert_int_equal(ns, 20000000);
	assert_int_equal(gs_option_period("0.1", &ns, &err), 0);
	assert_int_equal(ns, 100000);
	assert_int_equal(gs_option_period("24h", &ns, &err), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = 0;
		assert_int_equal(gs_option_period(bad[i], &ns, &err), -1);
		assert_true(err.text[0] != 0);
	}
	assert_int_equal(gs_option_period(NULL, &ns, &err), -1);
}

static void test_corun(void **state)
{
	static const char *const bad[] = { "", "maybe", "2", "yes,no", " no" };
	struct gs_error err;
	int no = -1;

	(void)state;
	assert_int_equal(gs_option_corun("no", &no, &err), 0);
	assert_int_equal(no, 1);
	assert_int_equal(gs_option_corun("yes", &no, &err), 0);
	assert_int_equal(no, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = 0;
		assert_int_equal(gs_option_corun(bad[i], &no, &err), -1);
		assert_true(err.text[0] != 0);
	}
	assert_int_equal(gs_option_corun(NULL, &no, &err), -1);
}

static void test_priority(void **state)
{
	static const char *const bad[] = { "", "-1", "1001", "high", "1.5", "10 ", "0x1" };
	struct gs_error err;
	uint32_t priority;

	(void)state;
	assert_int_equal(gs_option_priority("0", &priority, &err), 0);
	assert_int_equal(priority, 0);
	assert_int_equal(gs_option_priority("1000", &priority, &err), 0);
	assert_int_equal(priority, 1000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(gs_option_priority(bad[i], &priority, &err), -1);
}

static void test_gres_count(void **state)
{
	static const struct {
		const char *list;
		uint64_t count;
	} lists[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ "gpushare:30", 30 },
		{ "gres:gpushare:25", 25 },
		{ "gres/gpushare:25", 25 },
		{ "gpushare", 1 },
		{ "gpushare:a100:12", 12 },
		{ "gpushare:a100", 1 },
		{ "gpushare:30(IDX:0)", 30 },
		{ "gpushare(CNT:40)", 40 },
		{ "gpushare:a100(CNT:41)", 41 },
		{ "gpu:2(IDX:0,3),gpushare:7(IDX:0)", 7 },
		{ "gpushare:7(IDX:0),gpushare:b:8", 15 },
		{ "gpusharex:30", 0 },
		{ "xgpushare:30", 0 },
		{ "gpushare_mem:30", 0 },
		{ "gpushare_mem(CNT:10)", 0 },
		{ "gpu:gpushare:3", 0 },
		{ "gpushar", 0 },
		{ ",,gpushare:4,", 4 },
		{ "gpushare:", 1 },
		{ "gpushare(", 1 },
		{ "gpushare:0", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (gs_gres_count(lists[i].list, "gpushare") != lists[i].count)
			fail_msg("%s: %llu", lists[i].list,
				 (unsigned long long)gs_gres_count(lists[i].list, "gpushare"));
}

static void test_gres_bare(void **state)
{
	static const char *const bare[] = { "gres:gpushare", "gres/gpushare", "gpushare",
					    "gres:gpushare:a100",
					    "gres:craynetwork:1,gres:gpushare" };
	static const char *const counted[] = { "",
					       "gres:gpushare:1",
					       "gres/gpushare=1",
					       "gres:gpushare:a100:1",
					       "gres/gpushare:a100=7",
					       "gres:gpushares",
					       "gres:xgpushare",
					       "gres:gpu",
					       "NONE" };

	(void)state;
	assert_false(gs_gres_is_bare(NULL, "gpushare"));
	for (size_t i = 0; i < sizeof(bare) / sizeof(bare[0]); i++)
		if (!gs_gres_is_bare(bare[i], "gpushare"))
			fail_msg("%s", bare[i]);
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		if (gs_gres_is_bare(counted[i], "gpushare"))
			fail_msg("%s", counted[i]);
}

static void test_library_path(void **state)
{
	char out[32];

	(void)state;
	assert_int_equal(gs_library_path(NULL, "/s", out, sizeof(out)), 0);
	assert_string_equal(out, "/s");
	assert_int_equal(gs_library_path("", "/s", out, sizeof(out)), 0);
	assert_string_equal(out, "/s");
	assert_int_equal(gs_library_path("/a:/b", "/s", out, sizeof(out)), 0);
	assert_string_equal(out, "/s:/a:/b");
	assert_int_equal(gs_library_path("/s:/a", "/s", out, sizeof(out)), 0);
	assert_string_equal(out, "/s:/a");
	assert_int_equal(gs_library_path("/sx", "/s", out, sizeof(out)), 0);
	assert_string_equal(out, "/s:/sx");
	assert_int_equal(gs_library_path("/0123456789012345678901234567", "/s", out, sizeof(out)),
			 -1);
}

static void test_socket_path(void **state)
{
	struct gs_error err;
	char out[32];

	(void)state;
	assert_int_equal(gs_socket_path("/run/s", NULL, out, sizeof(out), &err), 0);
	assert_string_equal(out, "/run/s");
	assert_int_equal(gs_socket_path("/run/%n/s-%n", "n1", out, sizeof(out), &err), 0);
	assert_string_equal(out, "/run/n1/s-n1");
	assert_int_equal(gs_socket_path("/run/100%", "n1", out, sizeof(out), &err), 0);
	assert_string_equal(out, "/run/100%");
	assert_int_equal(gs_socket_path("/run/%n", NULL, out, sizeof(out), &err), -1);
	assert_int_equal(gs_socket_path("/run/%n", "", out, sizeof(out), &err), -1);
	assert_int_equal(gs_socket_path("/run/%n", "../x", out, sizeof(out), &err), -1);
	assert_int_equal(
		gs_socket_path("/%n", "0123456789012345678901234567890", out, sizeof(out), &err),
		-1);
	assert_int_equal(
		gs_socket_path("/%n", "012345678901234567890123456789", out, sizeof(out), &err), 0);
}

static void test_gpu_index(void **state)
{
	static const char *const bad[] = { "", "0,1", "1,", "-1", "x", "4294967296", "0-1" };
	struct gs_error err;
	uint32_t gpu;

	(void)state;
	assert_int_equal(gs_gpu_index("0", &gpu, &err), 0);
	assert_int_equal(gpu, 0);
	assert_int_equal(gs_gpu_index("15", &gpu, &err), 0);
	assert_int_equal(gpu, 15);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(gs_gpu_index(bad[i], &gpu, &err), -1);
	assert_int_equal(gs_gpu_index("0,1", &gpu, &err), -1);
	assert_non_null(strstr(err.text, "0,1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),      cmocka_unit_test(test_given),
		cmocka_unit_test(test_bad_arguments), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_corun),         cmocka_unit_test(test_period),
		cmocka_unit_test(test_priority),      cmocka_unit_test(test_gres_count),
		cmocka_unit_test(test_gres_bare),     cmocka_unit_test(test_library_path),
		cmocka_unit_test(test_socket_path),   cmocka_unit_test(test_gpu_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
