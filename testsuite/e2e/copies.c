/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * copies random SEED COUNT
 *	COUNT random programs of copies, kernels, host functions and events in two streams; after
 *	each all memory is compared with that of a model that does one thing after the other.
 * copies loop FILE KIND MIB
 *	Copies of MIB MiB to the device and back until FILE is gone; kind: pinned, pageable, sync,
 *	plane or box.  Compares what comes back; prints how many copies.
 * copies captured COUNT
 *	Copies are captured, in a stream in which one is under way, and launched as a graph.
 * copies freed COUNT
 *	Pinned memory is freed or unregistered while it is copied: the call waits for the copy.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define WORDS (256u << 10) /* of each buffer: 1 MiB */
#define BYTES (WORDS * sizeof(uint32_t))
#define STEPS 24
#define PITCH 4096u /* of planes, bytes */
#define ROWS (BYTES / PITCH)

/* add(p, n): each of n words becomes one more. */
static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
			  ".visible .entry add(.param .u64 p, .param .u32 n)\n{\n"
			  "\t.reg .pred %p;\n\t.reg .b32 %r<6>;\n\t.reg .b64 %d<4>;\n"
			  "\tld.param.u64 %d1, [p];\n\tld.param.u32 %r1, [n];\n"
			  "\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n"
			  "\tmov.u32 %r4, %tid.x;\n\tmad.lo.u32 %r2, %r2, %r3, %r4;\n"
			  "\tsetp.ge.u32 %p, %r2, %r1;\n\t@%p bra end;\n"
			  "\tmul.wide.u32 %d2, %r2, 4;\n\tadd.s64 %d3, %d1, %d2;\n"
			  "\tld.global.u32 %r5, [%d3];\n\tadd.u32 %r5, %r5, 1;\n"
			  "\tst.global.u32 [%d3], %r5;\nend:\tret;\n}\n";

static CUfunction kernel;

/* ---- random programs ------------------------------------------------------- */

/* A stream with memory of its own, and what should be in that. */
struct lane {
	CUstream stream;
	CUevent event;
	CUdeviceptr device;
	uint32_t *pinned, *pageable;
	uint32_t *is_device, *is_pinned, *is_pageable;
};

static uint64_t state;

static uint32_t below(uint32_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33) % n;
}

static void count_up(void *words)
{
	uint32_t *w = words;

	for (uint32_t i = 0; i < WORDS; i += 97)
		w[i]++;
}

static void launch_add(struct lane *l)
{
	uint32_t n = WORDS;
	void *params[] = { &l->device, &n };

	CHECK(cuLaunchKernel(kernel, WORDS / 256, 1, 1, 256, 1, 1, 0, l->stream, params, NULL));
	for (uint32_t i = 0; i < WORDS; i++)
		l->is_device[i]++;
}

/* A plane of rows of which only a part is copied, to the device or back. */
static void copy_plane(struct lane *l, int back, int waits)
{
	uint32_t x = 4 * below(PITCH / 8), y = below(ROWS / 2);
	CUDA_MEMCPY2D c = { .srcXInBytes = x,
			    .srcY = y,
			    .srcMemoryType = back ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
			    .srcHost = l->pinned,
			    .srcDevice = l->device,
			    .srcPitch = PITCH,
			    .dstXInBytes = x,
			    .dstY = y,
			    .dstMemoryType = back ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
			    .dstHost = l->pinned,
			    .dstDevice = l->device,
			    .dstPitch = PITCH,
			    .WidthInBytes = PITCH - x,
			    .Height = ROWS - y };
	char *from = (char *)(back ? l->is_device : l->is_pinned);
	char *to = (char *)(back ? l->is_pinned : l->is_device);

	if (waits) {
		CHECK(cuStreamSynchronize(l->stream));
		CHECK(cuMemcpy2D(&c));
	} else {
		CHECK(cuMemcpy2DAsync(&c, l->stream));
	}
	for (size_t r = y; r < ROWS; r++)
		memcpy(to + r * PITCH + x, from + r * PITCH + x, PITCH - x);
}

/* A box of layers of the buffer, each of a quarter of it or of a few rows. */
static void copy_box(struct lane *l, int back)
{
	uint32_t height = below(2) ? ROWS / 4 : 8, z = below(2), depth = ROWS / height - z;
	CUDA_MEMCPY3D c = { .srcZ = z,
			    .srcMemoryType = back ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
			    .srcHost = l->pinned,
			    .srcDevice = l->device,
			    .srcPitch = PITCH,
			    .srcHeight = height,
			    .dstZ = z,
			    .dstMemoryType = back ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
			    .dstHost = l->pinned,
			    .dstDevice = l->device,
			    .dstPitch = PITCH,
			    .dstHeight = height,
			    .WidthInBytes = PITCH,
			    .Height = height - 1,
			    .Depth = depth };
	char *from = (char *)(back ? l->is_device : l->is_pinned);
	char *to = (char *)(back ? l->is_pinned : l->is_device);

	CHECK(cuMemcpy3DAsync(&c, l->stream));
	for (size_t k = z; k < z + depth; k++)
		memcpy(to + k * height * PITCH, from + k * height * PITCH, (height - 1) * PITCH);
}

/* The other stream's memory becomes this one's, in the order of events. */
static void exchange(struct lane *l, struct lane *other)
{
	CHECK(cuEventRecord(other->event, other->stream));
	CHECK(cuStreamWaitEvent(l->stream, other->event, 0));
	CHECK(cuMemcpyDtoDAsync(l->device, other->device, BYTES, l->stream));
	CHECK(cuEventRecord(l->event, l->stream));
	CHECK(cuStreamWaitEvent(other->stream, l->event, 0));
	memcpy(l->is_device, other->is_device, BYTES);
}

/* To pageable memory, whose copies the call may do at once or later. */
static void copy_pageable(struct lane *l, int back)
{
	if (back) {
		CHECK(cuMemcpyDtoHAsync(l->pageable, l->device, BYTES, l->stream));
		CHECK(cuStreamSynchronize(l->stream));
		memcpy(l->is_pageable, l->is_device, BYTES);
	} else {
		CHECK(cuMemcpyHtoDAsync(l->device, l->pageable, BYTES, l->stream));
		memcpy(l->is_device, l->is_pageable, BYTES);
	}
}

static void copy_now(struct lane *l, int back)
{
	CHECK(cuStreamSynchronize(l->stream));
	if (back) {
		CHECK(cuMemcpyDtoH(l->pageable, l->device, BYTES));
		memcpy(l->is_pageable, l->is_device, BYTES);
	} else {
		CHECK(cuMemcpy(l->device, (CUdeviceptr)(uintptr_t)l->pinned, BYTES));
		memcpy(l->is_device, l->is_pinned, BYTES);
	}
}

static void copy_pinned(struct lane *l, int back)
{
	size_t words = WORDS / 4 + below(WORDS / 4 * 3),
	       from = below((uint32_t)(WORDS - words + 1));

	if (back) {
		CHECK(cuMemcpyDtoHAsync(l->pinned + from, l->device + 4 * from, 4 * words,
					l->stream));
		memcpy(l->is_pinned + from, l->is_device + from, 4 * words);
	} else {
		CHECK(cuMemcpyAsync(l->device + 4 * from,
				    (CUdeviceptr)(uintptr_t)(l->pinned + from), 4 * words,
				    l->stream));
		memcpy(l->is_device + from, l->is_pinned + from, 4 * words);
	}
}

static void one_step(struct lane *l, struct lane *other)
{
	int back = (int)below(2);

	switch (below(9)) {
	case 0:
	case 1:
		copy_pinned(l, back);
		break;
	case 2:
		copy_plane(l, back, (int)below(2));
		break;
	case 3:
		copy_box(l, back);
		break;
	case 4:
		copy_pageable(l, back);
		break;
	case 5:
		copy_now(l, back);
		break;
	case 6:
		launch_add(l);
		break;
	case 7:
		CHECK(cuLaunchHostFunc(l->stream, count_up, l->pinned));
		count_up(l->is_pinned);
		break;
	default:
		exchange(l, other);
	}
}

static void begin_lane(struct lane *l, unsigned int flags)
{
	CHECK(cuStreamCreate(&l->stream, flags));
	CHECK(cuEventCreate(&l->event, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&l->device, BYTES));
	CHECK(cuMemAllocHost((void **)&l->pinned, BYTES));
	l->pageable = malloc(BYTES);
	l->is_device = malloc(BYTES);
	l->is_pinned = malloc(BYTES);
	l->is_pageable = malloc(BYTES);
	if (!l->pageable || !l->is_device || !l->is_pinned || !l->is_pageable)
		exit(1);
	for (uint32_t i = 0; i < WORDS; i++) {
		l->pinned[i] = l->is_pinned[i] = i * 3 + below(7);
		l->pageable[i] = l->is_pageable[i] = i * 5 + below(7);
	}
	CHECK(cuMemsetD32(l->device, 4711, WORDS));
	CHECK(cuCtxSynchronize());
	for (uint32_t i = 0; i < WORDS; i++)
		l->is_device[i] = 4711;
}

static void compare(struct lane *l, uint64_t seed)
{
	uint32_t *got = malloc(BYTES);

	if (!got)
		exit(1);
	CHECK(cuMemcpyDtoH(got, l->device, BYTES));
	if (memcmp(got, l->is_device, BYTES) || memcmp(l->pinned, l->is_pinned, BYTES) ||
	    memcmp(l->pageable, l->is_pageable, BYTES)) {
		printf("NOT OK: seed %llu\n", (unsigned long long)seed);
		failures++;
	}
	free(got);
}

static void random_programs(uint64_t seed, uint64_t count)
{
	struct lane lane[2];

	begin_lane(&lane[0], CU_STREAM_NON_BLOCKING);
	begin_lane(&lane[1], CU_STREAM_DEFAULT);
	for (uint64_t i = 0; i < count && !failures; i++) {
		state = seed + i;
		for (int k = 0; k < STEPS; k++) {
			int which = (int)below(2);

			one_step(&lane[which], &lane[!which]);
		}
		CHECK(cuCtxSynchronize());
		compare(&lane[0], seed + i);
		compare(&lane[1], seed + i);
	}
	printf("%llu programs\n", (unsigned long long)count);
}

/* ---- one copy after the other ------------------------------------------------ */

static void plane_or_box(int box, CUdeviceptr d, void *h, size_t bytes, int back)
{
	CUmemorytype src = back ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	CUmemorytype dst = back ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	CUDA_MEMCPY2D plane = { .srcMemoryType = src,
				.srcHost = h,
				.srcDevice = d,
				.srcPitch = PITCH,
				.dstMemoryType = dst,
				.dstHost = h,
				.dstDevice = d,
				.dstPitch = PITCH,
				.WidthInBytes = PITCH,
				.Height = bytes / PITCH };
	CUDA_MEMCPY3D cube = { .srcMemoryType = src,
			       .srcHost = h,
			       .srcDevice = d,
			       .srcPitch = PITCH,
			       .srcHeight = 16,
			       .dstMemoryType = dst,
			       .dstHost = h,
			       .dstDevice = d,
			       .dstPitch = PITCH,
			       .dstHeight = 16,
			       .WidthInBytes = PITCH,
			       .Height = 16,
			       .Depth = bytes / PITCH / 16 };

	if (box)
		CHECK(cuMemcpy3DAsync(&cube, NULL));
	else
		CHECK(cuMemcpy2DAsync(&plane, NULL));
}

static void copy_once(const char *kind, CUdeviceptr d, void *h, size_t bytes, int back)
{
	if (strcmp(kind, "sync") == 0)
		CHECK(back ? cuMemcpyDtoH(h, d, bytes) : cuMemcpyHtoD(d, h, bytes));
	else if (strcmp(kind, "plane") == 0 || strcmp(kind, "box") == 0)
		plane_or_box(kind[0] == 'b', d, h, bytes, back);
	else
		CHECK(back ? cuMemcpyDtoHAsync(h, d, bytes, NULL) :
			     cuMemcpyHtoDAsync(d, h, bytes, NULL));
}

static void loop(const char *file, const char *kind, size_t mib)
{
	size_t bytes = mib << 20;
	int pinned = strcmp(kind, "pageable") && strcmp(kind, "sync");
	uint32_t *h = malloc(bytes);
	unsigned long long n = 0;
	CUdeviceptr d;

	if (pinned)
		CHECK(cuMemAllocHost((void **)&h, bytes));
	if (!h)
		exit(1);
	CHECK(cuMemAlloc(&d, bytes));
	do {
		h[0] = h[bytes / 4 - 1] = (uint32_t)++n;
		copy_once(kind, d, h, bytes, 0);
		CHECK(cuCtxSynchronize());
		memset(h, 0, 64);
		h[bytes / 4 - 1] = 0;
		copy_once(kind, d, h, bytes, 1);
		CHECK(cuCtxSynchronize());
		expect(h[0] == n && h[bytes / 4 - 1] == n, "what comes back is what went");
	} while (access(file, F_OK) == 0);
	printf("%llu copies\n", 2 * n);
}

/* ---- captures ---------------------------------------------------------------------- */

static void captured(unsigned long count)
{
	uint32_t *h, *back;
	CUstream stream;
	CUdeviceptr d;

	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&d, BYTES));
	CHECK(cuMemAllocHost((void **)&h, BYTES));
	CHECK(cuMemAllocHost((void **)&back, BYTES));
	for (unsigned long i = 0; i < count; i++) {
		CUgraphExec exec;
		CUgraph graph;
		size_t nodes = 0;

		CHECK(cuMemcpyHtoDAsync(d, h, BYTES, stream)); /* under way */
		CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
		CHECK(cuMemcpyHtoDAsync(d, h, BYTES, stream));
		CHECK(cuMemcpyDtoHAsync(back, d, BYTES, stream));
		CHECK(cuStreamEndCapture(stream, &graph));
		CHECK(cuGraphGetNodes(graph, NULL, &nodes));
		expect(nodes == 2, "two copies are two nodes");
		CHECK(cuGraphInstantiate(&exec, graph, 0));
		CHECK(cuStreamSynchronize(stream));
		for (uint32_t k = 0; k < WORDS; k += 64)
			h[k] = (uint32_t)i + k;
		CHECK(cuGraphLaunch(exec, stream));
		CHECK(cuStreamSynchronize(stream));
		for (uint32_t k = 0; k < WORDS; k += 64)
			failures += back[k] != (uint32_t)i + k;
		CHECK(cuGraphExecDestroy(exec));
		CHECK(cuGraphDestroy(graph));
	}
	printf("%lu times\n", count);
}

/* ---- memory that goes meanwhile ------------------------------------------------ */

static void freed(unsigned long count)
{
	uint32_t *back = malloc(BYTES);
	CUstream stream;
	CUdeviceptr d;

	if (!back)
		exit(1);
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (unsigned long i = 0; i < count && !failures; i++) {
		uint32_t *h;

		CHECK(cuMemAlloc(&d, BYTES));
		if (i % 2) {
			CHECK(cuMemAllocHost((void **)&h, BYTES));
		} else {
			h = aligned_alloc(4096, BYTES);
			CHECK(cuMemHostRegister(h, BYTES, 0));
		}
		for (uint32_t k = 0; k < WORDS; k += 64)
			h[k] = (uint32_t)i + k;
		CHECK(cuMemcpyHtoDAsync(d, h, BYTES, stream));
		if (i % 2) {
			CHECK(cuMemFreeHost(h));
		} else {
			CHECK(cuMemHostUnregister(h));
			memset(h, 0xff, BYTES);
			free(h);
		}
		CHECK(cuMemcpyDtoHAsync(back, d, BYTES, stream));
		CHECK(cuStreamSynchronize(stream));
		for (uint32_t k = 0; k < WORDS; k += 64)
			if (back[k] != (uint32_t)i + k)
				failures++;
		CHECK(cuMemFree(d));
	}
	printf("%lu times\n", count);
}

int main(int argc, char **argv)
{
	CUmodule module;

	kernel = start_with(ptx, "add", &module);
	if (argc > 3 && strcmp(argv[1], "random") == 0)
		random_programs(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
	else if (argc > 4 && strcmp(argv[1], "loop") == 0)
		loop(argv[2], argv[3], strtoul(argv[4], NULL, 10));
	else if (argc > 2 && strcmp(argv[1], "captured") == 0)
		captured(strtoul(argv[2], NULL, 10));
	else if (argc > 2 && strcmp(argv[1], "freed") == 0)
		freed(strtoul(argv[2], NULL, 10));
	else
		return 2;
	return failures != 0;
}
