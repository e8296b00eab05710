/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The speed of the transformer: MB of PTX per second of one processor, and the
 * memory it takes.  Usage: ptx_bench [FILE.ptx...]; without a file a module of
 * 250 kernels and 25 MB is made up: loads, arithmetic, branches, barriers.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "device/ptx/transform.h"

#define KERNELS 250u
#define KERNEL_BYTES 100000u
#define RUNS 3

static char *made_up(size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (!out)
		return NULL;
	fputs(".version 8.6\n.target sm_90\n.address_size 64\n", out);
	for (unsigned k = 0; k < KERNELS; k++) {
		long end = ftell(out) + (long)KERNEL_BYTES;

		fprintf(out,
			".visible .entry kernel_%u(.param .u64 p)\n{\n\t.reg .f32 %%f<9>;\n\t.reg .pred %%p<2>;\n"
			"\t.reg .b64 %%rd<9>;\n\t.reg .b32 %%r<3>;\n\tmov.u32 \t%%r1, %%ctaid.x;\n"
			"\tmov.u32 \t%%r2, %%tid.x;\n\tld.param.u64 \t%%rd1, [p];\n",
			k);
		for (unsigned i = 0; ftell(out) < end; i++) {
			fputs("\tld.global.f32 \t%f1, [%rd1+4];\n\tfma.rn.f32 \t%f2, %f1, %f1, %f2;\n"
			      "\tadd.s64 \t%rd1, %rd1, 128;\n\tst.global.f32 \t[%rd1], %f2;\n",
			      out);
			if (i % 8 == 0)
				fprintf(out,
					"\tsetp.lt.u32 \t%%p1, %%r2, %u;\n\t@%%p1 bra \t$L_%u;\n\tbar.sync \t0;\n"
					"$L_%u:\n",
					i, i, i);
		}
		fputs("\tret;\n}\n\n", out);
	}
	fclose(out);
	return text;
}

static char *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;

	if (f && getdelim(&text, &(size_t) { 0 }, 0, f) >= 0)
		*len = strlen(text);
	else
		perror(path);
	if (f)
		fclose(f);
	return text;
}

static double processor_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The best of some runs: the others are the machine's doing. */
static int measure(const char *name, const char *text, size_t len)
{
	double best = 0;
	uint32_t kernels = 0;
	size_t out = 0;

	for (unsigned i = 0; i < RUNS; i++) {
		struct gs_error err = { "" };
		double begin = processor_seconds(), seconds;
		struct ptx_transformed *t = ptx_transform(text, len, &err);

		seconds = processor_seconds() - begin;
		if (!t) {
			fprintf(stderr, "ptx_bench: %s: %s\n", name, err.text);
			return -1;
		}
		kernels = t->nkernel;
		out = t->len;
		ptx_transformed_free(t);
		if (!best || seconds < best)
			best = seconds;
	}
	printf("%s: %u kernels, %.1f MB, %.3f s of a processor, %.0f MB/s, %.1f MB out\n", name,
	       kernels, (double)len / 1e6, best, (double)len / 1e6 / best, (double)out / 1e6);
	return 0;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int status = 0;

	for (int i = 1; i < argc || i == 1; i++) {
		size_t len = 0;
		char *text = i < argc ? read_file(argv[i], &len) : made_up(&len);

		if (!text || measure(i < argc ? argv[i] : "made up", text, len) < 0)
			status = 1;
		free(text);
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%.0f MB of memory at most\n", (double)usage.ru_maxrss / 1024);
	return status;
}
