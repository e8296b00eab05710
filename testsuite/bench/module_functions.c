/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * module_functions DRIVER: what the driver lists of a module of one kernel, by its documented calls
 * and by the table of which cuFFT 12 asks (entry 7).  Prints the same natively and under gpushare,
 * and the seconds that loading and listing took last.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char text[] = ".version 7.8\n.target sm_70\n.address_size 64\n"
			   ".visible .entry only(.param .u64 p)\n{\n"
			   "\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n"
			   "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %ctaid.x;\n"
			   "\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
			   "\tst.global.u32 [%rd3], %r1;\n\tret;\n}\n";

typedef int each_fn(CUcontext ctx, CUmodule module, void (*visit)(void *user, CUfunction f),
		    void *user);
#define EACH_FUNCTION 7

static void *driver;

static void *get(const char *name)
{
	void *p = dlsym(driver, name);

	if (!p) {
		fprintf(stderr, "module_functions: the driver has no %s\n", name);
		exit(1);
	}
	return p;
}
#define TEXT_OF(name) #name
#define SYMBOL(name) TEXT_OF(name)
#define CALL(name) ((__typeof__(&name))(uintptr_t)get(SYMBOL(name)))
#define CHECK(call) \
	do { \
		CUresult rc_ = (call); \
		if (rc_ != CUDA_SUCCESS) { \
			printf("%s: %d\n", #call, (int)rc_); \
			exit(1); \
		} \
	} while (0)

static void say(void *user, CUfunction f)
{
	const char *name = "?";

	CALL(cuFuncGetName)(&name, f);
	printf("%s %s\n", (const char *)user, name);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void by_table(CUcontext ctx, CUmodule module)
{
	static const unsigned char functions[16] = {
		0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d,
		0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99, 0x1e
	};
	const void *table = NULL;
	each_fn *each;
	CUuuid id;

	memcpy(&id, functions, sizeof(id));
	if (CALL(cuGetExportTable)(&table, &id) != CUDA_SUCCESS || !table ||
	    *(const size_t *)table < (EACH_FUNCTION + 1) * sizeof(each)) {
		puts("the driver has no such table");
		return;
	}
	memcpy(&each, (const char *)table + EACH_FUNCTION * sizeof(each), sizeof(each));
	printf("by table %d\n", each(ctx, module, say, (void *)(uintptr_t) "by table"));
}

int main(int argc, char **argv)
{
	CUfunction f[4] = { NULL };
	CUcontext ctx;
	CUmodule module;
	CUdevice device;
	unsigned int n = 0;
	double from;

	driver = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!driver) {
		fprintf(stderr, "usage: module_functions DRIVER\n");
		return 2;
	}
	CHECK(CALL(cuInit)(0));
	CHECK(CALL(cuDeviceGet)(&device, 0));
	CHECK(CALL(cuDevicePrimaryCtxRetain)(&ctx, device));
	CHECK(CALL(cuCtxSetCurrent)(ctx));
	from = now();
	CHECK(CALL(cuModuleLoadData)(&module, text));
	CHECK(CALL(cuModuleGetFunctionCount)(&n, module));
	printf("counted %u\n", n);
	CHECK(CALL(cuModuleEnumerateFunctions)(f, 4, module));
	for (int i = 0; i < 4 && f[i]; i++)
		say((void *)(uintptr_t) "listed", f[i]);
	by_table(ctx, module);
	printf("%.4f\n", now() - from);
	return 0;
}
