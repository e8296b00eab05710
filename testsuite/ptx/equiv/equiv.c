/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Execution equivalence: a kernel and its twin leave the same memory, however
 * often and wherever the twin is evicted (seed 000, section 5: block-tasks
 * keep their integrity whoever runs them).
 * Usage: equiv DRIVER CORPUS-FOLDER [KERNEL]; DRIVER is a libcuda.so.1.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/ptx/ast.h"
#include "device/ptx/ctl.h"
#include "device/ptx/stub_layout.h"
#include "device/ptx/transform.h"
#include "driver.h"

#define BUFFER_BYTES 65536u
#define ARGS_MAX 8
#define G(x, y, z) { x, y, z }

struct test_case {
	const char *file, *kernel;
	unsigned grid[3], block[3], shared;
	const char *args;
};

static const struct test_case cases[] = {
#define CASE(file, kernel, grid, block, shared, args) { file, kernel, grid, block, shared, args },
#include "cases.def"
#undef CASE
};

struct settings { int32_t steps[5]; double scale; char mode; };

/* One launch's arguments on the device. */
struct launch {
	const struct test_case *c;
	void *module, *original, *twin;
	const struct ptx_module *ast;
	unsigned nargs;
	char kind[ARGS_MAX];
	uint64_t value[ARGS_MAX];
	struct settings settings;
	void *pointer[ARGS_MAX + 1];
};

/* How the twin is run. */
struct way {
	unsigned workers, chunk, chunk_max, chunk_ns;
	unsigned every;   /* stop after so many block-tasks: 0: never */
	unsigned limit_us; /* set the limit to 0 after so long: 0: never */
	unsigned limit;   /* of workers, at first */
	unsigned proxy;   /* worker 0 watches: after limit_us the stub says TOEVICT, nobody writes the limit */
};

static struct driver drv;

static uint32_t noise(uint32_t i)
{
	i = (i ^ 61u) ^ (i >> 16);
	i *= 9u;
	i ^= i >> 4;
	i *= 0x27d4eb2du;
	return i ^ i >> 15;
}

static void fill(void *data, char kind, uint32_t seed)
{
	for (uint32_t i = 0; i < BUFFER_BYTES; i++) {
		uint32_t v = noise(i + seed * 977);

		switch (kind) {
		case 'B': ((uint8_t *)data)[i] = (uint8_t)v; break;
		case 'I': if (i < BUFFER_BYTES / 4) ((int32_t *)data)[i] = (int32_t)(v % 100) - 5; break;
		case 'F': if (i < BUFFER_BYTES / 4) ((float *)data)[i] = (float)(v % 16); break;
		case 'G': if (i < BUFFER_BYTES / 4) ((float *)data)[i] = 0.5f + (float)(v % 1024) / 1024 * 1.5f; break;
		case 'D': if (i < BUFFER_BYTES / 8) ((double *)data)[i] = (double)(v % 1000) / 8; break;
		case 'H': if (i < BUFFER_BYTES / 2) ((uint16_t *)data)[i] = (uint16_t)(0x3c00 + v % 512); break;
		default: ((uint8_t *)data)[i] = 0;
		}
	}
}

static char *read_file(const char *folder, const char *name)
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

static void prepare(struct launch *l, const struct test_case *c, const char *text)
{
	char words[200], twin[300], *save = NULL;
	static uint8_t data[BUFFER_BYTES];

	memset(l, 0, sizeof(*l));
	l->c = c;
	DO(drv.module_load(&l->module, text));
	DO(drv.module_function(&l->original, l->module, c->kernel));
	snprintf(twin, sizeof(twin), "%s" PTX_PERSISTENT_SUFFIX, c->kernel);
	DO(drv.module_function(&l->twin, l->module, twin));
	snprintf(words, sizeof(words), "%s", c->args);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		unsigned n = l->nargs++;
		float f = (float)atof(w + 1);

		l->kind[n] = *w;
		l->pointer[n] = &l->value[n];
		if (strchr("BIFGDHZ", *w)) {
			DO(drv.mem_alloc(&l->value[n], BUFFER_BYTES));
			fill(data, *w, n);
			DO(drv.to_device(l->value[n], data, BUFFER_BYTES));
		} else if (*w == 'f') {
			memcpy(&l->value[n], &f, sizeof(f));
		} else if (*w == 'S') {
			l->settings = (struct settings){ { 1, 2, 3, 4, 5 }, 1.5, 7 };
			l->pointer[n] = &l->settings;
		} else {
			l->value[n] = (uint64_t)atoll(w + 1);
		}
	}
}

static void release(struct launch *l)
{
	for (unsigned n = 0; n < l->nargs; n++)
		if (strchr("BIFGDHZ", l->kind[n]))
			DO(drv.mem_free(l->value[n]));
	DO(drv.module_unload(l->module));
}

/* All buffers and the module's global variables, one after the other; malloc'd. */
static uint8_t *image(const struct launch *l, const struct ptx_module *ast, size_t *len)
{
	uint8_t *all = malloc(ARGS_MAX * BUFFER_BYTES + (1u << 20));
	size_t n = 0;

	if (!all)
		exit(1);
	for (unsigned i = 0; i < l->nargs; i++)
		if (strchr("BIFGDHZ", l->kind[i])) {
			DO(drv.to_host(all + n, l->value[i], BUFFER_BYTES));
			n += BUFFER_BYTES;
		}
	for (uint32_t i = 0; i < ast->nvar; i++) {
		const struct ptx_var *v = &ast->var[i];
		char name[200];
		uint64_t at;
		size_t bytes;

		if (v->space != PTX_SPACE_GLOBAL || v->nrelocs)
			continue; /* addresses differ between two loads */
		snprintf(name, sizeof(name), "%.*s", (int)v->name.len, v->name.s);
		if (drv.module_global(&at, &bytes, l->module, name) != 0 || bytes > 65536)
			continue; /* not exported */
		DO(drv.to_host(all + n, at, bytes));
		n += bytes;
	}
	*len = n;
	return all;
}

struct evictor {
	_Atomic uint32_t *limit, *kstate; /* kstate: NULL if the limit is to be written */
	unsigned us;
};

static void *evict(void *arg)
{
	struct evictor *e = arg;
	struct timespec pause = { 0, (long)e->us * 1000 };

	uint32_t launched = 0;

	nanosleep(&pause, NULL);
	if (e->kstate) /* not if the kernel has just left */
		atomic_compare_exchange_strong(e->kstate, &launched, PTX_KSTATE_TOEVICT);
	else
		atomic_store(e->limit, 0);
	return NULL;
}

struct shared_words { /* what host and device both see */
	struct gs_ctl ctl;
	uint8_t stub[64];
};

static void fail(const struct test_case *c, const struct way *w, const char *what)
{
	fprintf(stderr, "FAIL: %s, grid %u %u %u, workers %u, chunk %u, every %u, limit after %u us: %s\n",
		c->kernel, c->grid[0], c->grid[1], c->grid[2], w->workers, w->chunk, w->every, w->limit_us, what);
	exit(1);
}

static void launch_twin(struct launch *l, struct shared_words *s, uint64_t ctl, const struct way *w)
{
	struct evictor e = { (_Atomic uint32_t *)&s->ctl.limit,
			     w->proxy ? (_Atomic uint32_t *)(s->stub + PTX_STUB_KSTATE) : NULL, w->limit_us };
	const struct test_case *c = l->c;
	pthread_t thread;

	l->pointer[l->nargs] = &ctl;
	if (w->limit_us && pthread_create(&thread, NULL, evict, &e) != 0)
		exit(1);
	DO(drv.launch(l->twin, w->workers, 1, 1, c->block[0], c->block[1], c->block[2], c->shared, NULL,
		      l->pointer, NULL));
	DO(drv.ctx_sync());
	if (w->limit_us)
		pthread_join(thread, NULL);
}

/* What the last block out must have left behind. */
static void check_words(const struct launch *l, const struct way *w, const struct shared_words *s, uint64_t total)
{
	uint32_t kstate, started;
	uint64_t done, n = s->ctl.next < total ? s->ctl.next : total;

	memcpy(&kstate, s->stub + PTX_STUB_KSTATE, 4);
	memcpy(&started, s->stub + PTX_STUB_STARTED, 4);
	memcpy(&done, s->stub + PTX_STUB_DONE, 8);
	if (started != 1)
		fail(l->c, w, "the stub was not told of the start");
	if (done != n)
		fail(l->c, w, "the stub's count is wrong");
	if (kstate != (n == total ? PTX_KSTATE_DONE : PTX_KSTATE_READY))
		fail(l->c, w, "the stub's state is wrong");
	if (s->ctl.done != (n == total) || s->ctl.exited != 0)
		fail(l->c, w, "the control block's end is wrong");
	if (w->proxy && s->ctl.limit != UINT32_MAX)
		fail(l->c, w, "the limit is not ready for the relaunch");
}

/* Run the twin to the end of the grid; returns the evictions. */
static unsigned run_twin(struct launch *l, struct shared_words *s, uint64_t device, const struct way *w)
{
	const unsigned *g = l->c->grid;
	uint64_t all = (uint64_t)g[0] * g[1] * g[2], last = 0;
	unsigned evictions = 0, idle = 0;
	struct way now = *w;

	memset(s, 0, sizeof(*s));
	s->ctl = (struct gs_ctl){
		.chunk = w->chunk, .chunk_max = w->chunk_max, .chunk_ns = w->chunk_ns,
		.nctaid = { g[0], g[1], g[2] }, .workers = w->workers,
		.stub = device + offsetof(struct shared_words, stub), .proxy = w->proxy,
	};
	for (;;) {
		uint64_t total = w->every && last + w->every < all ? last + w->every : all;

		s->ctl.total = total;
		s->ctl.limit = w->limit ? w->limit : w->workers;
		s->ctl.done = 0;
		memset(s->stub, 0, sizeof(s->stub));
		launch_twin(l, s, device, &now);
		check_words(l, w, s, total);
		if (s->ctl.next > total) /* claims beyond the end */
			s->ctl.next = total;
		if (s->ctl.next == all)
			return evictions;
		idle = s->ctl.next == last ? idle + 1 : 0;
		if (idle > 3) /* evicted before the first claim again and again: let it come further */
			now.limit_us += 200;
		last = s->ctl.next;
		evictions++;
		if (evictions > 100000)
			fail(l->c, w, "no progress");
	}
}

static unsigned compare(const struct test_case *c, const char *text, const struct ptx_module *ast, const struct way *w,
			struct shared_words *s, uint64_t device, const uint8_t *want, size_t want_len)
{
	struct launch l;
	uint8_t *got;
	size_t len;
	unsigned evictions;

	prepare(&l, c, text);
	evictions = run_twin(&l, s, device, w);
	got = image(&l, ast, &len);
	if (len != want_len)
		fail(c, w, "the images differ in length");
	for (size_t i = 0; i < len; i++)
		if (got[i] != want[i]) {
			fprintf(stderr, "byte %zu: %u, the original left %u\n", i, got[i], want[i]);
			fail(c, w, "memory differs");
		}
	free(got);
	release(&l);
	return evictions;
}

static uint8_t *run_original(const struct test_case *c, const char *text, const struct ptx_module *ast, size_t *len)
{
	struct launch l;
	uint8_t *want;

	prepare(&l, c, text);
	DO(drv.launch(l.original, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2],
		      c->shared, NULL, l.pointer, NULL));
	DO(drv.ctx_sync());
	want = image(&l, ast, len);
	release(&l);
	return want;
}

static void run_case(const struct test_case *c, const char *folder, struct shared_words *s, uint64_t device)
{
	struct gs_error err = { "" };
	char *text = read_file(folder, c->file);
	struct ptx_transformed *t = ptx_transform(text, strlen(text), &err);
	struct ptx_module *ast = ptx_parse(text, strlen(text), &err);
	uint64_t all = (uint64_t)c->grid[0] * c->grid[1] * c->grid[2];
	unsigned ways = 0, evictions = 0;
	size_t len;
	uint8_t *want;

	if (!t || !ast) {
		fprintf(stderr, "FAIL: %s: %s\n", c->file, err.text);
		exit(1);
	}
	want = run_original(c, t->text, ast, &len);
	for (unsigned k = 0; k <= all; k++) { /* leave after every k-th block-task */
		const struct way w = { .workers = 1 + k % 4, .chunk = 1 + k % 3, .chunk_max = 64,
				       .chunk_ns = k % 2 ? 100000 : 0, .every = k };

		evictions += compare(c, t->text, ast, &w, s, device, want, len);
		ways++;
	}
	for (unsigned i = 0; i < 4; i++) { /* at any time, by the proxy */
		const struct way w = { .workers = 2 + i, .chunk = 1 + i, .chunk_max = 8, .chunk_ns = 2000,
				       .limit_us = 1 + i * 80, .proxy = 1 };

		evictions += compare(c, t->text, ast, &w, s, device, want, len);
		ways++;
	}
	for (unsigned i = 0; i < 6; i++) { /* at any time, some of the workers or all */
		const struct way w = { .workers = 1 + i % 4, .chunk = 1 + i, .chunk_max = 8, .chunk_ns = 2000,
				       .limit_us = 1 + i * 60, .limit = i % 3 ? 0 : 1 };

		evictions += compare(c, t->text, ast, &w, s, device, want, len);
		ways++;
	}
	printf("%s, %llu block-tasks: %u runs, %u evictions, the same %zu bytes\n", c->kernel,
	       (unsigned long long)all, ways, evictions, len);
	fflush(stdout);
	free(want);
	ptx_module_free(ast);
	ptx_transformed_free(t);
	free(text);
}

int main(int argc, char **argv)
{
	struct shared_words *s;
	uint64_t device;
	void *host;
	unsigned n = 0;

	if (argc < 3) {
		fputs("Usage: equiv DRIVER CORPUS-FOLDER [KERNEL]\n", stderr);
		return 2;
	}
	driver_open(&drv, argv[1]);
	DO(drv.host_alloc(&host, sizeof(*s), 2 /* mapped */));
	DO(drv.host_device(&device, host, 0));
	s = host;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc < 4 || strcmp(argv[3], cases[i].kernel) == 0) {
			run_case(&cases[i], argv[2], s, device);
			n++;
		}
	if (!n) {
		fprintf(stderr, "FAIL: no such kernel\n");
		return 1;
	}
	printf("%u launches are equivalent\n", n);
	return 0;
}
