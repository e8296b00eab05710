/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is remembered: the trace, what a page tells, the usage. */
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

#include "config.h"
#include "gpushare/arbiter/trace.h"
#include "gpu_rig.h"
#include "sharing_rig.h"

static const struct gs_trace_record *record_of(const struct gs_trace_image *image, uint64_t id,
					       enum gs_trace_kind kind, unsigned nth)
{
	for (size_t i = 0; i < image->records; i++)
		if (image->record[i].kind == (uint32_t)kind &&
		    image->lane[image->record[i].lane].id == id && nth-- == 0)
			return &image->record[i];
	return NULL;
}

static void test_trace_tells_who_had_the_gpu(void **unused)
{
	struct gs_trace_image image = { 0 };
	const struct gs_trace_record *r;
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 1000);
	launch(high, 0, 10, 1);
	grant(1 * MS);
	agent(low);
	evicted(low, 0, 400);
	grant(60 * US);
	agent(high);
	grant(2 * MS);
	assert_int_equal(gs_gpu_trace(gpu, now, &image), 0);
	assert_int_equal(image.lanes, 2);
	r = record_of(&image, 1, GS_TRACE_SLICE, 0);
	assert_int_equal(r->from_ns, T0);
	assert_int_equal(r->to_ns, T0 + 1 * MS + 60 * US);
	r = record_of(&image, 1, GS_TRACE_EVICT, 0);
	assert_int_equal(r->from_ns, T0 + 1 * MS);
	assert_int_equal(r->to_ns, T0 + 1 * MS + 60 * US);
	r = record_of(&image, 2, GS_TRACE_WAIT, 0); /* over */
	assert_int_equal(r->to_ns - r->from_ns, 60 * US);
	r = record_of(&image, 2, GS_TRACE_SLICE, 0); /* goes on */
	assert_int_equal(r->from_ns, T0 + 1 * MS + 60 * US);
	assert_int_equal(r->to_ns, now);
	r = record_of(&image, 1, GS_TRACE_WAIT, 0); /* goes on */
	assert_int_equal(r->to_ns, now);
	assert_null(record_of(&image, 1, GS_TRACE_OVERDUE, 0));
	gs_trace_image_free(&image);
	leave(low);
	leave(high);
	/* Those who left are in it as long as there is a record of them. */
	memset(&image, 0, sizeof(image));
	assert_int_equal(gs_gpu_trace(gpu, now, &image), 0);
	assert_int_equal(image.lanes, 2);
	gs_trace_image_free(&image);
	gs_gpu_destroy(gpu);
}

/* Who has no time slice is drawn as waiting, also where the driver's time slices give its kernels a
 * part of the GPU. */
static void test_trace_shows_all_waiting(void **unused)
{
	struct gs_trace_image image = { 0 };
	struct client *low, *high;
	uint64_t drawn = 0;

	(void)unused;
	begin_sharing("frs", 0);
	low = running(1, 1, AS_IS, 0);
	high = requests(2, 10, AS_IS, 0);
	grant(US);
	agent(high);
	for (int i = 0; i < 10; i++)
		grant(10 * MS);
	assert_false(has_turn(low));
	gs_gpu_settle(gpu, now);
	assert_int_equal(gs_gpu_trace(gpu, now, &image), 0);
	for (size_t i = 0; i < image.records; i++)
		if (image.record[i].kind == GS_TRACE_WAIT &&
		    image.lane[image.record[i].lane].id == 1)
			drawn += image.record[i].to_ns - image.record[i].from_ns;
	assert_in_range(low->usage.waiting_ns, 49 * MS, 51 * MS);
	assert_in_range(drawn, 90 * MS, 100 * MS); /* from a poll on */
	gs_trace_image_free(&image);
	finish(low, 0);
	grant(MS);
	grant(MS);
	/* It ends with the kernel. */
	assert_int_equal(gs_gpu_trace(gpu, now, &image), 0);
	for (size_t i = 0; i < image.records; i++)
		assert_true(image.record[i].kind != GS_TRACE_WAIT || image.record[i].to_ns < now);
	gs_trace_image_free(&image);
	all_leave(low, high);
}

static void test_trace_is_bounded(void **unused)
{
	struct gs_trace_lane one = { .id = 1 }, two = { .id = 2 };
	struct gs_trace *trace = gs_trace_create(4);
	struct gs_traced *a = gs_trace_join(trace, &one), *b = gs_trace_join(trace, &two);
	struct gs_trace_image image = { 0 }, same;
	struct gs_error err;
	size_t size;
	char *bytes;

	(void)unused;
	for (uint64_t i = 0; i < 3; i++)
		gs_trace_add(trace, a, GS_TRACE_SLICE, i, i + 1);
	gs_trace_add(trace, NULL, GS_TRACE_SLICE, 0, 1);
	gs_trace_leave(trace, a);
	for (uint64_t i = 3; i < 10; i++)
		gs_trace_add(trace, b, GS_TRACE_SLICE, i, i + 1);
	assert_int_equal(gs_trace_image(trace, &image), 0);
	assert_int_equal(image.lanes, 1); /* a was forgotten with its last record */
	assert_int_equal(image.lane[0].id, 2);
	assert_int_equal(image.records, 4);
	assert_int_equal(image.record[0].from_ns, 6);
	assert_int_equal(image.lost, 6);
	bytes = gs_trace_pack(&image, &size);
	assert_int_equal(gs_trace_unpack(bytes, size, &same, &err), 0);
	assert_int_equal(same.records, 4);
	assert_int_equal(same.lost, 6);
	assert_memory_equal(same.lane, image.lane, sizeof(*same.lane));
	gs_trace_image_free(&same);
	assert_int_equal(gs_trace_unpack(bytes, size - 1, &same, &err), -1);
	assert_int_equal(gs_trace_unpack(bytes, 3, &same, &err), -1);
	((struct gs_trace_record *)(void *)(bytes + size))[-1].lane = 1;
	assert_int_equal(gs_trace_unpack(bytes, size, &same, &err), -1);
	free(bytes);
	gs_trace_image_free(&image);
	gs_trace_leave(trace, b);
	gs_trace_destroy(trace);
}

static void test_watch_counts_what_it_did_not_see(void **unused)
{
	struct gs_page *page = calloc(1, sizeof(*page));
	struct gs_watch w;
	struct gs_poll poll;

	(void)unused;
	assert_non_null(page);
	memset(&w, 0, sizeof(w));
	/* Launches 0..4 in slot 0, of which the last is seen as DONE. */
	gs_page_store(page->slot[0].seq, 4);
	gs_page_store(page->slot[0].alone_ns, 3000);
	gs_page_store(page->slot[0].state, GS_K_DONE);
	gs_watch_poll(&w, page, T0, &poll);
	assert_int_equal(poll.launches, 5);
	assert_int_equal(poll.unseen_ns, 3000);
	assert_int_equal(poll.found.live, 0);
	assert_int_equal(poll.nevents, 2);
	gs_watch_poll(&w, page, T0 + MS, &poll);
	assert_int_equal(poll.launches, 0);
	assert_int_equal(poll.nevents, 0);
	/* A launch in the making is not one yet. */
	gs_page_store(page->slot[0].state, GS_K_PREP);
	gs_page_store(page->slot[0].seq, 5);
	gs_watch_poll(&w, page, T0 + MS, &poll);
	assert_int_equal(poll.launches, 0);
	assert_int_equal(poll.nevents, 0);
	gs_page_store(page->slot[0].state, GS_K_READY);
	gs_watch_poll(&w, page, T0 + 2 * MS, &poll);
	assert_int_equal(poll.launches, 1);
	assert_int_equal(poll.ready, 1);
	gs_page_store(page->slot[0].state, GS_K_DONE);
	gs_watch_poll(&w, page, T0 + 5 * MS, &poll);
	assert_int_equal(poll.nevents, 1);
	assert_int_equal(poll.event[0].kind, GS_EV_FINISHED);
	assert_int_equal(poll.event[0].ns, 3 * MS);
	free(page);
}

static void test_usage_is_bounded(void **unused)
{
	struct gs_step_usage t = { 0 };
	struct gs_kernel_map map = { .slot = { 0 } };
	char name[32];

	(void)unused;
	assert_int_equal(gs_step_usage_announce(&t, &map, GS_STEP_USAGE_KERNELS_MAX, "k", 0, 0, 0),
			 -1);
	assert_null(gs_step_usage_kernel(&t, &map, GS_STEP_USAGE_KERNELS_MAX));
	assert_null(gs_step_usage_kernel(&t, &map, 3));
	for (unsigned i = 0; i < GS_STEP_USAGE_KERNELS_MAX; i++) {
		snprintf(name, sizeof(name), "kernel%u", i);
		assert_int_equal(gs_step_usage_announce(&t, &map, i, name, 1, 0, 32), 0);
	}
	assert_int_equal(gs_step_usage_announce(&t, &map, 0, "one more", 1, 0, 32), -1);
	assert_int_equal(gs_step_usage_announce(&t, &map, 5, "kernel9", 1, 0, 32), 0);
	assert_ptr_equal(gs_step_usage_kernel(&t, &map, 5), gs_step_usage_kernel(&t, &map, 9));
	gs_step_usage_kernel(&t, &map, 77)->launches = 3;
	gs_step_usage_trim(&t, 2);
	assert_int_equal(t.nkernel, 2);
	assert_string_equal(t.kernel[0].name, "kernel77");
	assert_null(gs_step_usage_kernel(&t, &map, 4000));
	for (unsigned i = 0; i < 3 * GS_STEP_USAGE_SAMPLES; i++)
		gs_step_usage_evicted(&t.evicted, (i < 2 * GS_STEP_USAGE_SAMPLES ? 1000 : 7) * US);
	gs_step_usage_quantiles(&t.evicted);
	assert_true(t.evicted.p50_us == 7.0); /* the latest only */
	gs_step_usage_fini(&t);
}

#ifndef GS_SANITIZED /* with which freed memory is kept for a while */
static long resident_mib(void)
{
	long all = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &all, &resident), 2);
	fclose(f);
	return resident * sysconf(_SC_PAGESIZE) >> 20;
}

static void announce_all(struct gs_step_usage *t)
{
	static struct gs_kernel_map map;
	char name[32];

	for (unsigned k = 0; k < GS_STEP_USAGE_KERNELS_MAX; k++) {
		snprintf(name, sizeof(name), "kernel%u", k);
		assert_int_equal(gs_step_usage_announce(t, &map, k, name, 1, 0, 32), 0);
	}
}

/* A thousand ended steps had 1.3 GB, since each trimmed list left a gap too small for the next. */
static void test_trimmed_lists_leave_no_gaps(void **unused)
{
	enum { STEPS = 60, AT_A_TIME = 10 };
	static struct gs_step_usage t[STEPS];
	void *large;
	long before;

	(void)unused;
	large = malloc(8 << 20);
	assert_non_null(large);
	free(large); /* from now on even long lists come from the heap */
	before = resident_mib();
	for (unsigned i = 0; i < STEPS; i += AT_A_TIME) {
		for (unsigned k = 0; k < AT_A_TIME; k++)
			announce_all(&t[i + k]);
		for (unsigned k = 0; k < AT_A_TIME; k++)
			gs_step_usage_trim(&t[i + k], 64);
	}
	/* Ten lists have some 12 MiB, and 64 kernels of each step 2 MiB together. */
	before = resident_mib() - before;
	print_message("%ld MiB of %d steps\n", before, STEPS);
	assert_in_range(before, 0, 25);
	for (unsigned i = 0; i < STEPS; i++)
		gs_step_usage_fini(&t[i]);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trace_tells_who_had_the_gpu),
		cmocka_unit_test(test_trace_shows_all_waiting),
		cmocka_unit_test(test_trace_is_bounded),
		cmocka_unit_test(test_watch_counts_what_it_did_not_see),
		cmocka_unit_test(test_usage_is_bounded),
#ifndef GS_SANITIZED
		cmocka_unit_test(test_trimmed_lists_leave_no_gaps),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
