/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading and launching the kernels of suite.def; see suite.h. */
#define _GNU_SOURCE
#include "gpushare/bench/suite_loaded.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/read_file.h"

#define PATTERN (1u << 20) /* bytes that are made once and repeated */
#define TEXT_MAX (64u << 20)

#define OUT(size) \
	{ \
		.kind = ARG_OUT, .bytes = (size) \
	}
#define IN(letter, size) \
	{ \
		.kind = ARG_IN, .fill = (letter), .bytes = (size) \
	}
#define BELOW(limit, size) \
	{ \
		.kind = ARG_BELOW, .n = (limit), .bytes = (size) \
	}
#define ROWS(length, size) \
	{ \
		.kind = ARG_ROWS, .n = (length), .bytes = (size) \
	}
#define INT(value) \
	{ \
		.kind = ARG_INT, .n = (value) \
	}
#define REAL(value) \
	{ \
		.kind = ARG_REAL, .real = (float)(value) \
	}
#define VAR(variable, letter) \
	{ \
		.kind = ARG_VAR, .fill = (letter), .name = (variable) \
	}

/* Entry i at size q; 0 when there is none. */
static int get(size_t i, uint64_t q, struct bench_suite_entry *e)
{
	const struct bench_suite_entry all[] = {
#define KERNEL(file, kernel, gx, gy, bx, by, shared, ...) \
	{ file, kernel, gx, gy, bx, by, shared, { __VA_ARGS__ } },
#include "gpushare/bench/suite.def"
#undef KERNEL
	};

	if (i >= sizeof(all) / sizeof(all[0]))
		return 0;
	*e = all[i];
	return 1;
}

const char *bench_suite_file(size_t i)
{
	struct bench_suite_entry e;

	return get(i, 1, &e) ? e.file : NULL;
}

const char *bench_suite_kernel(size_t i)
{
	struct bench_suite_entry e;

	return get(i, 1, &e) ? e.kernel : NULL;
}

uint64_t bench_suite_tasks(size_t i, uint64_t q)
{
	struct bench_suite_entry e;

	return get(i, q, &e) ? e.gx * e.gy : 0;
}

uint64_t bench_suite_bytes(size_t i, uint64_t q)
{
	struct bench_suite_entry e;
	uint64_t sum = 0;

	for (size_t k = 0; get(i, q, &e) && k < BENCH_SUITE_ARGS_MAX; k++)
		sum += e.arg[k].bytes;
	return sum;
}

int bench_suite_grow(const struct bench_suite_growth *g, size_t i, uint64_t *q, double *ns,
		     struct gs_error *err)
{
	for (*q = BENCH_SUITE_Q_LEAST;; *q *= 2) {
		/* The first launch of a size brings its memory to the device. */
		if (g->launch(g->of, i, *q, 1, err) <= 0)
			return -1;
		*ns = g->launch(g->of, i, *q, 3, err);
		if (*ns <= 0)
			return -1;
		if (*ns >= (double)g->target_ns || 2 * *q > BENCH_SUITE_Q_MAX ||
		    bench_suite_bytes(i, 2 * *q) > g->bytes)
			return 0;
	}
}

static uint32_t noise(uint64_t i)
{
	uint64_t z = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	return (uint32_t)((z ^ (z >> 27)) >> 16);
}

/*
 * Element i of a buffer: F small whole floats, G floats between 0.5 and 2, N
 * between -4 and 4, D doubles, I small integers, K any words, B any bytes.
 */
static void element(const struct bench_suite_arg *a, uint64_t i, uint8_t *to)
{
	uint32_t v = noise(i);
	float f = 0;
	double d = v % 1000 / 8.0;

	switch (a->kind == ARG_BELOW ? 'U' : a->kind == ARG_ROWS ? 'R' : a->fill) {
	case 'U':
		v = (uint32_t)(v % a->n);
		break;
	case 'R':
		v = (uint32_t)(i * a->n + v % a->n);
		break;
	case 'I':
		v = v % 100;
		break;
	case 'F':
		f = (float)(v % 16);
		memcpy(&v, &f, sizeof(v));
		break;
	case 'G':
		f = 0.5f + (float)(v % 1024) / 1024 * 1.5f;
		memcpy(&v, &f, sizeof(v));
		break;
	case 'N':
		f = (float)(v % 2048) / 256 - 4;
		memcpy(&v, &f, sizeof(v));
		break;
	case 'D':
		memcpy(to + i * sizeof(d), &d, sizeof(d));
		return;
	default:
		break;
	}
	memcpy(to + i * sizeof(v), &v, sizeof(v));
}

/*
 * Write `bytes` of elements at `at`; what is longer than the pattern repeats it, but for rows.  The
 * device repeats it, each time all that is there already: copies from the host would take seconds
 * for the kernels that have gigabytes.
 */
static int fill(struct bench_suite *s, CUdeviceptr at, const struct bench_suite_arg *a,
		uint64_t bytes, struct gs_error *err)
{
	uint64_t made = a->kind == ARG_ROWS || bytes < PATTERN ? bytes : PATTERN;
	uint64_t size = a->fill == 'D' ? sizeof(double) : sizeof(uint32_t);
	uint8_t *host = malloc(made + size);
	int rc;

	if (!host)
		return gs_fail(err, "no memory");
	for (uint64_t i = 0; i * size < made; i++)
		element(a, i, host);
	rc = BENCH_CU(s->cu, err, cuMemcpyHtoD, at, host, made);
	for (uint64_t done = made; rc == 0 && done < bytes; done *= 2)
		rc = BENCH_CU(s->cu, err, cuMemcpyDtoD, at + done, at,
			      done < bytes - done ? done : bytes - done);
	free(host);
	return rc;
}

static int add(struct bench_suite *s, size_t i, struct gs_error *err)
{
	const struct bench_suite_arg *a = &s->entry.arg[i];
	CUdeviceptr at;
	size_t bytes;

	if (a->kind == ARG_VAR) {
		if (BENCH_CU(s->cu, err, cuModuleGetGlobal, &at, &bytes, s->module, a->name) < 0)
			return -1;
		return fill(s, at, a, bytes, err);
	}
	if (a->kind == ARG_INT) {
		s->value[i] = a->n;
	} else if (a->kind == ARG_REAL) {
		memcpy(&s->value[i], &a->real, sizeof(a->real));
	} else {
		if (BENCH_CU(s->cu, err, cuMemAlloc, &s->memory[i], a->bytes) < 0)
			return -1;
		s->value[i] = s->memory[i];
		if ((a->kind == ARG_OUT ?
			     BENCH_CU(s->cu, err, cuMemsetD8, s->memory[i], 0, a->bytes) :
			     fill(s, s->memory[i], a, a->bytes, err)) < 0)
			return -1;
	}
	s->param[s->params++] = &s->value[i];
	return 0;
}

char *bench_suite_text(const char *folder, const char *file, struct gs_error *err)
{
	char path[PATH_MAX];
	size_t len;

	snprintf(path, sizeof(path), "%s/%s.ptx", folder, file);
	return gs_read_file(path, TEXT_MAX, &len, err);
}

/* All of the kernel's memory at its size. */
static int add_all(struct bench_suite *s, struct gs_error *err)
{
	const struct bench_suite_arg *arg = s->entry.arg;

	s->params = 0;
	for (size_t k = 0; k < BENCH_SUITE_ARGS_MAX && arg[k].kind != ARG_NONE; k++)
		if (add(s, k, err) < 0)
			return -1;
	return BENCH_CU(s->cu, err, cuStreamSynchronize, NULL);
}

static void free_memory(struct bench_suite *s)
{
	for (size_t k = 0; k < BENCH_SUITE_ARGS_MAX; k++) {
		if (s->memory[k])
			s->cu->cuMemFree(s->memory[k]);
		s->memory[k] = 0;
	}
}

int bench_suite_resize(struct bench_suite *s, size_t i, uint64_t q, struct gs_error *err)
{
	free_memory(s);
	if (!get(i, q, &s->entry))
		return gs_fail(err, "no such kernel");
	return add_all(s, err);
}

struct bench_suite *bench_suite_load_text(const struct bench_driver *cu, const char *text, size_t i,
					  uint64_t q, struct gs_error *err)
{
	struct bench_suite *s = calloc(1, sizeof(*s));

	if (!s || !get(i, q, &s->entry)) {
		gs_fail(err, s ? "no such kernel" : "no memory");
		free(s);
		return NULL;
	}
	s->cu = cu;
	if (BENCH_CU(cu, err, cuModuleLoadData, &s->module, text) == 0 &&
	    BENCH_CU(cu, err, cuModuleGetFunction, &s->function, s->module, s->entry.kernel) == 0 &&
	    add_all(s, err) == 0)
		return s;
	bench_suite_unload(s);
	return NULL;
}

struct bench_suite *bench_suite_load(const struct bench_driver *cu, const char *folder, size_t i,
				     uint64_t q, struct gs_error *err)
{
	const char *file = bench_suite_file(i);
	struct bench_suite *s = NULL;
	char *text;

	if (!file) {
		gs_fail(err, "no such kernel");
		return NULL;
	}
	text = bench_suite_text(folder, file, err);
	if (text)
		s = bench_suite_load_text(cu, text, i, q, err);
	free(text);
	return s;
}

void bench_suite_unload(struct bench_suite *s)
{
	if (!s)
		return;
	free_memory(s);
	if (s->module)
		s->cu->cuModuleUnload(s->module);
	free(s);
}

int bench_suite_launch(struct bench_suite *s, CUstream stream, struct gs_error *err)
{
	const struct bench_suite_entry *e = &s->entry;

	return BENCH_CU(s->cu, err, cuLaunchKernel, s->function, (unsigned int)e->gx,
			(unsigned int)e->gy, 1, e->bx, e->by, 1, e->shared, stream, s->param, NULL);
}
