/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard_run [-r RUNS] [-p PAIRS] [-k KERNEL] KERNELS.cubin [OUT.csv]: each kernel
 * natively and with each guard, never evicted and evicted at random moments, its
 * memory compared bit for bit; what the guard costs, and how soon the kernel is gone.
 * guard_run -l FILE.cubin...: does the driver take every guarded kernel of these?
 * Status 1: something was wrong; 3: a call failed; 9: a kernel did not end; 77: no such GPU.
 */
#define _GNU_SOURCE
#include "guard_run.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static struct {
	unsigned runs, pairs;
	const char *kernel;
	int load;
	FILE *csv;
	unsigned wrong;
} options = { .runs = 200, .pairs = 60 };

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *from = fopen(path, "re");
	uint8_t *data = NULL;
	long end = -1;

	if (from && fseek(from, 0, SEEK_END) == 0 && (end = ftell(from)) >= 0) {
		rewind(from);
		data = malloc((size_t)end + 1);
	}
	if (!data || fread(data, 1, (size_t)end, from) != (size_t)end) {
		printf("%s cannot be read\n", path);
		exit(2);
	}
	fclose(from);
	*size = (size_t)end;
	return data;
}

static void put(const char *line)
{
	fputs(line, stdout);
	fflush(stdout);
	if (options.csv) {
		fputs(line, options.csv);
		fflush(options.csv);
	}
}

static void put_result(const struct guarded *g, const struct result *r)
{
	char line[600];

	snprintf(line, sizeof(line),
		 "%s,%s,%llu,%u,%u,%u,%u,%u,%u,%u,%u,%.1f,%.1f,%.1f,%.4f,%.4f,%u,%.1f,%.1f,%u,%u\n",
		 g->test->name, cubin_guard_name(g->kind), (unsigned long long)test_units(g->test),
		 test_threads(g->test), 1u << g->group, r->runs, r->launches, r->evictions,
		 r->wrong, r->not_prefix, r->stuck, r->native_us, r->waves, r->block_us,
		 r->cost_p50, r->cost_mean, r->gone_count, r->gone_p50, r->gone_p99,
		 g->made.registers_before, g->made.registers);
	put(line);
	options.wrong += r->wrong + r->not_prefix + r->stuck;
}

/* As many units as begin within 20 microseconds. */
static unsigned group_of(const struct test *t, double native_us)
{
	double units = 20.0 * (double)test_units(t) / native_us;
	unsigned group = 0;

	while ((double)(2ull << group) <= units && 2ull << group <= test_units(t))
		group++;
	return group;
}

static void run_guarded(const uint8_t *image, size_t size, struct test *t,
			const struct result *native, CUdeviceptr want, enum cubin_guard kind)
{
	struct guarded g = { .test = t, .kind = kind, .want = want };
	struct result r = *native;
	struct gs_error err = { "" };
	CUmodule m;

	if (cubin_guard_kernel(image, size, t->kernel, kind, t->cluster[0] != 0, &g.made, &err) !=
	    1) {
		printf("%s gets no guard: %s\n", t->name, err.text);
		options.wrong++;
		return;
	}
	m = gpu_load(g.made.image, t->name, 0);
	if (!m) {
		options.wrong++;
		return;
	}
	MUST(cuModuleGetFunction(&g.f, m, t->kernel));
	g.group = kind == CUBIN_GUARD_MAXT ? group_of(t, r.native_us) : 0;
	step_random(&g, &r, 5, 0);
	step_random(&g, &r, options.runs, 1);
	step_cost(&g, &r, options.pairs);
	step_gone(&g, &r, options.pairs);
	put_result(&g, &r);
	MUST(cuModuleUnload(m));
	free(g.made.image);
}

static void run_tests(const char *path)
{
	size_t size;
	uint8_t *image = read_file(path, &size);
	CUmodule m = gpu_load(image, path, 1);
	CUdeviceptr want;

	MUST(cuModuleGetFunction(&gpu.fill, m, "fill"));
	MUST(cuModuleGetFunction(&gpu.differ, m, "differ"));
	tests_prepare();
	want = gpu_alloc((size_t)1 << 30);
	put("kernel,guard,units,threads,group,runs,launches,evictions,wrong,not_prefix,stuck,native_us,waves,block_us,"
	    "cost_p50,cost_mean,gone_count,gone_p50_us,gone_p99_us,registers_native,registers\n");
	for (unsigned i = 0; i < ntests; i++) {
		struct result native = { 0 };
		struct test *t = &tests[i];

		if (!t->out || (options.kernel && strcmp(options.kernel, t->name) != 0))
			continue;
		MUST(cuModuleGetFunction(&t->native, m, t->kernel));
		step_native(t, &native);
		MUST(cuMemcpyDtoDAsync(want, t->out, t->out_bytes, gpu.run));
		gpu_finish();
		for (int kind = 0; kind < CUBIN_GUARD_COUNT; kind++)
			run_guarded(image, size, t, &native, want, (enum cubin_guard)kind);
	}
	free(image);
}

/* What the driver says to each guarded kernel of a file. */
static void load_all(const char *path)
{
	size_t size;
	uint8_t *image = read_file(path, &size);
	struct gs_error err = { "" };
	struct cubin *c = cubin_open(image, size, &err);
	unsigned loaded = 0, refused = 0, left = 0;
	struct cubin_guarded made;
	struct cubin_kernel k;

	for (uint32_t i = 0; c && i < cubin_kernels(c); i++)
		for (int kind = 0; kind < 2 * CUBIN_GUARD_COUNT; kind++) {
			CUmodule m;
			CUfunction f;

			if (cubin_kernel(c, i, &k, &err) < 0 ||
			    cubin_guard_kernel(image, size, k.name, (enum cubin_guard)(kind / 2),
					       kind & 1, &made, &err) != 1) {
				left++;
				continue;
			}
			m = gpu_load(made.image, k.name, 0);
			if (m) {
				MUST(cuModuleGetFunction(&f, m, k.name));
				MUST(cuModuleUnload(m));
			}
			loaded += m != NULL;
			refused += m == NULL;
			free(made.image);
		}
	printf("%s: %u loaded, %u refused by the driver, %u not guarded%s%s\n", path, loaded,
	       refused, left, c ? "" : ": ", c ? "" : err.text);
	options.wrong += refused + !c;
	cubin_close(c);
	free(image);
}

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "k:lp:r:")) != -1) {
		switch (c) {
		case 'k':
			options.kernel = optarg;
			break;
		case 'l':
			options.load = 1;
			break;
		case 'p':
			options.pairs = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'r':
			options.runs = (unsigned)strtoul(optarg, NULL, 10);
			break;
		default:
			return 2;
		}
	}
	if (optind >= argc || !options.pairs) {
		puts("Usage: guard_run [-r RUNS] [-p PAIRS] [-k KERNEL] KERNELS.cubin [OUT.csv]\n"
		     "       guard_run -l FILE.cubin...");
		return 2;
	}
	gpu_open();
	if (options.load) {
		for (int i = optind; i < argc; i++)
			load_all(argv[i]);
	} else {
		if (optind + 1 < argc && !(options.csv = fopen(argv[optind + 1], "we"))) {
			printf("%s cannot be written\n", argv[optind + 1]);
			return 2;
		}
		run_tests(argv[optind]);
	}
	if (options.csv)
		fclose(options.csv);
	return options.wrong ? 1 : 0;
}
