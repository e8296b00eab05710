/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the demo programs share; see demo.h. */
#define _GNU_SOURCE
#include "demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

static const char *program;

static void usage(const char *what, const struct demo_option *options)
{
	printf("Usage: %s [OPTION]...\n%s\n\n", program, what);
	for (const struct demo_option *o = options; o->name; o++)
		printf("  --%-12s N  %s (%ld)\n", o->name, o->words, o->value);
	printf("  --help, --version\n");
}

static void set_option(struct demo_option *o, const char *text)
{
	char *end;

	errno = 0;
	o->value = text ? strtol(text, &end, 10) : 0;
	if (!text || errno || *end || o->value < o->min || o->value > o->max) {
		fprintf(stderr, "%s: --%s takes a number from %ld to %ld\n", program, o->name,
			o->min, o->max);
		exit(2);
	}
}

void demo_options(int argc, char **argv, const char *what, struct demo_option *options)
{
	program = program_invocation_short_name;
	for (int i = 1; i < argc; i++) {
		struct demo_option *o = options;

		if (strcmp(argv[i], "--help") == 0) {
			usage(what, options);
			exit(0);
		}
		if (strcmp(argv[i], "--version") == 0) {
			printf("%s %s\n", program, VERSION);
			exit(0);
		}
		while (o->name && (strncmp(argv[i], "--", 2) || strcmp(argv[i] + 2, o->name)))
			o++;
		if (!o->name) {
			fprintf(stderr, "%s: unknown option %s, try --help\n", program, argv[i]);
			exit(2);
		}
		set_option(o, argv[++i]);
	}
}

void demo_check(CUresult rc, const char *call)
{
	const char *words = NULL;

	if (rc == CUDA_SUCCESS)
		return;
	cuGetErrorString(rc, &words);
	fprintf(stderr, "%s: %s: %s (%d)\n", program, call, words ? words : "unknown error",
		(int)rc);
	exit(1);
}

CUfunction demo_start(const char *ptx, const char *name)
{
	CUdevice device;
	CUcontext ctx;
	CUmodule module;
	CUfunction f;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, device));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&f, module, name));
	return f;
}

void *demo_host(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p) {
		fprintf(stderr, "%s: no memory for %zu bytes\n", program, bytes);
		exit(1);
	}
	return p;
}

CUdeviceptr demo_memory(const void *host, size_t bytes)
{
	CUdeviceptr p;

	CHECK(cuMemAlloc(&p, bytes));
	if (host)
		CHECK(cuMemcpyHtoD(p, host, bytes));
	return p;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void demo_launch(CUfunction f, const unsigned int grid[3], const unsigned int block[3],
		 long repeats, void **params)
{
	double start = seconds();

	printf("%s: computing\n", program);
	fflush(stdout);
	for (long i = 0; i < repeats; i++)
		CHECK(cuLaunchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0,
				     NULL, params, NULL));
	CHECK(cuCtxSynchronize());
	printf("%s: %ld launches of %u x %u x %u blocks took %.1f ms\n", program, repeats, grid[0],
	       grid[1], grid[2], (seconds() - start) * 1e3);
}

int demo_verdict(size_t checked, size_t wrong)
{
	if (wrong)
		printf("%s: WRONG: %zu of %zu values differ from the CPU's\n", program, wrong,
		       checked);
	else
		printf("%s: correct: %zu values equal the CPU's\n", program, checked);
	return wrong ? 1 : 0;
}
