/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classes of clients on a GPU of the daemon, their policies, and policies that break their
 * contract. */
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

#include "common/log.h"
#include "gpu_rig.h"
#include "gpushare/arbiter/gpu_core.h"
#include "gpushare/sched/policy.h"

static const struct gs_sched_class classes[] = {
	{ NULL, 0, NULL },
	{ "rr", 10, "urgent" },
	{ NULL, -5, "night" },
};

static struct gs_gpu_options with_classes(const char *policy)
{
	struct gs_gpu_options o = options_of(policy);

	o.classes = classes;
	o.nclasses = 3;
	return o;
}

static void status_tells_of_the_classes(void **unused)
{
	struct gs_gpu_options o = with_classes("sjf");
	struct gs_gpu_status st;
	struct gs_error err;

	(void)unused;
	begin_with(&o);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.policy, "sjf");
	assert_int_equal(st.nclasses, 2);
	assert_string_equal(st.class[0].name, "urgent");
	assert_string_equal(st.class[0].is.policy, "rr");
	assert_true(st.class[0].is.own);
	assert_string_equal(st.class[1].name, "night");
	assert_string_equal(st.class[1].is.policy, "sjf");
	assert_false(st.class[1].is.own);
	assert_int_equal(gs_gpu_set_policy(gpu, "srt", now, &err), 0);
	assert_int_equal(gs_gpu_set_class_policy(gpu, "night", "fifo", now, &err), 0);
	assert_int_equal(gs_gpu_set_class_policy(gpu, "day", "fifo", now, &err), -1);
	assert_non_null(strstr(err.text, "no class 'day'"));
	assert_int_equal(gs_gpu_set_class_policy(gpu, "", "fifo", now, &err), -1);
	assert_int_equal(gs_gpu_set_class_policy(gpu, "night", "nosuch", now, &err), -1);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.policy, "srt");
	assert_string_equal(st.class[0].is.policy, "rr");
	assert_string_equal(st.class[1].is.policy, "fifo");
	/* A reload has them as they are in the file. */
	assert_int_equal(gs_gpu_configure(gpu, &o, now, &err), 0);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.class[1].is.policy, "sjf");
	gs_gpu_destroy(gpu);
}

static uint64_t pick_nobody(struct gs_view *view)
{
	(void)view;
	return 999;
}

/* The GPU's scheduler under a policy that breaks its contract. */
static void go_bad(const struct gs_gpu_options *o, size_t nclasses)
{
	static const struct gs_policy bad = { .name = "bad", .pick = pick_nobody };

	gs_sched_destroy(gpu->sched);
	gpu->sched = gs_sched_create_under(&bad, &o->sched, now, NULL);
	assert_non_null(gpu->sched);
	if (nclasses)
		assert_int_equal(gs_sched_set_classes(gpu->sched, classes, nclasses, now, NULL), 0);
}

static void a_broken_contract_is_logged_once(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	char path[] = "/tmp/test_gpu_classes.XXXXXX";
	struct gs_gpu_status st;
	struct client *a, *b;

	(void)unused;
	log_to(path);
	begin_with(&o);
	go_bad(&o, 0);
	a = join(1, 1);
	b = join(2, 2);
	occupy(a, 100);
	launch(b, 0, 100, 1);
	for (int i = 0; i < 20; i++)
		grant(1 * MS);
	assert_int_equal(logged(path, "gpu 0: policy bad broke its contract; fifo decides now"), 1);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.policy, "fifo");
	assert_string_equal(st.broke, "bad");
	assert_int_equal(st.faults, 1);
	/* What the administrator says is in force again, and what was is known no more but as a
	 * figure. */
	assert_int_equal(gs_gpu_set_policy(gpu, "piv", now, NULL), 0);
	grant(0);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.policy, "piv");
	assert_null(st.broke);
	assert_int_equal(st.faults, 1);
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	evicted(a, 0, 50);
	grant(50 * US);
	assert_true(has_turn(b));
	all_leave(a, b);
	log_back(path);
}

static void a_class_falls_back_alone(void **unused)
{
	struct gs_gpu_options o = with_classes("piv");
	char path[] = "/tmp/test_gpu_classes.XXXXXX";
	struct gs_gpu_status st;
	struct client *a;

	(void)unused;
	log_to(path);
	begin_with(&o);
	go_bad(&o, 3);
	a = join(1, 1);
	gs_gpu_client_class(a->gpu_client, 2);
	launch(a, 0, 100, 1);
	for (int i = 0; i < 5; i++)
		grant(1 * MS);
	assert_int_equal(logged(path, "broke its contract"), 1);
	assert_int_equal(
		logged(path, "gpu 0: class night: policy bad broke its contract; fifo decides now"),
		1);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.policy, "bad"); /* has decided nothing so far */
	assert_null(st.broke);
	assert_string_equal(st.class[1].is.broke, "bad");
	assert_int_equal(gs_gpu_set_class_policy(gpu, "night", "srt", now, NULL), 0);
	gs_gpu_status(gpu, &st);
	assert_null(st.class[1].is.broke);
	all_leave(a);
	log_back(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_tells_of_the_classes),
		cmocka_unit_test(a_broken_contract_is_logged_once),
		cmocka_unit_test(a_class_falls_back_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
