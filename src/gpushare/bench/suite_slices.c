/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading, launching and comparing sliced kernels; see suite_slices.h. */
#define _GNU_SOURCE
#include "gpushare/bench/suite_slices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "device/ptx/slice.h"
#include "device/ptx/transform.h"
#include "gpushare/bench/suite_loaded.h"

#define COMPARE_BLOCKS_MAX 1024
#define COMPARE_THREADS 256

/* Adds the number of words that differ to *count. Gigabytes are compared where they are. */
static const char compare_text[] =
	".version 6.3\n.target sm_70\n.address_size 64\n\n"
	".visible .entry compare(.param .u64 a, .param .u64 b, .param .u64 words, .param .u64 count)\n"
	"{\n"
	"\t.reg .pred %p;\n\t.reg .b32 %r<6>;\n\t.reg .b64 %d<10>;\n"
	"\tld.param.u64 %d0, [a];\n\tld.param.u64 %d1, [b];\n"
	"\tld.param.u64 %d2, [words];\n\tld.param.u64 %d3, [count];\n"
	"\tmov.u32 %r0, %ctaid.x;\n\tmov.u32 %r1, %ntid.x;\n"
	"\tmov.u32 %r2, %tid.x;\n\tmov.u32 %r3, %nctaid.x;\n"
	"\tmul.wide.u32 %d4, %r0, %r1;\n\tcvt.u64.u32 %d5, %r2;\n\tadd.u64 %d4, %d4, %d5;\n"
	"\tmul.wide.u32 %d5, %r3, %r1;\n\tmov.u64 %d9, 0;\n"
	"$more:\n"
	"\tsetp.ge.u64 %p, %d4, %d2;\n\t@%p bra $end;\n"
	"\tshl.b64 %d6, %d4, 2;\n\tadd.u64 %d7, %d0, %d6;\n\tadd.u64 %d8, %d1, %d6;\n"
	"\tld.global.u32 %r4, [%d7];\n\tld.global.u32 %r5, [%d8];\n"
	"\tadd.u64 %d4, %d4, %d5;\n"
	"\tsetp.eq.u32 %p, %r4, %r5;\n\t@%p bra $more;\n"
	"\tadd.u64 %d9, %d9, 1;\n\tbra $more;\n"
	"$end:\n"
	"\tsetp.eq.u64 %p, %d9, 0;\n\t@%p ret;\n"
	"\tatom.global.add.u64 %d6, [%d3], %d9;\n\tret;\n}\n";

struct bench_slices {
	const struct bench_kernel *kernel; /* its stream */
	struct bench_suite *suite;         /* whose module has both kernels */
	size_t number;
	uint64_t size, wave;
	CUfunction sliced;
	enum ptx_reason refused;
	/* The suite's memory as loaded and as the kernel as written leaves it, once that is kept.
	 */
	CUdeviceptr before[BENCH_SUITE_ARGS_MAX], after[BENCH_SUITE_ARGS_MAX];
	int kept;
	CUmodule module;
	CUfunction compare;
	CUdeviceptr differ;
};

/* ---- loading ---------------------------------------------------------------------- */

static void forget_kept(struct bench_slices *s)
{
	for (size_t k = 0; k < BENCH_SUITE_ARGS_MAX; k++) {
		if (s->before[k])
			s->kernel->cu->cuMemFree(s->before[k]);
		if (s->after[k])
			s->kernel->cu->cuMemFree(s->after[k]);
		s->before[k] = s->after[k] = 0;
	}
	s->kept = 0;
}

void bench_slices_unload(struct bench_slices *s)
{
	if (!s)
		return;
	forget_kept(s);
	bench_suite_unload(s->suite);
	if (s->differ)
		s->kernel->cu->cuMemFree(s->differ);
	if (s->module)
		s->kernel->cu->cuModuleUnload(s->module);
	free(s);
}

/* As many blocks as the device holds at once: a wave. */
static int find_sliced(struct bench_slices *s, const char *name, struct gs_error *err)
{
	const struct bench_driver *cu = s->kernel->cu;
	const struct bench_suite_entry *e = &s->suite->entry;
	int sms = 0, blocks = 0;

	if (BENCH_CU(cu, err, cuModuleGetFunction, &s->sliced, s->suite->module, name) < 0 ||
	    BENCH_CU(cu, err, cuDeviceGetAttribute, &sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
		     s->kernel->device) < 0 ||
	    BENCH_CU(cu, err, cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, s->sliced,
		     (int)(e->bx * e->by), e->shared) < 0 ||
	    BENCH_CU(cu, err, cuModuleLoadData, &s->module, compare_text) < 0 ||
	    BENCH_CU(cu, err, cuModuleGetFunction, &s->compare, s->module, "compare") < 0 ||
	    BENCH_CU(cu, err, cuMemAlloc, &s->differ, sizeof(uint64_t)) < 0)
		return -1;
	s->wave = (uint64_t)sms * (uint64_t)blocks;
	return s->wave ? 0 : gs_fail(err, "the device has no room for a block of %s", name);
}

/* The kernel and its variant stand in the transformed text. */
static int load_both(struct bench_slices *s, const char *text, uint64_t q, struct gs_error *err)
{
	const char *kernel = bench_suite_kernel(s->number);
	struct ptx_transformed *t = ptx_transform_only(
		text, strlen(text), PTX_TRANSFORM_BIT(PTX_TRANSFORM_SLICED), 0, err);
	char name[256];
	int rc = 0, found = 0;

	if (!t)
		return -1;
	for (uint32_t i = 0; i < t->nkernel; i++)
		if (strcmp(t->kernel[i].name, kernel) == 0) {
			found = 1;
			if (t->kernel[i].transform != PTX_TRANSFORM_SLICED)
				s->refused = t->kernel[i].why_not[PTX_TRANSFORM_SLICED].reason;
		}
	if (!found)
		rc = gs_fail(err, "its PTX has no kernel %s", kernel);
	else if (s->refused == PTX_REASON_NONE) {
		snprintf(name, sizeof(name), "%s" PTX_SLICED_SUFFIX, kernel);
		s->suite = bench_suite_load_text(s->kernel->cu, t->text, s->number, q, err);
		rc = s->suite ? find_sliced(s, name, err) : -1;
	}
	ptx_transformed_free(t);
	return rc;
}

static struct bench_slices *load(const struct bench_kernel *kernel, const char *folder,
				 size_t number, uint64_t q, struct gs_error *err)
{
	struct bench_slices *s = calloc(1, sizeof(*s));
	char *text;

	if (!s) {
		gs_fail(err, "no memory");
		return NULL;
	}
	*s = (struct bench_slices) { .kernel = kernel, .number = number, .size = q };
	text = bench_suite_text(folder, bench_suite_file(number), err);
	if (text && load_both(s, text, q, err) == 0) {
		free(text);
		return s;
	}
	free(text);
	bench_slices_unload(s);
	return NULL;
}

static int have(struct bench_slices **slices, const struct bench_kernel *kernel,
		const struct bench_work *work, struct gs_error *err)
{
	struct bench_slices *s = *slices;

	if (s && s->number == work->call) {
		if (s->refused || s->size == work->tasks)
			return 0;
		forget_kept(s);
		s->size = work->tasks;
		return bench_suite_resize(s->suite, s->number, s->size, err);
	}
	bench_slices_unload(s);
	*slices = NULL;
	if (!bench_suite_kernel(work->call))
		return gs_fail(err, "no such kernel");
	*slices = load(kernel, work->folder, work->call, work->tasks, err);
	return *slices ? 0 : -1;
}

/* ---- launching -------------------------------------------------------------------- */

static uint64_t blocks_of(const struct bench_slices *s)
{
	return s->suite->entry.gx * s->suite->entry.gy;
}

/* Launch the slice that begins with block-task `base`; the last one of a grid is shorter. */
static int launch(struct bench_slices *s, uint64_t base, uint64_t blocks, struct gs_error *err)
{
	const struct bench_suite_entry *e = &s->suite->entry;
	struct gs_slice slice = gs_slice_at(base, (uint32_t)e->gx, (uint32_t)e->gy, 1);
	void *param[BENCH_SUITE_ARGS_MAX + 1];

	if (blocks > blocks_of(s) - base)
		blocks = blocks_of(s) - base;
	memcpy(param, s->suite->param, s->suite->params * sizeof(*param));
	param[s->suite->params] = &slice;
	return BENCH_CU(s->kernel->cu, err, cuLaunchKernel, s->sliced, (unsigned int)blocks, 1, 1,
			e->bx, e->by, 1, e->shared, s->kernel->stream, param, NULL);
}

static int wait_for(struct bench_slices *s, struct gs_error *err)
{
	return BENCH_CU(s->kernel->cu, err, cuStreamSynchronize, s->kernel->stream);
}

/* A slice as whoever may have to stop behind it launches it. */
static int launch_and_poll(struct bench_slices *s, struct bench_slot *slot, uint64_t base,
			   uint64_t blocks, struct gs_error *err)
{
	uint64_t n = slot->answer.launched + 1;
	struct bench_sample sample;

	sample.launch_ns = sample.release_ns = gs_clock_ns();
	if (launch(s, base, blocks, err) < 0 || wait_for(s, err) < 0)
		return -1;
	sample.finish_ns = gs_clock_ns();
	if (n < BENCH_SAMPLES_MAX) {
		slot->sample[n] = sample;
		slot->answer.launched = n;
	}
	return atomic_load(&slot->stop) ? gs_fail(err, "told to stop") : 0;
}

/* All slices of one launch, or of some evenly spaced ones, which are full. */
static int launch_slices(struct bench_slices *s, struct bench_slot *slot, uint32_t way,
			 struct gs_error *err)
{
	uint64_t grid = blocks_of(s), blocks = slot->work.slice, full;
	int rc = 0;

	if (way == BENCH_ONE_SLICE)
		blocks = grid;
	if (blocks < 1 || blocks > grid)
		return gs_fail(err, "a slice of %llu blocks", (unsigned long long)blocks);
	full = grid / blocks;
	if (way == BENCH_SOME_SLICES)
		for (uint64_t k = 0; rc == 0 && k < slot->work.launches; k++)
			rc = launch_and_poll(s, slot, k * full / slot->work.launches * blocks,
					     blocks, err);
	else
		for (uint64_t base = 0; rc == 0 && base < grid; base += blocks)
			rc = way == BENCH_WITH_CHECK ? launch_and_poll(s, slot, base, blocks, err) :
						       launch(s, base, blocks, err);
	return rc;
}

static int launch_way(struct bench_slices *s, struct bench_slot *slot, uint32_t way,
		      struct gs_error *err)
{
	struct bench_sample *whole = &slot->sample[0];
	int rc = 0;

	slot->answer.launched = 0;
	whole->launch_ns = whole->release_ns = gs_clock_ns();
	if (way == BENCH_AS_WRITTEN)
		for (uint32_t i = 0; rc == 0 && i < slot->work.launches; i++)
			rc = bench_suite_launch(s->suite, s->kernel->stream, err);
	else
		rc = launch_slices(s, slot, way, err);
	if (rc == 0)
		rc = wait_for(s, err);
	whole->finish_ns = gs_clock_ns();
	return rc;
}

/* ---- comparing -------------------------------------------------------------------- */

/* The kernel's stream does not wait for copies in the default one, so the host does. */
static int copy_all(struct bench_slices *s, const CUdeviceptr *to, const CUdeviceptr *from,
		    struct gs_error *err)
{
	const struct bench_suite_entry *e = &s->suite->entry;

	for (size_t k = 0; k < BENCH_SUITE_ARGS_MAX; k++)
		if (s->suite->memory[k] &&
		    BENCH_CU(s->kernel->cu, err, cuMemcpyDtoD, to[k], from[k], e->arg[k].bytes) < 0)
			return -1;
	return BENCH_CU(s->kernel->cu, err, cuStreamSynchronize, NULL);
}

/* Keep the memory as it is loaded, which launches have changed since, and what becomes of it. */
static int keep(struct bench_slices *s, struct bench_slot *slot, struct gs_error *err)
{
	const struct bench_driver *cu = s->kernel->cu;
	struct bench_suite *suite = s->suite;

	if (bench_suite_resize(suite, s->number, s->size, err) < 0)
		return -1;
	for (size_t k = 0; k < BENCH_SUITE_ARGS_MAX; k++) {
		uint64_t bytes = suite->entry.arg[k].bytes;

		if (suite->memory[k] && (BENCH_CU(cu, err, cuMemAlloc, &s->before[k], bytes) < 0 ||
					 BENCH_CU(cu, err, cuMemAlloc, &s->after[k], bytes) < 0))
			return -1;
	}
	slot->work.launches = 1;
	if (copy_all(s, s->before, suite->memory, err) < 0 ||
	    launch_way(s, slot, BENCH_AS_WRITTEN, err) < 0 ||
	    copy_all(s, s->after, suite->memory, err) < 0)
		return -1;
	s->kept = 1;
	return 0;
}

/* The number of words of all memory, that of the inputs as well, which differ. */
static int count_wrong(struct bench_slices *s, uint64_t *wrong, struct gs_error *err)
{
	const struct bench_driver *cu = s->kernel->cu;

	if (BENCH_CU(cu, err, cuMemsetD8, s->differ, 0, sizeof(*wrong)) < 0 ||
	    BENCH_CU(cu, err, cuStreamSynchronize, NULL) < 0)
		return -1;
	for (size_t k = 0; k < BENCH_SUITE_ARGS_MAX; k++) {
		uint64_t bytes = s->suite->entry.arg[k].bytes, words = bytes / 4;
		uint64_t blocks = (words + COMPARE_THREADS - 1) / COMPARE_THREADS;
		void *param[] = { &s->suite->memory[k], &s->after[k], &words, &s->differ };

		if (!s->suite->memory[k])
			continue;
		if (bytes % 4)
			return gs_fail(err, "%s: an argument of %llu bytes, no words",
				       s->suite->entry.kernel, (unsigned long long)bytes);
		if (BENCH_CU(cu, err, cuLaunchKernel, s->compare,
			     (unsigned int)(blocks < COMPARE_BLOCKS_MAX ? blocks :
									  COMPARE_BLOCKS_MAX),
			     1, 1, COMPARE_THREADS, 1, 1, 0, s->kernel->stream, param, NULL) < 0)
			return -1;
	}
	if (wait_for(s, err) < 0)
		return -1;
	return BENCH_CU(cu, err, cuMemcpyDtoH, wrong, s->differ, sizeof(*wrong));
}

static int compare(struct bench_slices *s, struct bench_slot *slot, uint32_t way,
		   struct gs_error *err)
{
	if (!s->kept && keep(s, slot, err) < 0)
		return -1;
	if (copy_all(s, s->suite->memory, s->before, err) < 0 || launch_way(s, slot, way, err) < 0)
		return -1;
	return count_wrong(s, &slot->answer.wrong, err);
}

int bench_slices_order(struct bench_slices **slices, const struct bench_kernel *kernel,
		       struct bench_slot *slot, struct gs_error *err)
{
	uint32_t way = slot->work.way & ~(uint32_t)BENCH_SLICES_COMPARE;
	struct bench_slices *s;

	if (have(slices, kernel, &slot->work, err) < 0)
		return -1;
	s = *slices;
	slot->answer.wave = s->wave;
	slot->answer.refused = s->refused;
	if (s->refused)
		return 0;
	return slot->work.way & BENCH_SLICES_COMPARE ? compare(s, slot, way, err) :
						       launch_way(s, slot, way, err);
}
