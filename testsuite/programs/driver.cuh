/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver API for the programs that use it, found as programs do that were not linked with it. */
#ifndef GPUSHARE_PROGRAMS_DRIVER_CUH
#define GPUSHARE_PROGRAMS_DRIVER_CUH

#include <cuda.h>
#include <dlfcn.h>

#include "common.cuh"

static inline void *driver_symbol(const char *name)
{
	static void *handle;
	void *p;

	if (!handle)
		handle = dlopen("libcuda.so.1", RTLD_NOW);
	p = handle ? dlsym(handle, name) : NULL;
	if (!p) {
		printf("libcuda.so.1 has no %s\n", name);
		exit(1);
	}
	return p;
}

#define DRIVER_NAME_(x) #x
#define DRIVER_NAME(x) DRIVER_NAME_(x)
#define DRIVER(fn) ((decltype(&fn))driver_symbol(DRIVER_NAME(fn)))
#define CU(call) \
	do { \
		CUresult rc_ = (call); \
		if (rc_ != CUDA_SUCCESS) { \
			printf("line %d: %s: %d\n", __LINE__, #call, (int)rc_); \
			exit(1); \
		} \
	} while (0)

/* linger_start() for a module whose kernel does what linger() does for linger_ns in each block. */
static inline void linger_module(CUmodule m, unsigned int grid, unsigned int threads)
{
	unsigned int ns = linger_us() * 1000u, fit;
	int sms, blocks, most;
	CUdeviceptr at;

	if (!ns)
		return;
	CU(DRIVER(cuDeviceGetAttribute)(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	CU(DRIVER(cuDeviceGetAttribute)(&blocks, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 0));
	CU(DRIVER(cuDeviceGetAttribute)(&most, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
	fit = most / threads < (unsigned int)blocks ? most / threads : blocks;
	fit *= sms;
	ns /= (grid + fit - 1) / fit;
	CU(DRIVER(cuModuleGetGlobal)(&at, NULL, m, "linger_ns"));
	CU(DRIVER(cuMemcpyHtoD)(at, &ns, 4));
	CU(DRIVER(cuCtxSynchronize)());
}

/* out[i] = in[i] * factor + i, for i below n, after linger_ns; nvcc's PTX for this, written by hand. */
static const char affine_ptx[] =
	".version 7.0\n.target sm_50\n.address_size 64\n"
	".visible .global .align 4 .u32 linger_ns;\n"
	".visible .entry affine(.param .u64 out, .param .u64 in, .param .u32 factor, .param .u32 n)\n"
	"{\n"
	"\t.reg .pred %p<4>;\n\t.reg .b32 %r<10>;\n\t.reg .b64 %rd<11>;\n"
	"\tld.global.u32 %r8, [linger_ns];\n\tcvt.u64.u32 %rd8, %r8;\n"
	"\tmov.u64 %rd9, %globaltimer;\n\tmov.u32 %r9, 0;\n"
	"LINGER:\n\tsetp.ge.u32 %p2, %r9, %r8;\n\t@%p2 bra WORK;\n\tadd.u32 %r9, %r9, 1;\n"
	"\tmov.u64 %rd10, %globaltimer;\n\tsub.u64 %rd10, %rd10, %rd9;\n"
	"\tsetp.lt.u64 %p3, %rd10, %rd8;\n\t@%p3 bra LINGER;\nWORK:\n"
	"\tld.param.u64 %rd1, [out];\n\tld.param.u64 %rd2, [in];\n"
	"\tld.param.u32 %r1, [factor];\n\tld.param.u32 %r2, [n];\n"
	"\tmov.u32 %r3, %ctaid.x;\n\tmov.u32 %r4, %ntid.x;\n\tmov.u32 %r5, %tid.x;\n"
	"\tmad.lo.s32 %r6, %r3, %r4, %r5;\n"
	"\tsetp.ge.u32 %p1, %r6, %r2;\n\t@%p1 bra DONE;\n"
	"\tcvta.to.global.u64 %rd3, %rd1;\n\tcvta.to.global.u64 %rd4, %rd2;\n"
	"\tmul.wide.u32 %rd5, %r6, 4;\n\tadd.s64 %rd6, %rd4, %rd5;\n\tadd.s64 %rd7, %rd3, %rd5;\n"
	"\tld.global.u32 %r7, [%rd6];\n\tmad.lo.s32 %r8, %r7, %r1, %r6;\n\tst.global.u32 [%rd7], %r8;\n"
	"DONE:\n\tret;\n}\n";

#endif
