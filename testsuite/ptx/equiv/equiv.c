/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Execution equivalence: a kernel and its twins leave the same memory, however
 * often and wherever they are evicted, and every block-task runs exactly once
 * (seed 000, section 5: block-tasks keep their integrity whoever runs them).
 * DRIVER is a libcuda.so.1, emulated or not; FOLDER holds the table's files.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "form.h"
#include "mutate.h"
#include "probe.h"

#define G(x, y, z) { x, y, z }
#define SMALL 24 /* up to so many block-tasks every k is tried */

static const struct test_case cases[] = {
#define CASE(file, kernel, grid, block, shared, args) { file, kernel, grid, block, shared, args, CASE_PLAIN },
#define LARGE(file, kernel, grid, block, shared, args) { file, kernel, grid, block, shared, args, CASE_LARGE },
#define LACKS(file, kernel, grid, block, shared, args) { file, kernel, grid, block, shared, args, CASE_LACKS },
#define AT_BEST(file, kernel, form, reason)
#include "cases.def"
#undef CASE
#undef LARGE
#undef LACKS
#undef AT_BEST
};

static const struct limited {
	const char *file, *kernel;
	enum ptx_form form;
	const char *reason;
} limited[] = {
#define CASE(file, kernel, grid, block, shared, args)
#define LARGE(file, kernel, grid, block, shared, args)
#define LACKS(file, kernel, grid, block, shared, args)
#define AT_BEST(file, kernel, form, reason) { file, kernel, PTX_FORM_##form, reason },
#include "cases.def"
#undef CASE
#undef LARGE
#undef LACKS
#undef AT_BEST
};

static const struct form {
	enum ptx_form form;
	form_run *run;
} forms[] = {
	{ PTX_FORM_PERSISTENT, persistent_run },
	{ PTX_FORM_GUARDED, guarded_run },
	{ PTX_FORM_SLICED, sliced_run },
};

static struct driver drv;
static struct board board;
static const char *folder;
static const struct mutation *mutation;
static unsigned seed = 1;
static int large;

/* A module: its text, and what the original leaves. */
struct subject {
	const struct test_case *c;
	char *text;             /* of the file, or with the probe */
	struct ptx_module *ast;
	struct ptx_transformed *t;
	char *changed;          /* t->text, or with a deliberate bug */
	int probed;
	uint8_t *want, *got, *behind;
	char *want_lines;
	size_t bytes;
};

static void *must(void *p, const struct test_case *c, const char *what)
{
	if (!p)
		fail(c, "%s", what);
	return p;
}

static char *read_file(const char *name)
{
	char path[4096];
	FILE *f;
	long n;
	char *text;

	snprintf(path, sizeof(path), "%s/%s.ptx", folder, name);
	f = fopen(path, "r");
	if (!f || fseek(f, 0, SEEK_END) < 0 || (n = ftell(f)) < 0 || !(text = calloc(1, (size_t)n + 1))) {
		fprintf(stderr, "FAIL: %s cannot be read\n", path);
		exit(1);
	}
	rewind(f);
	if (fread(text, 1, (size_t)n, f) != (size_t)n)
		exit(1);
	fclose(f);
	return text;
}

/* The probe's variable is one word for the probe and one for each block-task. */
static void set_probe(const struct subject *s, const struct launch *l, uint32_t every, uint64_t limit)
{
	const struct probe p = { .every = every ? every : UINT32_MAX, .limit = limit };
	uint64_t at;
	size_t bytes;

	if (!s->probed)
		return;
	DO(drv.module_global(&at, &bytes, l->module, PROBE_NAME));
	DO(drv.to_device(at, &p, sizeof(p)));
}

/* Every block-task exactly once. */
static void check_probe(const struct subject *s, const struct launch *l)
{
	uint64_t at, all = case_tasks(s->c);
	size_t bytes;
	struct probe *p;

	if (!s->probed)
		return;
	DO(drv.module_global(&at, &bytes, l->module, PROBE_NAME));
	p = must(malloc(bytes), s->c, "no memory");
	DO(drv.to_host(p, at, bytes));
	for (uint64_t i = 0; i < all; i++)
		if (p->count[i] != 1)
			fail(s->c, "block-task %llu ran %u times", (unsigned long long)i, p->count[i]);
	if (p->started != all)
		fail(s->c, "%u block-tasks ran, not %llu", p->started, (unsigned long long)all);
	free(p);
}

static void compare(const struct subject *s, const char *form, const struct way *w, const uint8_t *got,
		    const char *where)
{
	for (size_t i = 0; i < s->bytes; i++)
		if (got[i] != s->want[i])
			fail(s->c, "%s, %s: byte %zu is %u, the original left %u (workers %u, chunk %u, evicted after every "
			     "%u and %u, after %u us)", form, where, i, got[i], s->want[i], w->workers, w->chunk,
			     w->probe_every, w->every, w->limit_us);
}

static unsigned run_twin(const struct subject *s, const struct form *f, struct way w)
{
	struct launch l;
	char name[300], *lines;
	unsigned evictions;
	void *twin;

	launch_prepare(&l, s->c, &drv, s->changed, s->ast);
	snprintf(name, sizeof(name), "%s%s", s->c->kernel, ptx_form_suffix(f->form));
	DO(drv.module_function(&twin, l.module, name));
	set_probe(s, &l, w.probe_every, board.device + offsetof(struct shared_words, ctl.limit));
	if (!w.every) {
		w.behind = s->behind;
		memset(s->behind, 0x55, s->bytes);
	}
	if (l.prints)
		capture_begin();
	evictions = f->run(&l, twin, &board, &w);
	lines = l.prints ? capture_end() : NULL;
	if (w.behind) {
		DO(drv.stream_sync(board.behind));
		compare(s, ptx_form_name(f->form), &w, s->behind, "behind the kernel");
	}
	image_take(&l, s->got, NULL);
	compare(s, ptx_form_name(f->form), &w, s->got, "memory");
	if (lines && strcmp(lines, s->want_lines) != 0)
		fail(s->c, "it printed:\n%sthe original:\n%s", lines, s->want_lines);
	free(lines);
	check_probe(s, &l);
	launch_release(&l);
	return evictions;
}

/* Its memory is what the twins must leave; it must have done something. */
static void run_original(struct subject *s)
{
	const struct test_case *c = s->c;
	struct launch l;
	void *pinned;

	launch_prepare(&l, c, &drv, s->changed, s->ast);
	set_probe(s, &l, 0, board.device + offsetof(struct shared_words, nobody));
	s->bytes = image_size(&l);
	s->want = must(malloc(s->bytes + 1), c, "no memory");
	s->got = must(malloc(s->bytes + 1), c, "no memory");
	DO(drv.host_alloc(&pinned, s->bytes + 1, 0));
	s->behind = pinned;
	image_take(&l, s->got, NULL);
	if (l.prints)
		capture_begin();
	DO(drv.launch(l.original, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2],
		      c->shared, board.stream, l.pointer, NULL));
	DO(drv.stream_sync(board.stream));
	s->want_lines = l.prints ? capture_end() : NULL;
	image_take(&l, s->want, NULL);
	if (l.nbuffers && memcmp(s->want, s->got, s->bytes) == 0 && !(s->want_lines && *s->want_lines))
		fail(c, "the original changes nothing");
	check_probe(s, &l);
	launch_release(&l);
}

static void subject_open(struct subject *s, const struct test_case *c, int probed)
{
	struct gs_error err = { "" };
	char *text = read_file(c->file);

	memset(s, 0, sizeof(*s));
	s->c = c;
	s->probed = probed;
	s->ast = ptx_parse(text, strlen(text), &err);
	if (!s->ast)
		fail(c, "%s: %s", c->file, err.text);
	s->text = text;
	if (probed) {
		s->text = must(probe_insert(s->ast, c->kernel, case_tasks(c)), c, "no such kernel in its file");
		ptx_module_free(s->ast);
		free(text);
		s->ast = must(ptx_parse(s->text, strlen(s->text), &err), c, "the probe does not parse");
	}
	s->t = ptx_transform_forms(s->text, strlen(s->text), PTX_FORMS_ALL, 1, &err);
	if (!s->t)
		fail(c, "%s: %s", c->file, err.text);
	s->changed = s->t->text;
	if (mutation)
		s->changed = must(mutation_apply(mutation, s->t->text), c, "the mutation's code is not in the twin");
	run_original(s);
}

static void subject_close(struct subject *s)
{
	DO(drv.host_free(s->behind));
	if (mutation)
		free(s->changed);
	free(s->want_lines);
	free(s->got);
	free(s->want);
	ptx_transformed_free(s->t);
	ptx_module_free(s->ast);
	free(s->text);
}

static int admits(const struct subject *s, const struct form *f)
{
	for (uint32_t i = 0; i < s->t->nkernel; i++)
		if (strcmp(s->t->kernel[i].name, s->c->kernel) == 0)
			return (s->t->kernel[i].forms & PTX_FORM_BIT(f->form)) != 0;
	return 0;
}

/* Which k of a grid: all of a small one, on a large one some. */
static unsigned next_k(unsigned k, uint64_t all)
{
	return all <= SMALL || k < 5 ? k + 1 : k * 2 + seed % 3;
}

/* Evictions from within, after every k-th block-task. */
static unsigned run_probed(const struct subject *s, const struct form *f, unsigned *ways)
{
	uint64_t all = case_tasks(s->c);
	unsigned evictions = 0;

	for (unsigned k = 1; k <= all; k = next_k(k, all)) {
		const struct way w = { .workers = 1 + k % 4, .chunk = 1 + k / 4 % 3, .chunk_max = 64,
				       .chunk_ns = k % 2 ? 100000 : 0, .probe_every = k };

		if (s->c->kind == CASE_LARGE && k < 16)
			continue; /* thousands of launches teach nothing more */
		evictions += run_twin(s, f, w);
		++*ways;
	}
	return evictions;
}

/* Evictions from outside, at any time, of some of the workers or all; and a count that ends early. */
static unsigned run_plain(const struct subject *s, const struct form *f, unsigned *ways)
{
	unsigned evictions = run_twin(s, f, (struct way){ .workers = 5, .chunk = 2, .chunk_max = 4 });

	for (unsigned i = 0; i < (large ? 8 : 3); i++) {
		const struct way w = { .workers = 1 + (i + seed) % 4 * (large ? 8 : 1), .chunk = 1 + i, .chunk_max = 8,
				       .chunk_ns = 2000, .limit_us = 1 + i * 60, .limit = i % 3 ? 0 : 1,
				       .seed = seed + i };

		evictions += run_twin(s, f, w);
		++*ways;
	}
	for (unsigned i = 0; i < 2; i++) { /* by the proxy */
		const struct way w = { .workers = 2 + (i + seed) % 4, .chunk = 1 + i, .chunk_max = 8, .chunk_ns = 2000,
				       .limit_us = 1 + i * 80, .proxy = 1, .seed = seed + i };

		evictions += run_twin(s, f, w);
		++*ways;
	}
	for (uint64_t every = case_tasks(s->c) / 2; every; every = every > 2 && s->c->kind != CASE_LARGE ? 2 : 0) {
		const struct way w = { .workers = 3, .chunk = 1, .chunk_max = 8, .chunk_ns = 100000,
				       .every = (unsigned)every };

		evictions += run_twin(s, f, w);
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
	text = read_file(c->file);
	ast = must(ptx_parse(text, strlen(text), &err), c, "it does not parse");
	launch_prepare(&l, c, &drv, text, ast);
	ok = drv.launch(l.original, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2],
			c->shared, board.stream, l.pointer, NULL) == 0;
	DO(drv.stream_sync(board.stream));
	launch_release(&l);
	ptx_module_free(ast);
	free(text);
	return ok;
}

static void run_case(const struct test_case *c)
{
	struct subject probed, plain;
	unsigned admissible = 0;

	subject_open(&probed, c, 1);
	subject_open(&plain, c, 0);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		unsigned ways = 0, evictions;

		if (!admits(&plain, &forms[i]))
			continue;
		evictions = run_probed(&probed, &forms[i], &ways);
		evictions += run_plain(&plain, &forms[i], &ways);
		printf("%s %s: %llu block-tasks, %u runs, %u evictions, the same %zu bytes\n", c->kernel,
		       ptx_form_name(forms[i].form), (unsigned long long)case_tasks(c), ways, evictions, plain.bytes);
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
	char *text = read_file(want->file);
	struct ptx_transformed *t = ptx_transform(text, strlen(text), &err);
	const struct ptx_kernel *k = NULL;

	if (!t)
		fail(&c, "%s: %s", want->file, err.text);
	for (uint32_t i = 0; i < t->nkernel; i++)
		if (strcmp(t->kernel[i].name, want->kernel) == 0)
			k = &t->kernel[i];
	if (!k)
		fail(&c, "no such kernel in %s", want->file);
	if (k->form != want->form || strcmp(ptx_reason_name(k->reason), want->reason) != 0)
		fail(&c, "%s because of %s, not %s because of %s", ptx_form_name(k->form), ptx_reason_name(k->reason),
		     ptx_form_name(want->form), want->reason);
	printf("%s: %s, %s\n", k->name, ptx_form_name(k->form), ptx_reason_words(k->reason));
	ptx_transformed_free(t);
	free(text);
}

static void open_board(const char *driver)
{
	void *host;

	driver_open(&drv, driver);
	DO(drv.host_alloc(&host, sizeof(struct shared_words), 2 /* mapped */));
	DO(drv.host_device(&board.device, host, 0));
	memset(host, 0, sizeof(struct shared_words));
	board.host = host;
	DO(drv.stream_create(&board.stream, 1 /* non-blocking */));
	DO(drv.stream_create(&board.behind, 1));
}

static void usage(FILE *to)
{
	fputs("Usage: ptx_equiv [OPTION...] DRIVER FOLDER [KERNEL...]\n"
	      "Run kernels and their twins with evictions and compare the memory they leave.\n"
	      "  --large            the large grids too\n"
	      "  --seed N           of the times of random evictions\n"
	      "  --mutation NAME    with a deliberate bug in the twins; succeeds if it is not seen\n"
	      "  --list-mutations   name, kernel that shows it, meaning\n"
	      "  --list             the kernels and their grids\n", to);
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

static int run_all(char **names)
{
	unsigned launches = 0, kept = 0, lacking = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (wanted(cases[i].kernel, names) && (large || cases[i].kind != CASE_LARGE)) {
			if (!can_run(&cases[i])) {
				printf("%s: not here, the device lacks an instruction of it\n", cases[i].kernel);
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
	printf("%u launches are equivalent, %u kernels get what form they may, %u cannot run on this device\n", launches,
	       kept, lacking);
	return 0;
}

static void list(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		printf("%s %s %u %u %u%s\n", cases[i].file, cases[i].kernel, cases[i].grid[0], cases[i].grid[1],
		       cases[i].grid[2], cases[i].kind == CASE_LARGE ? " large" : cases[i].kind == CASE_LACKS ? " where the device can" : "");
	for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++)
		printf("%s %s %s at best: %s\n", limited[i].file, limited[i].kernel,
		       ptx_form_name(limited[i].form), limited[i].reason);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "large", no_argument, NULL, 'l' }, { "seed", required_argument, NULL, 's' },
		{ "mutation", required_argument, NULL, 'm' }, { "list-mutations", no_argument, NULL, 'M' },
		{ "list", no_argument, NULL, 'k' }, { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};

	for (int o; (o = getopt_long(argc, argv, "+h", options, NULL)) != -1;) {
		switch (o) {
		case 'l': large = 1; break;
		case 's': seed = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'm':
			mutation = mutation_find(optarg);
			if (!mutation) {
				fprintf(stderr, "ptx_equiv: no mutation %s\n", optarg);
				return 2;
			}
			break;
		case 'M': mutation_list(); return 0;
		case 'k': list(); return 0;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	}
	if (argc - optind < 2) {
		usage(stderr);
		return 2;
	}
	folder = argv[optind + 1];
	open_board(argv[optind]);
	return run_all(argv + optind + 2);
}
