/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments and memory images of a launch; cases.def has the words for arguments. */
#define _GNU_SOURCE
#include "case.h"
#include "picture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNIT 65536u /* bytes of a buffer, unless its word says xN */
#define VARIABLE_MAX 65536u
#define BUFFERS "BIFGDHZURKNTW"

uint64_t case_tasks(const struct test_case *c)
{
	return (uint64_t)c->grid[0] * c->grid[1] * c->grid[2];
}

static uint32_t noise(uint32_t i)
{
	i = (i ^ 61u) ^ (i >> 16);
	i *= 9u;
	i ^= i >> 4;
	i *= 0x27d4eb2du;
	return i ^ i >> 15;
}

/* n: the number behind the letter. */
static void fill(void *data, size_t bytes, char kind, uint32_t n, uint32_t seed)
{
	uint32_t *words = data;

	for (uint32_t i = 0; i < bytes; i++) {
		uint32_t v = noise(i + seed * 977);

		if (kind == 'B')
			((uint8_t *)data)[i] = (uint8_t)v;
		else if (kind == 'H' && i < bytes / 2)
			((uint16_t *)data)[i] = (uint16_t)(0x3c00 + v % 512);
		else if (kind == 'D' && i < bytes / 8)
			((double *)data)[i] = (double)(v % 1000) / 8;
		if (i >= bytes / 4)
			continue;
		switch (kind) {
		case 'I':
			words[i] = v % 100 - 5;
			break;
		case 'U':
			words[i] = v % n;
			break;
		case 'R':
			words[i] = i * n + v % n;
			break;
		case 'K':
			words[i] = v;
			break;
		case 'F':
		case 'T':
		case 'W':
			((float *)data)[i] = (float)(v % 16);
			break;
		case 'G':
			((float *)data)[i] = 0.5f + (float)(v % 1024) / 1024 * 1.5f;
			break;
		case 'N':
			((float *)data)[i] = (float)(int32_t)(v % 2048 - 1024) / 256;
			break;
		default:
			break;
		}
	}
}

/* A letter, a number, and xN units: "U100x4". */
static size_t parse_buffer(const char *word, uint32_t *n)
{
	const char *x = strchr(word, 'x');

	*n = (uint32_t)strtoul(word + 1, NULL, 10);
	if (!*n)
		*n = 1;
	return UNIT * (x ? strtoul(x + 1, NULL, 10) : 1);
}

static void fill_device(const struct launch *l, uint64_t at, size_t bytes, const char *word,
			uint32_t n, uint32_t seed)
{
	uint8_t *data = calloc(1, bytes);

	if (!data)
		fail(l->c, "no memory");
	fill(data, bytes, *word, n, seed);
	DO(l->drv->to_device(at, data, bytes));
	free(data);
}

/* "@name=F": a variable of the module. */
static void set_variable(const struct launch *l, const char *word, uint32_t seed)
{
	char name[200];
	const char *equal = strchr(word, '=');
	uint64_t at;
	size_t bytes;
	uint32_t n;

	snprintf(name, sizeof(name), "%.*s", (int)(equal - word - 1), word + 1);
	DO(l->drv->module_global(&at, &bytes, l->module, name));
	parse_buffer(equal + 1, &n);
	fill_device(l, at, bytes, equal + 1, n, seed);
}

static void add_buffer(struct launch *l, struct buffer *b, const char *word, uint32_t number,
		       unsigned n)
{
	if (*word == 'W') {
		uint8_t *data = calloc(1, b->bytes);

		l->value[n] = b->surface = surface_create(l->drv, b->bytes, &b->array);
		fill(data, b->bytes, 'W', 1, n);
		surface_write(l->drv, b->array, data, b->bytes);
		free(data);
		return;
	}
	DO(l->drv->mem_alloc(&b->at, b->bytes));
	fill_device(l, b->at, b->bytes, word, number, n);
	l->value[n] = b->at;
	if (*word == 'T')
		l->value[n] = b->texture = texture_create(l->drv, b->at, b->bytes);
}

static void add_argument(struct launch *l, const char *word)
{
	unsigned n = l->nargs++;
	float f = (float)atof(word + 1);
	uint32_t number;

	l->pointer[n] = &l->value[n];
	if (strchr(BUFFERS, *word)) {
		struct buffer *b = &l->buffer[n];

		l->nbuffers++;
		b->bytes = parse_buffer(word, &number);
		add_buffer(l, b, word, number, n);
	} else if (*word == 'f') {
		memcpy(&l->value[n], &f, sizeof(f));
	} else if (*word == 'S') {
		l->settings = (struct settings) { { 1, 2, 3, 4, 5 }, 1.5, 7 };
		l->pointer[n] = &l->settings;
	} else if (*word == 'V') {
		fill(l->blob, sizeof(l->blob), 'I', 1, n);
		l->pointer[n] = l->blob;
	} else {
		l->value[n] = (uint64_t)atoll(word + 1);
	}
}

void launch_prepare(struct launch *l, const struct test_case *c, const struct driver *drv,
		    const char *text, const struct ptx_module *ast)
{
	char words[300], *save = NULL;

	memset(l, 0, sizeof(*l));
	l->c = c;
	l->drv = drv;
	l->ast = ast;
	DO(drv->module_load(&l->module, text));
	DO(drv->module_function(&l->original, l->module, c->kernel));
	snprintf(words, sizeof(words), "%s", c->args);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		if (*w == '@')
			set_variable(l, w, l->nargs + 50);
		else if (*w == '>')
			l->prints = 1;
		else if (l->nargs < ARGS_MAX)
			add_argument(l, w);
		else
			fail(c, "too many arguments");
}

void launch_release(struct launch *l)
{
	for (unsigned n = 0; n < l->nargs; n++) {
		const struct buffer *b = &l->buffer[n];

		if (b->texture)
			DO(l->drv->tex_destroy(b->texture));
		if (b->surface)
			DO(l->drv->surf_destroy(b->surface));
		if (b->array)
			DO(l->drv->array_destroy(b->array));
		if (b->at)
			DO(l->drv->mem_free(b->at));
	}
	DO(l->drv->module_unload(l->module));
}

/* A variable that both runs leave alike; addresses differ between two loads. */
static int variable(const struct launch *l, const struct ptx_var *v, uint64_t *at, size_t *bytes)
{
	char name[200];

	if ((v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST) || v->nrelocs ||
	    ptx_starts(v->name, "gpushare_probe"))
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)v->name.len, v->name.s);
	return l->drv->module_global(at, bytes, l->module, name) == 0 && *bytes <= VARIABLE_MAX;
}

size_t image_size(const struct launch *l)
{
	size_t n = 0, bytes;
	uint64_t at;

	for (unsigned i = 0; i < l->nargs; i++)
		n += l->buffer[i].bytes;
	for (uint32_t i = 0; i < l->ast->nvar; i++)
		n += variable(l, &l->ast->var[i], &at, &bytes) ? bytes : 0;
	return n;
}

static void take(const struct launch *l, uint8_t *to, uint64_t at, size_t bytes, void *stream)
{
	if (stream)
		DO(l->drv->to_host_async(to, at, bytes, stream));
	else
		DO(l->drv->to_host(to, at, bytes));
}

void image_take(const struct launch *l, uint8_t *to, void *stream)
{
	size_t bytes;
	uint64_t at;

	for (unsigned i = 0; i < l->nargs; i++) {
		const struct buffer *b = &l->buffer[i];

		if (b->array)
			surface_read(l->drv, b->array, to, b->bytes, stream);
		else if (b->at)
			take(l, to, b->at, b->bytes, stream);
		to += b->bytes;
	}
	for (uint32_t i = 0; i < l->ast->nvar; i++)
		if (variable(l, &l->ast->var[i], &at, &bytes)) {
			take(l, to, at, bytes, stream);
			to += bytes;
		}
}

void image_restore(const struct launch *l, const uint8_t *from)
{
	size_t bytes;
	uint64_t at;

	for (unsigned i = 0; i < l->nargs; i++) {
		const struct buffer *b = &l->buffer[i];

		if (b->array)
			surface_write(l->drv, b->array, from, b->bytes);
		else if (b->at)
			DO(l->drv->to_device(b->at, from, b->bytes));
		from += b->bytes;
	}
	for (uint32_t i = 0; i < l->ast->nvar; i++)
		if (variable(l, &l->ast->var[i], &at, &bytes)) {
			DO(l->drv->to_device(at, from, bytes));
			from += bytes;
		}
}

static FILE *captured;
static int own_stdout = -1;

void capture_begin(void)
{
	fflush(stdout);
	captured = tmpfile();
	own_stdout = dup(STDOUT_FILENO);
	if (!captured || own_stdout < 0 || dup2(fileno(captured), STDOUT_FILENO) < 0)
		exit(99);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *capture_end(void)
{
	char *line[4096], *text = NULL;
	size_t n = 0, bytes = 0, size = 0;
	ssize_t got;
	FILE *out = open_memstream(&text, &bytes);

	fflush(stdout);
	dup2(own_stdout, STDOUT_FILENO);
	close(own_stdout);
	rewind(captured);
	for (; n < 4096; n++) {
		line[n] = NULL;
		got = getline(&line[n], &size, captured);
		size = 0;
		if (got < 0)
			break;
	}
	if (n < 4096)
		free(line[n]);
	qsort(line, n, sizeof(*line), compare_lines);
	for (size_t i = 0; i < n; i++) {
		fputs(line[i], out);
		free(line[i]);
	}
	fclose(out);
	fclose(captured);
	return text;
}

void fail(const struct test_case *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "FAIL: %s, grid %u %u %u: ", c->kernel, c->grid[0], c->grid[1], c->grid[2]);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	_exit(1);
}
