/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast the emulated device executes: a triad, in thread instructions per
 * second and SM.  The kernel's instructions are counted in its text below, so
 * the figure needs no counter in the device.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "device/driver/cuda.h"

#define STRAIGHT 19 /* instructions outside the loop */
#define LOOP 7      /* and in one turn of it */

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry triad(.param .u64 c, .param .u64 a, .param .u64 b, .param .f32 s, .param .u32 turns)\n{\n"
	".reg .pred %p; .reg .f32 %f<5>; .reg .b32 %r<8>; .reg .b64 %rd<12>;\n"
	"ld.param.u64 %rd1, [c];\nld.param.u64 %rd2, [a];\nld.param.u64 %rd3, [b];\n"
	"ld.param.f32 %f1, [s];\nld.param.u32 %r1, [turns];\n"
	"mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.s32 %r5, %r2, %r3, %r4;\n"
	"mul.wide.s32 %rd4, %r5, 4;\nadd.s64 %rd5, %rd1, %rd4;\nadd.s64 %rd6, %rd2, %rd4;\nadd.s64 %rd7, %rd3, %rd4;\n"
	"cvta.to.global.u64 %rd8, %rd5;\ncvta.to.global.u64 %rd9, %rd6;\ncvta.to.global.u64 %rd10, %rd7;\n"
	"mov.u32 %r6, 0;\nmov.f32 %f4, 0f00000000;\n"
	"again:\n"
	"ld.global.f32 %f2, [%rd9];\nld.global.f32 %f3, [%rd10];\nfma.rn.f32 %f4, %f1, %f3, %f2;\n"
	"st.global.f32 [%rd8], %f4;\nadd.s32 %r6, %r6, 1;\nsetp.lt.u32 %p, %r6, %r1;\n@%p bra again;\n"
	"ret;\n}\n";

static double seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void check(CUresult rc, const char *what)
{
	const char *name = "?";

	if (rc == CUDA_SUCCESS)
		return;
	cuGetErrorName(rc, &name);
	fprintf(stderr, "emu_bench: %s: %s\n", what, name);
	exit(1);
}
#define CHECK(call) check(call, #call)

int main(int argc, char **argv)
{
	unsigned int n = 1u << 18, rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 200, wrong = 0;
	float s = 3.0f, *host = malloc(n * sizeof(*host));
	CUdeviceptr a, b, c;
	CUcontext ctx;
	CUfunction f;
	CUmodule m;
	double t, cpu, executed;
	int sms;
	void *params[] = { &c, &a, &b, &s, &rounds };

	CHECK(cuInit(0));
	CHECK(cuCtxCreate(&ctx, NULL, 0, 0));
	CHECK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	CHECK(cuModuleLoadData(&m, ptx));
	CHECK(cuModuleGetFunction(&f, m, "triad"));
	CHECK(cuMemAlloc(&a, n * sizeof(float)));
	CHECK(cuMemAlloc(&b, n * sizeof(float)));
	CHECK(cuMemAlloc(&c, n * sizeof(float)));
	for (unsigned int i = 0; i < n; i++)
		host[i] = (float)(i % 1000);
	CHECK(cuMemcpyHtoD(a, host, n * sizeof(float)));
	CHECK(cuMemcpyHtoD(b, host, n * sizeof(float)));
	CHECK(cuMemsetD32(c, 0, n));
	CHECK(cuCtxSynchronize());
	t = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	CHECK(cuLaunchKernel(f, n / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
	CHECK(cuCtxSynchronize());
	t = seconds(CLOCK_MONOTONIC) - t;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	CHECK(cuMemcpyDtoH(host, c, n * sizeof(float)));
	for (unsigned int i = 0; i < n; i++)
		wrong += host[i] != fmaf(s, (float)(i % 1000), (float)(i % 1000));
	executed = n * (STRAIGHT + (double)LOOP * rounds) / 1e6;
	printf("triad: %.1f ms, %u wrong, %.1f M thread instructions/s on %d SMs, %.1f M/s per core (of processor time)\n",
	       t * 1e3, wrong, executed / t, sms, executed / cpu);
	free(host);
	return wrong != 0;
}
