/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files: what comes back, and what is refused with which reason. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/read_file.h"

/* A new file with these bytes, of which the caller removes the path. */
static void make(char path[], const char *bytes, size_t n)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static void refused(const char *path, size_t most, const char *reason)
{
	struct gs_error err = { "" };
	size_t len;

	assert_null(gs_read_file(path, most, &len, &err));
	assert_ptr_equal(strstr(err.text, path), err.text);
	if (!strstr(err.text, reason))
		fail_msg("'%s' does not say '%s'", err.text, reason);
}

static void a_file_comes_whole(void **state)
{
	static const char bytes[] = "a line\n\0behind a NUL";
	char path[] = "/tmp/test_read_file.XXXXXX";
	size_t len = 0;
	char *text;

	(void)state;
	make(path, bytes, sizeof(bytes));
	text = gs_read_file(path, sizeof(bytes), &len, NULL);
	assert_non_null(text);
	assert_int_equal(len, sizeof(bytes));
	assert_memory_equal(text, bytes, sizeof(bytes));
	assert_int_equal(text[len], '\0');
	free(text);
	refused(path, sizeof(bytes) - 1, ": larger than 20 bytes");
	unlink(path);
}

static void an_empty_file_is_empty_text(void **state)
{
	size_t len = 1;
	char *text = gs_read_file("/dev/null", 0, &len, NULL);

	(void)state;
	assert_non_null(text);
	assert_int_equal(len, 0);
	assert_int_equal(*text, '\0');
	free(text);
}

/* Neither has a length that is known before it is read. */
static void what_is_no_regular_file_ends_at_the_limit(void **state)
{
	(void)state;
	refused("/dev/zero", 100000, ": larger than 100000 bytes");
	refused("/tmp", 100, ": cannot read: Is a directory");
	refused("/nonexistent/file", 100, ": cannot open: No such file");
}

static void a_pipe_comes_in_pieces(void **state)
{
	FILE *from = popen("for i in $(seq 9000); do echo $i; done", "re");
	size_t len = 0;
	char *text;

	(void)state;
	assert_non_null(from);
	text = gs_read_stream(from, "the pipe", 1 << 20, &len, NULL);
	assert_non_null(text);
	assert_int_equal(len, 9 * 2 + 90 * 3 + 900 * 4 + 8001 * 5);
	assert_string_equal(text + len - 10, "8999\n9000\n");
	free(text);
	assert_int_equal(pclose(from), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_comes_whole),
		cmocka_unit_test(an_empty_file_is_empty_text),
		cmocka_unit_test(what_is_no_regular_file_ends_at_the_limit),
		cmocka_unit_test(a_pipe_comes_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
