/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Short slices: asked for as an ordinary user may, and nothing else of the thread changes. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/sched/types.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/slice.h"

/* The least nice that there is. */
#define NICE_END 19

static struct sched_attr own(void)
{
	struct sched_attr attr = { 0 };

	assert_int_equal(syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0), 0);
	return attr;
}

/* Linux 6.12 takes notice. */
static int kernel_has_slices(void)
{
	struct utsname name;
	unsigned major, minor;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 12));
}

static void test_nothing_else_changes(void **unused)
{
	struct sched_attr before, after;
	int nice = getpriority(PRIO_PROCESS, 0);

	(void)unused;
	if (nice < NICE_END) /* an ordinary user may not come back from where we were started */
		nice++;
	assert_int_equal(setpriority(PRIO_PROCESS, 0, nice), 0);
	before = own();
	assert_int_equal(gs_slice_short(), 0);
	after = own();
	assert_int_equal(after.sched_policy, before.sched_policy);
	assert_int_equal(after.sched_flags, before.sched_flags);
	assert_int_equal(after.sched_nice, nice);
}

static void test_slices_are_short(void **unused)
{
	(void)unused;
	if (!kernel_has_slices()) {
		print_message("skipped: this kernel has no slices of one's own (Linux 6.12)\n");
		skip();
	}
	assert_int_equal(gs_slice_short(), 0);
	assert_int_equal(own().sched_runtime, 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_else_changes),
		cmocka_unit_test(test_slices_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
