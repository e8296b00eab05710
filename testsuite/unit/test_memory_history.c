/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What earlier runs took, and recognising the same program. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/program.h"
#include "gpushare/daemon/memory/memory_history.h"

#define MIB (UINT64_C(1) << 20)

static void the_most_of_all_runs(void **state)
{
	struct gs_peaks *p = gs_peaks_create();

	(void)state;
	assert_int_equal(gs_peaks_find(p, "ann", 7), 0);
	assert_int_equal(gs_peaks_estimate(p, "ann", 7, 10, 1000 * MIB), 0);
	gs_peaks_note(p, "ann", 7, 100 * MIB);
	gs_peaks_note(p, "ann", 7, 50 * MIB);
	gs_peaks_note(p, "ann", 8, 200 * MIB);
	gs_peaks_note(p, "ann", 0, 999 * MIB); /* nobody knows which program that was */
	gs_peaks_note(p, "ann", 9, 0);         /* it took nothing: no estimate */
	assert_int_equal(gs_peaks_find(p, "ann", 7), 100 * MIB);
	assert_int_equal(gs_peaks_find(p, "ann", 0), 0);
	assert_int_equal(gs_peaks_find(p, "ann", 9), 0);
	assert_int_equal(gs_peaks_estimate(p, "ann", 7, 10, 1000 * MIB), 110 * MIB);
	assert_int_equal(gs_peaks_estimate(p, "ann", 7, 0, 1000 * MIB), 100 * MIB);
	assert_int_equal(gs_peaks_estimate(p, "ann", 7, 1, 1000 * MIB), 101 * MIB);
	gs_peaks_note(p, "ann", 10, 1);
	assert_int_equal(gs_peaks_estimate(p, "ann", 10, 10, 1000 * MIB), MIB);
	assert_int_equal(gs_peaks_estimate(p, "ann", 8, 1000, 1000 * MIB), 1000 * MIB);
	gs_peaks_destroy(p);
}

static void the_oldest_are_forgotten(void **state)
{
	struct gs_peaks *p = gs_peaks_create();

	(void)state;
	for (uint64_t key = 1; key <= GS_PEAKS_MAX + 3; key++)
		gs_peaks_note(p, "ann", key, key * MIB);
	assert_int_equal(gs_peaks_find(p, "ann", 3), 0);
	assert_int_equal(gs_peaks_find(p, "ann", 4), 4 * MIB);
	assert_int_equal(gs_peaks_find(p, "ann", GS_PEAKS_MAX + 3), (GS_PEAKS_MAX + 3) * MIB);
	gs_peaks_destroy(p);
}

/* By 8,300 programs of another's a user's program was forgotten, and got memory by its shares. */
static void nobody_forgets_anothers(void **state)
{
	struct gs_peaks *p = gs_peaks_create();

	(void)state;
	gs_peaks_note(p, "bob", 1, 100 * MIB);
	for (uint64_t key = 1; key <= 2 * GS_PEAKS_MAX; key++)
		gs_peaks_note(p, "ann", key, MIB);
	assert_int_equal(gs_peaks_find(p, "bob", 1), 100 * MIB);
	assert_int_equal(gs_peaks_find(p, "ann", GS_PEAKS_MAX + 1), 0);
	assert_int_equal(gs_peaks_find(p, "ann", GS_PEAKS_MAX + 2), MIB);
	/* And each has room for as many as all others. */
	for (uint64_t key = 1; key <= 2 * GS_PEAKS_MAX; key++)
		gs_peaks_note(p, "bob", key, 2 * MIB);
	assert_int_equal(gs_peaks_find(p, "bob", 3 * GS_PEAKS_MAX / 2 + 1), 2 * MIB);
	assert_int_equal(gs_peaks_find(p, "ann", 3 * GS_PEAKS_MAX / 2 + 1), MIB);
	gs_peaks_destroy(p);
}

/* Who makes a program with the key of another's, by Slurm or not, changes nothing of the other's.
 */
static void a_key_is_its_users(void **state)
{
	struct gs_peaks *p = gs_peaks_create();

	(void)state;
	gs_peaks_note(p, "bob", 7, 100 * MIB);
	gs_peaks_note(p, "ann", 7, 900 * MIB);
	assert_int_equal(gs_peaks_find(p, "bob", 7), 100 * MIB);
	assert_int_equal(gs_peaks_find(p, "ann", 7), 900 * MIB);
	assert_int_equal(gs_peaks_find(p, "eve", 7), 0);
	gs_peaks_destroy(p);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void the_same_program(void **state)
{
	char a[] = "/tmp/gs-program-XXXXXX", b[] = "/tmp/gs-program-XXXXXX";
	char *one[] = { a, "x", NULL }, *other[] = { b, "x", NULL }, *args[] = { a, "y", NULL };
	char *gone[] = { "/nonexistent/program", NULL }, *joined[] = { a, "x", "", NULL };
	uint64_t key;

	(void)state;
	close(mkstemp(a));
	close(mkstemp(b));
	write_file(a, "the program");
	write_file(b, "the program");
	key = gs_program_key(1000, 2, one);
	assert_int_not_equal(key, 0);
	assert_int_equal(gs_program_key(1000, 2, one), key);
	assert_int_equal(gs_program_key(1000, 2, other), key); /* wherever it is */
	assert_int_not_equal(gs_program_key(1001, 2, one), key);
	assert_int_not_equal(gs_program_key(1000, 2, args), key);
	assert_int_not_equal(gs_program_key(1000, 3, joined), key);
	write_file(b, "the Program");
	assert_int_not_equal(gs_program_key(1000, 2, other), key);
	assert_int_not_equal(gs_program_key(1000, 1, gone), 0);
	assert_int_not_equal(gs_program_key(1000, 0, gone), 0);
	unlink(a);
	unlink(b);
}

/* Who opens a device uses it. */
static void only_files_are_opened(void **state)
{
	char dir[] = "/tmp/gs-program-XXXXXX", path[64], event[4096];
	int seen = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char *argv[] = { path, NULL };

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0700), 0);
	assert_true(inotify_add_watch(seen, path, IN_OPEN) >= 0);
	assert_int_not_equal(gs_program_key(1000, 1, argv), 0);
	assert_int_equal(read(seen, event, sizeof(event)), -1);
	close(seen);
	unlink(path);
	rmdir(dir);
}

/* What the user cannot read counts by its name; what the user can, by what is in it. */
static void root_reads_as_the_user(void **state)
{
	const struct gs_program_user self = { geteuid(), getegid(), NULL, 0 },
				     nobody = { 65534, 65534, NULL, 0 };
	char a[] = "/tmp/gs-program-XXXXXX";
	char *argv[] = { a, NULL };
	uint64_t by_name, by_content;

	(void)state;
	close(mkstemp(a));
	assert_int_equal(unlink(a), 0);
	by_name = gs_program_key(65534, 1, argv);
	write_file(a, "the program");
	assert_int_equal(chmod(a, 0600), 0);
	by_content = gs_program_key(65534, 1, argv);
	assert_int_not_equal(by_name, by_content);
	if (geteuid() == 0) {
		assert_int_equal(gs_program_key_as(&nobody, 1, argv), by_name);
		assert_int_equal(chmod(a, 0644), 0);
		assert_int_equal(gs_program_key_as(&nobody, 1, argv), by_content);
		assert_int_equal(gs_program_key_as(&self, 1, argv), gs_program_key(0, 1, argv));
	} else { /* who is not root cannot be somebody else */
		assert_int_equal(gs_program_key_as(&nobody, 1, argv), by_name);
	}
	unlink(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_of_all_runs),
		cmocka_unit_test(the_oldest_are_forgotten),
		cmocka_unit_test(nobody_forgets_anothers),
		cmocka_unit_test(a_key_is_its_users),
		cmocka_unit_test(the_same_program),
		cmocka_unit_test(only_files_are_opened),
		cmocka_unit_test(root_reads_as_the_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
