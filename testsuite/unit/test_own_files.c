/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that gpushared makes in a folder where others may make some as well: it neither follows nor
 * fills what they have put there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/own_file.h"
#include "gpushare/daemon/base/user_key.h"
#include "gpushare/daemon/report/new_file.h"

static char folder[64];
static struct gs_error err;

static uint64_t now = GS_NS_PER_S;

uint64_t gs_clock_ns(void)
{
	return now;
}

uint64_t gs_thread_clock_ns(void)
{
	return now;
}

static const char *at(const char *name)
{
	static char path[2][128];
	static int i;

	snprintf(path[i ^= 1], sizeof(path[0]), "%s/%s", folder, name);
	return path[i];
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int has(const char *name, const char *text)
{
	char got[64] = "";
	FILE *f = fopen(at(name), "r");

	if (!f || !fgets(got, sizeof(got), f))
		got[0] = '\0';
	if (f)
		fclose(f);
	return strcmp(got, text) == 0;
}

static int setup(void **unused)
{
	(void)unused;
	strcpy(folder, "test_own_files.XXXXXX");
	assert_non_null(mkdtemp(folder));
	put("precious", "precious");
	return 0;
}

static int teardown(void **unused)
{
	static const char *const names[] = { "precious", "report", "report.new", "sock.key",
					     "log" };

	(void)unused;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove(at(names[i]));
	return rmdir(folder);
}

static void a_report_fills_no_link(void **unused)
{
	(void)unused;
	assert_int_equal(link(at("precious"), at("report.new")), 0);
	assert_int_equal(gs_new_file(at("report"), "new", &err), 0);
	assert_true(has("precious", "precious") && has("report", "new"));
	assert_int_equal(symlink("precious", at("report.new")), 0);
	assert_int_equal(gs_new_file(at("report"), "newer", &err), 0);
	assert_true(has("precious", "precious") && has("report", "newer"));
	assert_int_equal(mkfifo(at("report.new"), 0600),
			 0); /* nobody reads it: no waiting for that */
	assert_int_equal(gs_new_file(at("report"), "newer", &err), 0);
	remove(at("report"));
	assert_int_equal(symlink("precious", at("report")), 0);
	assert_int_equal(gs_new_file(at("report"), "newest", &err), 0);
	assert_true(has("precious", "precious") && has("report", "newest"));
}

static void refused(void)
{
	err.text[0] = '\0';
	assert_int_equal(gs_user_key_init(at("sock"), &err), -1);
	assert_non_null(strstr(err.text, "sock.key"));
	assert_int_equal(unlink(at("sock.key")), 0);
}

static void the_secret_is_nobody_elses(void **unused)
{
	uint64_t key;

	(void)unused;
	assert_int_equal(gs_user_key_init(at("sock"), &err), 0);
	key = gs_user_key(1000);
	assert_int_equal(gs_user_key_init(at("sock"), &err), 0);
	assert_true(gs_user_key(1000) == key && gs_user_key(1001) != key);
	assert_int_equal(chmod(at("sock.key"), 0644), 0);
	refused();
	assert_int_equal(link(at("precious"), at("sock.key")), 0);
	assert_int_equal(chmod(at("precious"), 0600), 0);
	refused();
	assert_int_equal(symlink("precious", at("sock.key")), 0);
	refused();
	assert_int_equal(mkfifo(at("sock.key"), 0600), 0);
	refused();
	assert_true(has("precious", "precious"));
	if (geteuid() == 0) {
		assert_int_equal(gs_user_key_init(at("sock"), &err), 0);
		assert_int_equal(chown(at("sock.key"), 65534, 65534), 0);
		refused();
	}
	assert_int_equal(gs_user_key_init(at("sock"), &err), 0);
}

/* How many lines does the log get if the file is written, in vain, so often? */
static int lines_of(int times)
{
	FILE *f;
	int n = 0, c;

	put("log", "");
	assert_int_equal(gs_log_open("test", at("log"), GS_LOG_INFO), 0);
	for (int i = 0; i < times; i++) {
		f = gs_own_file_begin(at("report"));
		assert_int_equal(f ? gs_own_file_end(f, at("report"), 0) : -1, -1);
	}
	gs_log_close();
	f = fopen(at("log"), "r");
	assert_non_null(f);
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static void a_reason_is_logged_once_a_minute(void **unused)
{
	(void)unused;
	assert_int_equal(mkdir(at("report"), 0700), 0); /* no file can take its place */
	assert_int_equal(lines_of(100), 1);
	now += 59 * GS_NS_PER_S;
	assert_int_equal(lines_of(100), 0);
	now += GS_NS_PER_S;
	assert_int_equal(lines_of(100), 1);

	/* another reason, and the first one once more */
	assert_int_equal(mkdir(at("report.new"), 0700), 0);
	assert_int_equal(lines_of(100), 1);
	assert_int_equal(rmdir(at("report.new")), 0);
	assert_int_equal(lines_of(100), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_report_fills_no_link, setup, teardown),
		cmocka_unit_test_setup_teardown(the_secret_is_nobody_elses, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reason_is_logged_once_a_minute, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
