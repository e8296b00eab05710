/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The deterministic device: one order, one clock; and watched words. */
#define _GNU_SOURCE
#include "emu_util.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "device/driver/emu_export.h"

#define BLOCKS 40
#define WORDS (2 * BLOCKS * 64)

/* What happens in which order and when: tickets drawn by all threads, clocks, and two streams that
 * race. */
static const char ptx[] = HEAD
	".visible .entry draw(.param .u64 o, .param .u64 c)\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;\n"
	"ld.param.u64 %rd0, [o];\nld.param.u64 %rd1, [c];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n"
	"mad.lo.u32 %r2, %r1, 64, %r0;\nmul.wide.u32 %rd2, %r2, 8;\nadd.u64 %rd2, %rd0, %rd2;\n"
	"mov.u32 %r3, 0;\nagain:\natom.global.add.u32 %r4, [%rd1], 1;\nadd.u32 %r3, %r3, 1;\n"
	"setp.lt.u32 %p, %r3, %r0;\n@%p bra again;\n"
	"mov.u32 %r5, %clock;\nst.global.v2.u32 [%rd2], {%r4, %r5};\nret;\n}\n"
	".visible .entry claim(.param .u64 c, .param .u64 limit, .param .u64 o)\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;\n"
	"ld.param.u64 %rd0, [c];\nld.param.u64 %rd1, [limit];\nld.param.u64 %rd3, [o];\n"
	"next:\nld.relaxed.gpu.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p, %r1, 0;\n@%p bra out;\n"
	"atom.global.add.u64 %rd2, [%rd0], 1;\nsetp.lt.u64 %p, %rd2, 100;\n@%p bra next;\n"
	"out:\nld.global.u64 %rd2, [%rd0];\nst.global.u64 [%rd3], %rd2;\nret;\n}\n"
	/* block 1 looks at the vectors that block 0 writes, and counts those of two writes; they
	   begin together */
	".visible .entry whole(.param .u64 v, .param .u64 o, .param .u32 n)\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;\n"
	"ld.param.u64 %rd0, [v];\nld.param.u64 %rd1, [o];\nld.param.u32 %r0, [n];\nmov.u32 %r1, 0;\nmov.u32 %r8, 0;\n"
	"atom.global.add.u32 %r2, [%rd1+4], 1;\nmeet:\nld.volatile.global.u32 %r2, [%rd1+4];\n"
	"setp.lt.u32 %p, %r2, 2;\n@%p bra meet;\n"
	"mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p, %r2, 1;\n@%p bra look;\n"
	"write:\nadd.u32 %r1, %r1, 1;\nst.volatile.global.v4.u32 [%rd0], {%r1, %r1, %r1, %r1};\n"
	"st.volatile.global.v2.u32 [%rd0+16], {%r1, %r1};\nmov.b64 %rd2, {%r1, %r1};\n"
	"st.volatile.global.v2.u64 [%rd0+32], {%rd2, %rd2};\n"
	"setp.lt.u32 %p, %r1, %r0;\n@%p bra write;\nret;\n"
	"look:\nld.volatile.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd0];\nsetp.ne.u32 %p, %r2, %r5;\n@%p add.u32 %r8, %r8, 1;\n"
	"setp.ne.u32 %p, %r2, %r3;\n@%p add.u32 %r8, %r8, 1;\nsetp.ne.u32 %p, %r3, %r4;\n@%p add.u32 %r8, %r8, 1;\n"
	"ld.volatile.global.v2.u32 {%r3, %r4}, [%rd0+16];\nsetp.ne.u32 %p, %r3, %r4;\n@%p add.u32 %r8, %r8, 1;\n"
	"ld.volatile.global.v2.u64 {%rd2, %rd3}, [%rd0+32];\nsetp.ne.u64 %p, %rd2, %rd3;\n@%p add.u32 %r8, %r8, 1;\n"
	"setp.lt.u32 %p, %r2, %r0;\n@%p bra look;\nst.global.u32 [%rd1], %r8;\nret;\n}\n";

struct image {
	uint32_t word[2][WORDS];
	float ms;
};

static void one_run(struct image *image)
{
	CUdeviceptr out[2], counter;
	CUstream stream[2];
	CUevent event[2];
	CUfunction f;

	emu_test_environment("3", "64M");
	setenv("GPUSHARE_EMU_DETERMINISTIC", "1", 1);
	emu_test_context();
	f = emu_test_kernel(ptx, "draw");
	counter = emu_test_zeroed(8);
	for (int i = 0; i < 2; i++) {
		OK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
		OK(cuEventCreate(&event[i], CU_EVENT_DEFAULT));
		out[i] = emu_test_zeroed(WORDS * 4);
	}
	OK(cuCtxSynchronize());
	OK(cuEventRecord(event[0], stream[0]));
	for (int i = 0; i < 2; i++) {
		void *params[] = { &out[i], &counter };

		OK(cuLaunchKernel(f, BLOCKS, 1, 1, 64, 1, 1, 0, stream[i], params, NULL));
	}
	OK(cuEventRecord(event[1], stream[1]));
	OK(cuCtxSynchronize());
	OK(cuEventElapsedTime(&image->ms, event[0], event[1]));
	for (int i = 0; i < 2; i++)
		OK(cuMemcpyDtoH(image->word[i], out[i], WORDS * 4));
	emu_test_cleanup();
}

/* Each run in a process of its own: the device is the process's. */
static void reproducible(void **state)
{
	struct image *image = mmap(NULL, 4 * sizeof(*image), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t tickets = 0;

	(void)state;
	assert_true(image != MAP_FAILED);
	for (int i = 0; i < 4; i++) {
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (!child) {
			one_run(&image[i]);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	for (int i = 1; i < 4; i++) {
		assert_memory_equal(image[0].word, image[i].word, sizeof(image[0].word));
		assert_true(image[0].ms == image[i].ms);
	}
	assert_true(image[0].ms > 0);
	/* the stream that was launched in first has all the lower tickets */
	for (uint32_t i = 0; i < WORDS; i += 2) {
		assert_true(image[0].word[0][i] < image[0].word[1][i]);
		tickets = image[0].word[1][i] > tickets ? image[0].word[1][i] : tickets;
	}
	/* all were drawn: 1 + 1 + 2 + ... + 63 by each block */
	assert_int_equal(tickets, 2 * BLOCKS * (1 + 63 * 64 / 2) - 1);
	munmap(image, 4 * sizeof(*image));
}

static int told;

static void tell(void *user)
{
	assert_ptr_equal(user, &told);
	__atomic_fetch_add(&told, 1, __ATOMIC_SEQ_CST);
}

static void watches(void **state)
{
	static const CUuuid id = GS_EMU_EXPORT_ID;
	CUuuid other = GS_EMU_EXPORT_ID;
	const struct gs_emu_export *e;
	CUdeviceptr counter, limit, out;
	void *params[] = { &counter, &limit, &out };
	const void *table = NULL;
	uint64_t n = 0;
	CUfunction f;

	(void)state;
	emu_test_environment("1", "64M");
	emu_test_context();
	other.bytes[3]++;
	assert_int_equal(cuGetExportTable(&table, &other), CUDA_ERROR_NOT_FOUND);
	OK(cuGetExportTable(&table, &id));
	e = table;
	assert_true(e->size >= sizeof(*e));
	f = emu_test_kernel(ptx, "claim");
	counter = emu_test_zeroed(8);
	limit = emu_test_zeroed(8);
	out = emu_test_zeroed(8);
	/* the second watch takes the first one's place */
	OK(e->watch(counter, 5, limit, 0, tell, NULL));
	for (uint64_t from = 7; from <= 20; from += 13) {
		OK(cuMemsetD32(limit, 9, 1));
		OK(e->watch(counter, from, limit, 0, tell, &told));
		OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		OK(cuMemcpyDtoH(&n, out, 8));
		assert_int_equal(n, from);
	}
	assert_int_equal(told, 2);
	/* gone once it was told: nobody stops this one */
	OK(cuMemsetD32(limit, 9, 1));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(&n, out, 8));
	assert_int_equal(n, 101);
	assert_int_equal(told, 2);
	assert_int_equal(e->watch(counter + 4, 1, limit, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(e->watch(counter, 1, 16, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(e->watch(counter, 1000, limit, 0, tell, &told));
	OK(cuMemFree(limit)); /* the watch goes with it */
	OK(cuMemFree(counter));
	emu_test_cleanup();
}

/* A vector of up to sixteen bytes is written and read at once. */
static void vectors(void **state)
{
	CUdeviceptr vector, out;
	uint32_t n = 300000, torn = 1;
	void *params[] = { &vector, &out, &n };

	(void)state;
	emu_test_environment("2", "64M");
	setenv("GPUSHARE_EMU_BLOCKS_PER_SM", "1", 1); /* a thread each */
	emu_test_context();
	vector = emu_test_zeroed(64);
	out = emu_test_zeroed(8);
	OK(cuLaunchKernel(emu_test_kernel(ptx, "whole"), 2, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(&torn, out, 4));
	assert_int_equal(torn, 0);
	emu_test_cleanup();
}

/* In a process of its own: the device is the process's, and the others' have other SMs. */
static void at_once(void **state)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		vectors(state);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	/* the last one has the device in this process */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reproducible),
		cmocka_unit_test(at_once),
		cmocka_unit_test(watches),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
