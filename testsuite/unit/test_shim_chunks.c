/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies while another client's want the same engine: which calls the driver gets, and the copy
 * barrier. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/base/wraps.h"
#include "device/shim/context/copy_barrier.h"
#include "shim_rig.h"

#define PUT(symbol, function) shim_slot[SHIM_FN_##symbol] = (void *)(uintptr_t)(function)
#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define CHUNK (64 * KIB)
/* What the driver says of addresses. */
#define PINNED ((char *)0x10000000)
#define GPU ((CUdeviceptr)0x20000000)
#define MANAGED ((CUdeviceptr)0x30000000)
#define PAGEABLE ((char *)0x40000000)
#define RANGE (16 * MIB)

/* What the driver was called for: "b" begun, "dN" N chunks done, "w" a wait, "cN" a copy of N KiB.
 */
static char calls[8192];
static int gpu_works;          /* what is enqueued is done at once */
static size_t next_byte;       /* where the copies so far have come to */
static int fails_after;        /* copies; -1: none does */
static CUresult batch_answer;  /* of operations on memory */
static CUresult stream_answer; /* whether anything is left in the stream */
static uint32_t open_in_driver, forced_in_driver;
static unsigned asked;           /* the driver of a stream or of an address */
static uint32_t state_in_driver; /* of the first run, while it copied last */

static void note(const char *format, unsigned long n)
{
	size_t at = strlen(calls);

	snprintf(calls + at, sizeof(calls) - at, format, n);
}

static CUresult fake_batch(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *op,
			   unsigned int flags)
{
	(void)stream, (void)flags;
	for (unsigned int i = 0; i < n && batch_answer == CUDA_SUCCESS; i++) {
		_Atomic uint32_t *at = (_Atomic uint32_t *)(uintptr_t)op[i].writeValue.address;
		/* In the view of the page that the GPU has. */
		size_t in_copies = (uintptr_t)at % 4096 - offsetof(struct gs_page, copies) % 4096;
		size_t in_run =
			(in_copies - offsetof(struct gs_copies, run)) % sizeof(struct gs_copy_run);

		if (op[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32) {
			assert_int_equal(in_copies, offsetof(struct gs_copies, open));
			assert_int_equal(op[i].waitValue.value, 1);
			note("w ", 0);
			continue;
		}
		if (in_run == offsetof(struct gs_copy_run, state))
			note("b ", 0);
		else
			note("d%lu ", op[i].writeValue.value);
		if (gpu_works)
			atomic_store(at, op[i].writeValue.value);
	}
	return batch_answer;
}

static CUresult fake_query(CUstream stream)
{
	(void)stream;
	asked++;
	return stream_answer;
}

static CUresult copied(size_t from, size_t bytes)
{
	note("c%lu ", bytes >> 10);
	state_in_driver = page->copies.run[0].state;
	assert_int_equal(from, next_byte);
	next_byte += bytes;
	return fails_after == 0 ? CUDA_ERROR_INVALID_VALUE : (fails_after--, CUDA_SUCCESS);
}

static CUresult fake_up_async(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	(void)stream;
	assert_true((const char *)src - (dst - GPU) == PINNED ||
		    (const char *)src - (dst - GPU) == PAGEABLE || dst >= MANAGED);
	return copied(dst - (dst >= MANAGED ? MANAGED : GPU), bytes);
}

static CUresult fake_up(CUdeviceptr dst, const void *src, size_t bytes)
{
	(void)src;
	return copied(dst - GPU, bytes);
}

static CUresult fake_plane(const CUDA_MEMCPY2D *p, CUstream stream)
{
	(void)stream;
	assert_true(p->srcY == p->dstY && p->srcPitch == p->WidthInBytes);
	return copied(p->srcY * p->srcPitch, p->WidthInBytes * p->Height);
}

static CUresult fake_box(const CUDA_MEMCPY3D *b, CUstream stream)
{
	(void)stream;
	return copied((b->srcZ * b->srcHeight + b->srcY) * b->srcPitch,
		      b->WidthInBytes * b->Height * b->Depth);
}

static CUresult fake_attributes(unsigned int n, CUpointer_attribute *what, void **to, CUdeviceptr p)
{
	static const CUdeviceptr starts[] = { (CUdeviceptr)0x10000000, GPU, MANAGED };
	size_t i = 0;

	asked++;
	while (i < 3 && (p < starts[i] || p - starts[i] >= RANGE))
		i++;
	for (unsigned int k = 0; k < n && i < 3; k++) {
		if (what[k] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
			*(unsigned int *)to[k] = i ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
		else if (what[k] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
			*(CUdeviceptr *)to[k] = starts[i];
		else if (what[k] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
			*(size_t *)to[k] = RANGE;
		else
			*(unsigned int *)to[k] = i == 2;
	}
	return CUDA_SUCCESS;
}

static CUresult fake_free(CUdeviceptr p)
{
	(void)p;
	open_in_driver = page->copies.open[GS_COPY_TO_DEVICE];
	forced_in_driver = page->copies.forced;
	return CUDA_SUCCESS;
}

static void expect(const char *expected)
{
	assert_string_equal(calls, expected);
	calls[0] = '\0';
	next_byte = 0;
}

static int setup(void **state)
{
	shim_rig_idle(state);
	PUT(cuStreamBatchMemOp_v2, fake_batch);
	PUT(cuStreamQuery, fake_query);
	PUT(cuMemcpyHtoDAsync_v2, fake_up_async);
	PUT(cuMemcpyHtoD_v2, fake_up);
	PUT(cuMemcpy2DAsync_v2, fake_plane);
	PUT(cuMemcpy3DAsync_v2, fake_box);
	PUT(cuPointerGetAttributes, fake_attributes);
	PUT(cuMemFreeHost, fake_free);
	gpu_works = 1;
	fails_after = -1;
	batch_answer = CUDA_SUCCESS;
	stream_answer = CUDA_SUCCESS;
	asked = 0;
	calls[0] = '\0';
	next_byte = 0;
	memset(page->copies.made, 0, sizeof(page->copies.made));
	for (int way = 0; way < GS_COPY_ENGINES; way++) {
		page->copies.rule[way] = GS_COPY_CUT;
		page->copies.chunk_kib[way] = CHUNK / KIB;
		page->copies.open[way] = 1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < GS_COPY_RUNS; i++)
		shim_copy_run_end(shim_session_peek(), i);
	return 0;
}

static CUresult up(size_t bytes)
{
	return cuMemcpyHtoDAsync_v2(GPU, PINNED, bytes, STREAM);
}

static void alone_nothing_changes(void **state)
{
	(void)state;
	page->copies.rule[GS_COPY_TO_DEVICE] = GS_COPY_FREE;
	assert_int_equal(up(MIB), CUDA_SUCCESS);
	expect("c1024 ");
	assert_int_equal(page->copies.run[0].state, GS_COPY_NONE);
}

/* Each copy is one call of the driver, and none is asked about. */
static void where_nobody_copies_the_driver_is_not_asked(void **state)
{
	uint32_t requested = page->requested;

	(void)state;
	page->copies.rule[GS_COPY_TO_DEVICE] = GS_COPY_FREE;
	up(MIB);
	expect("c1024 ");
	assert_true(asked == 0 && page->requested == requested);
	page->copies.rule[GS_COPY_TO_DEVICE] = GS_COPY_FIRST;
	up(MIB);
	expect("c1024 ");
	assert_int_equal(asked, 0);
	/* The daemon hears of it, and while the call lasts that it is under way. */
	assert_int_equal(page->requested, requested + 1);
	assert_int_equal(state_in_driver, GS_COPY_BEGUN);
	assert_int_equal(page->copies.run[0].state, GS_COPY_NONE);
	cuMemcpyHtoD_v2(GPU, PINNED, MIB);
	expect("c1024 ");
	assert_int_equal(asked, 0);
	page->copies.rule[GS_COPY_TO_DEVICE] = GS_COPY_TELL;
	up(MIB);
	assert_true(asked > 0);
	expect("b c1024 d1 ");
}

static void small_ones_pass(void **state)
{
	(void)state;
	up(63 * KIB);
	expect("c63 ");
}

static void one_that_is_not_cut_is_marked(void **state)
{
	uint32_t requested = page->requested;

	(void)state;
	up(2 * CHUNK);
	expect("b c128 d1 ");
	assert_int_equal(page->requested, requested + 1);
	page->copies.rule[GS_COPY_TO_DEVICE] = GS_COPY_TELL;
	up(MIB);
	expect("b c1024 d1 ");
}

/* The engine may be another's for a time slice of the driver: the daemon is not to hear of the copy
 * only after that. */
static void the_first_of_its_stream_has_begun_at_once(void **state)
{
	(void)state;
	gpu_works = 0;
	up(2 * CHUNK);
	expect("b c128 d1 ");
	assert_int_equal(page->copies.run[0].state, GS_COPY_BEGUN);
	stream_answer = CUDA_ERROR_NOT_READY;
	up(2 * CHUNK);
	assert_int_equal(page->copies.run[1].state, GS_COPY_ENQUEUED);
}

static void in_chunks_behind_the_barrier(void **state)
{
	(void)state;
	assert_int_equal(up(3 * CHUNK + 1024), CUDA_SUCCESS);
	/* Four of about the same size, in whole pages. */
	expect("b w c52 d1 w c52 d2 w c52 d3 w c37 d4 ");
	assert_int_equal(page->copies.made[GS_COPY_TO_DEVICE].copies, 1);
	assert_int_equal(page->copies.made[GS_COPY_TO_DEVICE].bytes, 3 * CHUNK + 1024);
}

static void whole_without_a_chunk_size(void **state)
{
	(void)state;
	page->copies.chunk_kib[GS_COPY_TO_DEVICE] = 0;
	up(MIB);
	expect("b w c1024 d1 ");
}

static void what_is_managed_or_beyond_the_end_passes(void **state)
{
	(void)state;
	cuMemcpyHtoDAsync_v2(MANAGED, PINNED, MIB, STREAM);
	expect("c1024 ");
	cuMemcpyHtoDAsync_v2(GPU, PINNED, RANGE + KIB, STREAM);
	expect("c16385 ");
}

static void pageable_and_synchronous_ones_by_the_thread(void **state)
{
	(void)state;
	cuMemcpyHtoDAsync_v2(GPU, PAGEABLE, 4 * CHUNK, STREAM);
	expect("c64 c64 c64 c64 ");
	cuMemcpyHtoD_v2(GPU, PINNED, 4 * CHUNK);
	expect("c64 c64 c64 c64 ");
	assert_int_equal(page->copies.run[0].state, GS_COPY_NONE);
}

static void *open_later(void *unused)
{
	usleep(5000);
	atomic_store(&page->copies.open[GS_COPY_TO_DEVICE], 1);
	return unused;
}

static void the_thread_waits_for_the_barrier(void **state)
{
	uint64_t t0 = gs_clock_ns();
	pthread_t other;

	(void)state;
	page->copies.open[GS_COPY_TO_DEVICE] = 0;
	assert_int_equal(pthread_create(&other, NULL, open_later, NULL), 0);
	cuMemcpyHtoD_v2(GPU, PINNED, 4 * CHUNK);
	assert_true(gs_clock_ns() - t0 >= 4 * GS_NS_PER_MS);
	pthread_join(other, NULL);
	page->copies.open[GS_COPY_TO_DEVICE] = 0; /* nobody opens it */
	expect("c64 c64 c64 c64 ");
	cuMemcpyHtoD_v2(GPU, PINNED, 3 * CHUNK);
	expect("c64 c64 c64 ");
}

static void *copy_cancelled(void *unused)
{
	pthread_cancel(pthread_self());
	cuMemcpyHtoD_v2(GPU, PINNED, 4 * CHUNK);
	return unused;
}

/* It ends once it has copied: its run would never be over. */
static void who_waits_is_cancelled(void **state)
{
	pthread_t thread;

	(void)state;
	page->copies.open[GS_COPY_TO_DEVICE] = 0;
	assert_int_equal(pthread_create(&thread, NULL, copy_cancelled, NULL), 0);
	pthread_join(thread, NULL);
	expect("c64 c64 c64 c64 ");
	assert_int_equal(page->copies.run[0].state, GS_COPY_NONE);
}

static void planes_by_rows_and_boxes_by_layers(void **state)
{
	CUDA_MEMCPY2D plane = { .srcMemoryType = CU_MEMORYTYPE_HOST,
				.srcHost = PINNED,
				.srcPitch = 16 * KIB,
				.dstMemoryType = CU_MEMORYTYPE_DEVICE,
				.dstDevice = GPU,
				.dstPitch = 16 * KIB,
				.WidthInBytes = 16 * KIB,
				.Height = 10 };
	CUDA_MEMCPY3D box = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = PINNED,
			      .srcPitch = 16 * KIB,
			      .srcHeight = 2,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = GPU,
			      .dstPitch = 16 * KIB,
			      .dstHeight = 2,
			      .WidthInBytes = 16 * KIB,
			      .Height = 2,
			      .Depth = 5 };

	(void)state;
	cuMemcpy2DAsync_v2(&plane, STREAM);
	expect("b w c64 d1 w c64 d2 w c32 d3 ");
	cuMemcpy3DAsync_v2(&box, STREAM);
	expect("b w c64 d1 w c64 d2 w c32 d3 ");
	box.srcHeight = box.dstHeight = box.Height = 6; /* a layer is larger than a chunk */
	box.Depth = 2;
	cuMemcpy3DAsync_v2(&box, STREAM);
	expect("b w c64 d1 w c32 d2 w c64 d3 w c32 d4 ");
}

static void a_chunk_that_fails_ends_it(void **state)
{
	(void)state;
	fails_after = 1;
	assert_int_equal(up(4 * CHUNK), CUDA_ERROR_INVALID_VALUE);
	expect("b w c64 d1 w c64 d4 ");
	assert_int_equal(page->copies.made[GS_COPY_TO_DEVICE].copies, 0);
}

static void a_stream_without_such_operations(void **state)
{
	(void)state;
	batch_answer = CUDA_ERROR_NOT_SUPPORTED;
	assert_int_equal(up(4 * CHUNK), CUDA_SUCCESS);
	expect("c256 ");
	assert_int_equal(page->copies.run[0].state, GS_COPY_NONE);
}

static unsigned waits_in(const char *text)
{
	unsigned n = 0;

	for (; (text = strstr(text, "w ")) != NULL; text++)
		n++;
	return n;
}

/* However much is enqueued, so many waits are in streams at a time; what comes then passes. */
static void no_more_waits_than_a_stream_takes(void **state)
{
	(void)state;
	gpu_works = 0;
	for (int i = 0; i < 20; i++) {
		next_byte = 0;
		up(RANGE / 4);
	}
	assert_int_equal(waits_in(calls), SHIM_COPY_WAITS_MAX);
	calls[0] = '\0';
	next_byte = 0;
	up(MIB);
	expect("c1024 ");
	/* One is over: there is room again. */
	atomic_store(&page->copies.run[0].done, page->copies.run[0].chunks);
	gpu_works = 1;
	up(3 * CHUNK);
	expect("b w c64 d1 w c64 d2 w c64 d3 ");
}

/* A call that waits in the driver finds the barrier open, and it stays so meanwhile. */
static void calls_that_wait_in_the_driver_open_it(void **state)
{
	(void)state;
	cuMemFreeHost(NULL);
	assert_int_equal(forced_in_driver, 0); /* nothing is behind it */
	gpu_works = 0;
	up(4 * CHUNK);
	page->copies.open[GS_COPY_TO_DEVICE] = 0;
	cuMemFreeHost(NULL);
	assert_true(forced_in_driver == 1 && open_in_driver == 1);
	assert_int_equal(page->copies.forced, 0);
	/* Its chunks are copied: nothing to open any more. */
	atomic_store(&page->copies.run[0].done, 4);
	page->copies.open[GS_COPY_TO_DEVICE] = 0;
	cuMemFreeHost(NULL);
	assert_true(forced_in_driver == 0 && open_in_driver == 0);
}

/* The agent opens what has been closed for too long. */
static void it_opens_by_itself(void **state)
{
	uint64_t t0;

	(void)state;
	gpu_works = 0;
	up(4 * CHUNK);
	t0 = gs_clock_ns();
	page->copies.open[GS_COPY_TO_DEVICE] = 0;
	EVENTUALLY(atomic_load(&page->copies.open[GS_COPY_TO_DEVICE]));
	assert_true(gs_clock_ns() - t0 >= 20 * GS_NS_PER_MS);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(alone_nothing_changes),
		CASE(where_nobody_copies_the_driver_is_not_asked),
		CASE(small_ones_pass),
		CASE(one_that_is_not_cut_is_marked),
		CASE(the_first_of_its_stream_has_begun_at_once),
		CASE(in_chunks_behind_the_barrier),
		CASE(whole_without_a_chunk_size),
		CASE(what_is_managed_or_beyond_the_end_passes),
		CASE(pageable_and_synchronous_ones_by_the_thread),
		CASE(the_thread_waits_for_the_barrier),
		CASE(who_waits_is_cancelled),
		CASE(planes_by_rows_and_boxes_by_layers),
		CASE(a_chunk_that_fails_ends_it),
		CASE(a_stream_without_such_operations),
		CASE(no_more_waits_than_a_stream_takes),
		CASE(calls_that_wait_in_the_driver_open_it),
		CASE(it_opens_by_itself),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
