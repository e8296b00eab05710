/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading and launching kernels beside each other; see suite_corun.h. */
#define _GNU_SOURCE
#include "gpushare/bench/suite_corun.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "device/ptx/ctl.h"
#include "device/ptx/transform.h"
#include "gpushare/bench/suite_loaded.h"

/* Claims of about so much time, as under gpushare beside others. */
#define CHUNK_NS 20000
#define CHUNK_MAX 4096
/* Launches of a kernel that are queued, so that the GPU need not wait for the host in between. */
#define DEPTH 2
/* Two launches of each kernel end in a span; after so many spans it is over all the same. */
#define SPANS_MAX 20
/* In such units the GPU gives registers to a thread of a warp, and shared memory to a block (CUDA
 * C++ Programming Guide, "Technical Specifications"). */
#define REGISTER_UNIT 8
#define WARP_THREADS 32
#define SHARED_UNIT 128
/* CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK */
#define RESERVED_SHARED_PER_BLOCK ((CUdevice_attribute)111)
/* So many kernels stay loaded. */
#define KEPT 16

/* One of the kernels. */
struct corun {
	const struct bench_driver *cu;
	CUdevice device;
	struct bench_suite *suite; /* NULL: nothing is loaded here */
	uint32_t number;
	uint64_t size;
	CUstream stream;
	CUfunction variant; /* NULL: it has none */
	CUdeviceptr ctl;
	CUevent end[DEPTH]; /* behind every launch, in turns */
	uint32_t refused, fits, registers, shared;

	/* Of this order. */
	uint64_t order; /* the last one that it was in */
	uint32_t workers;
	uint64_t begun, ended; /* launches, and those whose ends were seen */
};

struct bench_coruns {
	struct bench_size size;
	uint64_t order;
	struct corun kept[KEPT];
	struct corun *of[BENCH_CORUN_MAX]; /* of this order */
};

/* ---- loading ---------------------------------------------------------------------- */

static void unload(struct corun *c)
{
	if (!c->cu)
		return;
	bench_suite_unload(c->suite);
	if (c->stream)
		c->cu->cuStreamDestroy(c->stream);
	if (c->ctl)
		c->cu->cuMemFree(c->ctl);
	for (int i = 0; i < DEPTH; i++)
		if (c->end[i])
			c->cu->cuEventDestroy(c->end[i]);
	*c = (struct corun) { 0 };
}

void bench_coruns_unload(struct bench_coruns *all)
{
	for (size_t i = 0; all && i < KEPT; i++)
		unload(&all->kept[i]);
	free(all);
}

static int attribute(const struct corun *c, CUfunction_attribute what, uint32_t *to,
		     struct gs_error *err)
{
	int value = 0;

	if (BENCH_CU(c->cu, err, cuFuncGetAttribute, &value, what, c->variant) < 0)
		return -1;
	*to = (uint32_t)value;
	return 0;
}

static uint32_t round_up(uint32_t n, uint32_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* What the driver adds to each block's shared memory; older ones add nothing. */
static uint32_t reserved_shared(const struct corun *c)
{
	int bytes = 0;

	if (c->cu->cuDeviceGetAttribute(&bytes, RESERVED_SHARED_PER_BLOCK, c->device) !=
	    CUDA_SUCCESS)
		return 0;
	return (uint32_t)bytes;
}

/* The variant, and what a worker takes. */
static int find_variant(struct corun *c, const char *name, struct gs_error *err)
{
	const struct bench_suite_entry *e = &c->suite->entry;
	int fits = 0;

	if (BENCH_CU(c->cu, err, cuModuleGetFunction, &c->variant, c->suite->module, name) < 0 ||
	    BENCH_CU(c->cu, err, cuOccupancyMaxActiveBlocksPerMultiprocessor, &fits, c->variant,
		     (int)(e->bx * e->by), e->shared) < 0 ||
	    attribute(c, CU_FUNC_ATTRIBUTE_NUM_REGS, &c->registers, err) < 0 ||
	    attribute(c, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &c->shared, err) < 0)
		return -1;
	c->fits = (uint32_t)fits;
	c->registers =
		round_up(c->registers, REGISTER_UNIT) * round_up(e->bx * e->by, WARP_THREADS);
	c->shared = round_up(c->shared + e->shared, SHARED_UNIT) + reserved_shared(c);
	return fits ? 0 : gs_fail(err, "the device has no room for a block of %s", name);
}

/* The kernel and its variant stand in the transformed text. */
static int load_both(struct corun *c, const char *text, struct gs_error *err)
{
	const char *kernel = bench_suite_kernel(c->number);
	struct ptx_transformed *t = ptx_transform_only(
		text, strlen(text), PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT), 0, err);
	char name[256];

	if (!t)
		return -1;
	for (uint32_t i = 0; i < t->nkernel; i++)
		if (strcmp(t->kernel[i].name, kernel) == 0 &&
		    t->kernel[i].transform != PTX_TRANSFORM_PERSISTENT)
			c->refused = t->kernel[i].why_not[PTX_TRANSFORM_PERSISTENT].reason;
	c->suite = bench_suite_load_text(c->cu, t->text, c->number, c->size, err);
	ptx_transformed_free(t);
	if (!c->suite || c->refused != PTX_REASON_NONE)
		return c->suite ? 0 : -1;
	snprintf(name, sizeof(name), "%s%s", kernel,
		 ptx_transform_suffix(PTX_TRANSFORM_PERSISTENT));
	return find_variant(c, name, err);
}

static int load(struct corun *c, const char *folder, struct gs_error *err)
{
	char *text = bench_suite_text(folder, bench_suite_file(c->number), err);
	int rc = text ? load_both(c, text, err) : -1;

	free(text);
	if (rc < 0 ||
	    BENCH_CU(c->cu, err, cuStreamCreate, &c->stream, CU_STREAM_NON_BLOCKING) < 0 ||
	    BENCH_CU(c->cu, err, cuMemAlloc, &c->ctl, sizeof(struct gs_ctl)) < 0)
		return -1;
	for (int i = 0; i < DEPTH; i++)
		if (BENCH_CU(c->cu, err, cuEventCreate, &c->end[i], CU_EVENT_DISABLE_TIMING) < 0)
			return -1;
	return 0;
}

/* The kernel if it is loaded and not in this order yet, else the place for it. */
static struct corun *find(struct bench_coruns *all, const struct bench_corun *wanted)
{
	struct corun *oldest = NULL;

	for (size_t i = 0; i < KEPT; i++) {
		struct corun *c = &all->kept[i];

		if (c->order == all->order)
			continue;
		if (c->suite && c->number == wanted->call && c->size == wanted->size)
			return c;
		if (!oldest || c->order < oldest->order)
			oldest = c;
	}
	return oldest;
}

static struct corun *have(struct bench_coruns *all, const struct bench_kernel *kernel,
			  const char *folder, const struct bench_corun *wanted,
			  struct gs_error *err)
{
	struct corun *c = find(all, wanted);

	if (!bench_suite_kernel(wanted->call)) {
		gs_fail(err, "no such kernel");
		return NULL;
	}
	if (!c->suite || c->number != wanted->call || c->size != wanted->size) {
		unload(c);
		c->cu = kernel->cu;
		c->device = kernel->device;
		c->number = wanted->call;
		c->size = wanted->size;
		if (load(c, folder, err) < 0) {
			unload(c);
			return NULL;
		}
	}
	c->order = all->order;
	return c;
}

/* ---- launching -------------------------------------------------------------------- */

/* The control block from which the launches begin; they leave it as it must be for the next. */
static int write_ctl(struct corun *c, uint32_t sms, uint32_t workers, struct gs_error *err)
{
	const struct bench_suite_entry *e = &c->suite->entry;
	const struct gs_ctl ctl = {
		.limit = UINT32_MAX,
		.chunk = 1,
		.chunk_max = CHUNK_MAX,
		.chunk_ns = CHUNK_NS,
		.total = e->gx * e->gy,
		.nctaid = { (uint32_t)e->gx, (uint32_t)e->gy, 1 },
		.workers = workers,
		.rearm = 1,
		.own_stay = sms,
		.stay_at = offsetof(struct gs_ctl, own_stay),
	};

	c->workers = workers;
	return BENCH_CU(c->cu, err, cuMemcpyHtoD, c->ctl, &ctl, sizeof(ctl));
}

static int launch(struct corun *c, struct gs_error *err)
{
	const struct bench_suite_entry *e = &c->suite->entry;
	void *param[BENCH_SUITE_ARGS_MAX + 1];

	if (!c->workers) {
		if (bench_suite_launch(c->suite, c->stream, err) < 0)
			return -1;
	} else {
		memcpy(param, c->suite->param, c->suite->params * sizeof(*param));
		param[c->suite->params] = &c->ctl;
		if (BENCH_CU(c->cu, err, cuLaunchKernel, c->variant, c->workers, 1, 1, e->bx, e->by,
			     1, e->shared, c->stream, param, NULL) < 0)
			return -1;
	}
	return BENCH_CU(c->cu, err, cuEventRecord, c->end[c->begun++ % DEPTH], c->stream);
}

/* Has its oldest launch ended? Then another one follows it, unless the span is over. Returns 1
 * while any is under way. */
static int go_on(struct corun *c, struct bench_corun *to, int is_over, struct gs_error *err)
{
	CUresult rc;
	uint64_t now;

	if (c->ended == c->begun)
		return 0;
	rc = c->cu->cuEventQuery(c->end[c->ended % DEPTH]);
	if (rc == CUDA_ERROR_NOT_READY)
		return 1;
	if (rc != CUDA_SUCCESS)
		return bench_driver_check(c->cu, rc, "cuEventQuery", err);
	now = gs_clock_ns();
	c->ended++;
	if (is_over)
		return 1;
	if (!to->launches++)
		to->first_ns = now;
	to->last_ns = now;
	return launch(c, err) < 0 ? -1 : 1;
}

/* How many of its launches have done nothing. The control block counts the others. */
static int count_empty(struct corun *c, struct bench_corun *to, struct gs_error *err)
{
	uint32_t done = 0;

	to->begun = c->begun;
	to->empty = 0;
	if (!c->workers)
		return 0;
	if (BENCH_CU(c->cu, err, cuMemcpyDtoH, &done, c->ctl + offsetof(struct gs_ctl, done),
		     sizeof(done)) < 0)
		return -1;
	to->empty = c->begun - done;
	return 0;
}

static int is_over(const struct bench_slot *slot, uint64_t since_ns)
{
	uint64_t spent = gs_clock_ns() - since_ns;

	if (atomic_load(&slot->stop) || spent > SPANS_MAX * slot->span_ns)
		return 1;
	for (uint32_t i = 0; i < slot->coruns; i++)
		if (slot->corun[i].launches < 2)
			return 0;
	return spent > slot->span_ns;
}

static int launch_all(struct bench_coruns *all, struct bench_slot *slot, struct gs_error *err)
{
	uint64_t since_ns = gs_clock_ns();
	int under_way = 1, over = 0;

	for (uint32_t n = 0; n < DEPTH; n++)
		for (uint32_t i = 0; i < slot->coruns; i++)
			if (launch(all->of[i], err) < 0)
				return -1;
	while (under_way) {
		under_way = 0;
		over = over || is_over(slot, since_ns);
		for (uint32_t i = 0; i < slot->coruns; i++) {
			int rc = go_on(all->of[i], &slot->corun[i], over, err);

			if (rc < 0)
				return -1;
			under_way |= rc;
		}
	}
	for (uint32_t i = 0; i < slot->coruns; i++)
		if (count_empty(all->of[i], &slot->corun[i], err) < 0)
			return -1;
	return 0;
}

static int prepare(struct bench_coruns *all, const struct bench_kernel *kernel,
		   struct bench_slot *slot, uint32_t i, struct gs_error *err)
{
	struct bench_corun *is = &slot->corun[i];
	struct corun *c = all->of[i] = have(all, kernel, slot->work.folder, is, err);

	if (!c)
		return -1;
	is->refused = c->refused;
	is->fits = c->fits;
	is->registers = c->registers;
	is->shared = c->shared;
	is->threads = c->suite->entry.bx * c->suite->entry.by;
	is->launches = is->begun = is->empty = is->first_ns = is->last_ns = 0;
	c->begun = c->ended = 0;
	if (!is->workers) {
		c->workers = 0;
		return 0;
	}
	if (c->refused)
		return gs_fail(err, "%s has no persistent variant", bench_suite_kernel(c->number));
	return write_ctl(c, is->sms, is->workers * all->size.sms, err);
}

static int find_size(struct bench_size *to, const struct bench_kernel *kernel, struct gs_error *err)
{
	const struct {
		CUdevice_attribute what;
		uint32_t *to;
	} all[] = {
		{ CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &to->sms },
		{ CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &to->registers },
		{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &to->shared },
		{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &to->threads },
		{ CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &to->blocks },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		int value = 0;

		if (BENCH_CU(kernel->cu, err, cuDeviceGetAttribute, &value, all[i].what,
			     kernel->device) < 0)
			return -1;
		*all[i].to = (uint32_t)value;
	}
	return 0;
}

static struct bench_coruns *begin(const struct bench_kernel *kernel, struct gs_error *err)
{
	struct bench_coruns *all = calloc(1, sizeof(*all));

	if (!all) {
		gs_fail(err, "no memory");
		return NULL;
	}
	if (find_size(&all->size, kernel, err) == 0)
		return all;
	free(all);
	return NULL;
}

int bench_coruns_order(struct bench_coruns **coruns, const struct bench_kernel *kernel,
		       struct bench_slot *slot, struct gs_error *err)
{
	if (slot->coruns < 1 || slot->coruns > BENCH_CORUN_MAX)
		return gs_fail(err, "%u kernels beside each other", slot->coruns);
	if (!*coruns)
		*coruns = begin(kernel, err);
	if (!*coruns)
		return -1;
	(*coruns)->order++;
	slot->answer.size = (*coruns)->size;
	for (uint32_t i = 0; i < slot->coruns; i++)
		if (prepare(*coruns, kernel, slot, i, err) < 0)
			return -1;
	if (BENCH_CU(kernel->cu, err, cuStreamSynchronize, NULL) < 0)
		return -1;
	return launch_all(*coruns, slot, err);
}
