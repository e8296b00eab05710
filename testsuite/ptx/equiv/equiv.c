/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Execution equivalence: a kernel and its variants leave the same memory, however
 * often and wherever they are evicted, and every block-task runs exactly once
 * (EffiSha, section 5: block-tasks keep their integrity whoever runs them).
 * DRIVER is a libcuda.so.1, emulated or not; FOLDER holds the table's files.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "subject.h"

#define G(x, y, z) \
	{ \
		x, y, z \
	}
#define SMALL 24 /* up to so many block-tasks every k is tried */

static const struct test_case cases[] = {
#define CASE(file, kernel, grid, block, shared, args) \
	{ file, kernel, grid, block, shared, args, CASE_PLAIN },
#define LARGE(file, kernel, grid, block, shared, args) \
	{ file, kernel, grid, block, shared, args, CASE_LARGE },
#define LACKS(file, kernel, grid, block, shared, args) \
	{ file, kernel, grid, block, shared, args, CASE_LACKS },
#define AT_BEST(file, kernel, transform, reason)
#include "cases.def"
#undef CASE
#undef LARGE
#undef LACKS
#undef AT_BEST
};

static const struct limited {
	const char *file, *kernel;
	enum ptx_transform_kind transform;
	const char *reason;
} limited[] = {
#define CASE(file, kernel, grid, block, shared, args)
#define LARGE(file, kernel, grid, block, shared, args)
#define LACKS(file, kernel, grid, block, shared, args)
#define AT_BEST(file, kernel, transform, reason) \
	{ file, kernel, PTX_TRANSFORM_##transform, reason },
#include "cases.def"
#undef CASE
#undef LARGE
#undef LACKS
#undef AT_BEST
};

static const struct transform {
	enum ptx_transform_kind transform;
	form_run *run;
} transforms[] = {
	{ PTX_TRANSFORM_PERSISTENT, persistent_run },
	{ PTX_TRANSFORM_GUARDED, guarded_run },
	{ PTX_TRANSFORM_SLICED, sliced_run },
};

static struct rig rig = { .transforms = PTX_TRANSFORMS_ALL };
static unsigned seed = 1;
static int large;

static int admits(const struct subject *s, const struct transform *f)
{
	for (uint32_t i = 0; i < s->t->nkernel; i++)
		if (strcmp(s->t->kernel[i].name, s->c->kernel) == 0) {
			const struct ptx_kernel *k = &s->t->kernel[i];
			const unsigned *b = s->c->block;

			if (f->transform == PTX_TRANSFORM_PERSISTENT && k->whole_warps &&
			    b[1] * b[2] > 1 && b[0] % 32)
				return 0; /* transform.h */
			return (k->transforms & PTX_TRANSFORM_BIT(f->transform)) != 0;
		}
	return 0;
}

/* Which k of a grid: all of a small one, on a large one some. */
static unsigned next_k(unsigned k, uint64_t all)
{
	return all <= SMALL || k < 5 ? k + 1 : k * 2 + seed % 3;
}

/* Evictions from within, after every k-th block-task. */
static unsigned run_probed(struct subject *s, const struct transform *f, unsigned *ways)
{
	uint64_t all = case_tasks(s->c);
	unsigned evictions = 0;

	for (unsigned k = 1; k <= all; k = next_k(k, all)) {
		const struct way w = { .workers = 1 + k % 4,
				       .chunk = 1 + k / 4 % 4,
				       .chunk_max = 64,
				       .chunk_ns = k % 2 ? 100000 : 0,
				       .probe_every = k };

		if (s->c->kind == CASE_LARGE && k < 64)
			continue; /* thousands of launches teach nothing more */
		evictions += subject_run(s, f->transform, f->run, w);
		++*ways;
	}
	return evictions;
}

/* Evictions from outside, at any time, of some of the workers or all; and a count that ends early.
 */
static unsigned run_plain(struct subject *s, const struct transform *f, unsigned *ways)
{
	const unsigned sms = s->rig->drv.sms;
	unsigned evictions = subject_run(s, f->transform, f->run,
					 (struct way) { .workers = 5, .chunk = 7, .chunk_max = 7 });

	for (unsigned i = 0; i < (large ? 4 : 3); i++) {
		const struct way w = { .workers = 1 + (i + seed) % 4 * (large ? 8 : 1),
				       .chunk = 1 + i,
				       .chunk_max = 8,
				       .chunk_ns = 2000,
				       .limit_us = (s->c->kind == CASE_LARGE ? 300 : 1) + i * 60,
				       .limit = i % 3 ? 0 : 1,
				       .seed = seed + i };

		evictions += subject_run(s, f->transform, f->run, w);
		++*ways;
	}
	/* By the proxy; the last time on the first half of the multiprocessors, with so many
	 * workers that some come to be there. */
	for (unsigned i = 0; i < 3; i++) {
		const struct way w = { .workers = i == 2 ? 4 * sms + 1 : 2 + (i + seed) % 4,
				       .sms = i == 2 ? gs_ctl_sms(0, (sms + 1) / 2) : 0,
				       .chunk = 1 + i,
				       .chunk_max = 8,
				       .chunk_ns = 2000,
				       .limit_us = (s->c->kind == CASE_LARGE ? 300 : 1) + i * 80,
				       .proxy = 1,
				       .seed = seed + i };

		evictions += subject_run(s, f->transform, f->run, w);
		++*ways;
	}
	for (uint64_t every = case_tasks(s->c) / 2; every;
	     every = every > 2 && s->c->kind != CASE_LARGE ? 2 : 0) {
		const struct way w = { .workers = 3,
				       .chunk = 1,
				       .chunk_max = 8,
				       .chunk_ns = 100000,
				       .every = (unsigned)every };

		evictions += subject_run(s, f->transform, f->run, w);
		++*ways;
	}
	++*ways;
	return evictions;
}

/* Does the device know the kernel's instructions? */
static int can_run(const struct test_case *c)
{
	struct gs_error err = { "" };
	struct ptx_module *ast;
	struct launch l;
	char *text;
	int ok;

	if (c->kind != CASE_LACKS)
		return 1;
	text = rig_read(&rig, c->file);
	ast = ptx_parse(text, strlen(text), &err);
	if (!ast)
		fail(c, "%s", err.text);
	launch_prepare(&l, c, &rig.drv, text, ast);
	ok = rig.drv.launch(l.original, c->grid[0], c->grid[1], c->grid[2], c->block[0],
			    c->block[1], c->block[2], c->shared, rig.board.stream, l.pointer,
			    NULL) == 0;
	DO(rig.drv.stream_sync(rig.board.stream));
	launch_release(&l);
	ptx_module_free(ast);
	free(text);
	return ok;
}

static void run_case(const struct test_case *c)
{
	struct subject probed, plain;
	unsigned admissible = 0;

	subject_open(&probed, &rig, c, 1);
	subject_open(&plain, &rig, c, 0);
	for (size_t i = 0; i < sizeof(transforms) / sizeof(transforms[0]); i++) {
		unsigned ways = 0, evictions;

		if (!admits(&plain, &transforms[i]))
			continue;
		evictions = run_probed(&probed, &transforms[i], &ways);
		evictions += run_plain(&plain, &transforms[i], &ways);
		printf("%s %s: %llu block-tasks, %u runs, %u evictions, the same %zu bytes\n",
		       c->kernel, ptx_transform_name(transforms[i].transform),
		       (unsigned long long)case_tasks(c), ways, evictions, plain.bytes);
		fflush(stdout);
		admissible++;
	}
	if (!admissible)
		fail(c, "no form is admissible");
	subject_close(&plain);
	subject_close(&probed);
}

/* A kernel that gets no better form than the table says, for that reason. */
static void check_limited(const struct limited *want)
{
	const struct test_case c = { .file = want->file, .kernel = want->kernel };
	struct gs_error err = { "" };
	char *text = rig_read(&rig, want->file);
	struct ptx_transformed *t = ptx_transform(text, strlen(text), &err);
	const struct ptx_kernel *k = NULL;

	if (!t)
		fail(&c, "%s: %s", want->file, err.text);
	for (uint32_t i = 0; i < t->nkernel; i++)
		if (strcmp(t->kernel[i].name, want->kernel) == 0)
			k = &t->kernel[i];
	if (!k)
		fail(&c, "no such kernel in %s", want->file);
	if (k->transform != want->transform ||
	    strcmp(ptx_reason_name(k->reason), want->reason) != 0)
		fail(&c, "%s because of %s, not %s because of %s", ptx_transform_name(k->transform),
		     ptx_reason_name(k->reason), ptx_transform_name(want->transform), want->reason);
	printf("%s: %s, %s\n", k->name, ptx_transform_name(k->transform),
	       ptx_reason_words(k->reason));
	ptx_transformed_free(t);
	free(text);
}

static void open_board(const char *driver)
{
	void *host;

	driver_open(&rig.drv, driver);
	DO(rig.drv.host_alloc(&host, sizeof(struct shared_words), 2 /* mapped */));
	DO(rig.drv.host_device(&rig.board.device, host, 0));
	memset(host, 0, sizeof(struct shared_words));
	rig.board.host = host;
	DO(rig.drv.stream_create(&rig.board.stream, 1 /* non-blocking */));
	DO(rig.drv.stream_create(&rig.board.behind, 1));
	DO(rig.drv.stream_create(&rig.board.watch, 1));
}

static void usage(FILE *to)
{
	fputs("Usage: ptx_equiv [OPTION...] DRIVER FOLDER [KERNEL...]\n"
	      "Run kernels and their variants with evictions and compare the memory they leave.\n"
	      "  --large            the large grids too\n"
	      "  --sync-aware       also variants that answer barriers for warps that have left\n"
	      "  --seed N           of the times of random evictions\n"
	      "  --random N         N kernels made from the seed and those after it, instead of the table\n"
	      "  --print            the text of the kernel that the seed makes\n"
	      "  --mutation NAME    with a deliberate bug in the variants; succeeds if it is not seen\n"
	      "  --list-mutations   name, kernel that shows it, meaning\n"
	      "  --list             the kernels and their grids\n",
	      to);
}

static int wanted(const char *kernel, char **names)
{
	if (!*names)
		return 1;
	for (; *names; names++)
		if (strcmp(*names, kernel) == 0)
			return 1;
	return 0;
}

/* Every reason that the transformer has is shown by a kernel of the table. */
static int check_reasons(void)
{
	char shown[PTX_REASON_COUNT] = { 0 };
	int missing = 0;

	/* Those behind are the shim's. */
	for (unsigned r = PTX_REASON_NONE + 1; r < PTX_REASON_ONE_WAVE; r++) {
		for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++)
			shown[r] |=
				strcmp(limited[i].reason, ptx_reason_name((enum ptx_reason)r)) == 0;
		if (!shown[r]) {
			fprintf(stderr, "FAIL: no kernel shows the reason %s\n",
				ptx_reason_name((enum ptx_reason)r));
			missing = 1;
		}
	}
	return missing;
}

static int run_all(char **names)
{
	unsigned launches = 0, kept = 0, lacking = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (wanted(cases[i].kernel, names) && (large || cases[i].kind != CASE_LARGE)) {
			if (!can_run(&cases[i])) {
				printf("%s: not here, the device lacks an instruction of it\n",
				       cases[i].kernel);
				lacking++;
				continue;
			}
			run_case(&cases[i]);
			launches++;
		}
	for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++)
		if (wanted(limited[i].kernel, names)) {
			check_limited(&limited[i]);
			kept++;
		}
	if (!launches && !kept && !lacking) {
		fputs("FAIL: no such kernel\n", stderr);
		return 1;
	}
	if (!*names && check_reasons())
		return 1;
	printf("%u launches are equivalent, %u kernels get what form they may, %u cannot run on this device\n",
	       launches, kept, lacking);
	return 0;
}

/* Kernels from seeds, first to first + n - 1. */
static int run_random(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct test_case c = random_case(seed + i);

		printf("%s: ", c.file);
		run_case(&c);
	}
	printf("%u random kernels are equivalent\n", n);
	return 0;
}

static void list(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		printf("%s %s %u %u %u%s\n", cases[i].file, cases[i].kernel, cases[i].grid[0],
		       cases[i].grid[1], cases[i].grid[2],
		       cases[i].kind == CASE_LARGE ? " large" :
		       cases[i].kind == CASE_LACKS ? " where the device can" :
						     "");
	for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++)
		printf("%s %s %s at best: %s\n", limited[i].file, limited[i].kernel,
		       ptx_transform_name(limited[i].transform), limited[i].reason);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "large", no_argument, NULL, 'l' },
		{ "seed", required_argument, NULL, 's' },
		{ "mutation", required_argument, NULL, 'm' },
		{ "list-mutations", no_argument, NULL, 'M' },
		{ "sync-aware", no_argument, NULL, 'a' },
		{ "list", no_argument, NULL, 'k' },
		{ "random", required_argument, NULL, 'r' },
		{ "print", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};

	unsigned nrandom = 0;

	for (int o; (o = getopt_long(argc, argv, "+h", options, NULL)) != -1;) {
		switch (o) {
		case 'l':
			large = 1;
			break;
		case 'a':
			rig.transforms |= PTX_TRANSFORMS_SYNC_AWARE;
			break;
		case 's':
			seed = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'm':
			rig.mutation = mutation_find(optarg);
			if (!rig.mutation) {
				fprintf(stderr, "ptx_equiv: no mutation %s\n", optarg);
				return 2;
			}
			break;
		case 'r':
			nrandom = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'p':
			fputs(random_text(seed), stdout);
			return 0;
		case 'M':
			mutation_list();
			return 0;
		case 'k':
			list();
			return 0;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (argc - optind < 2) {
		usage(stderr);
		return 2;
	}
	rig.folder = argv[optind + 1];
	open_board(argv[optind]);
	return nrandom ? run_random(nrandom) : run_all(argv + optind + 2);
}
