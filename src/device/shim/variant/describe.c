/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels' descriptions as bytes; see describe.h. They consist of 32-bit words in this machine's
 * byte order, and of names with their NUL, padded. */
#define _GNU_SOURCE
#include "device/shim/variant/describe.h"

#include <stdlib.h>
#include <string.h>

/* The fields of a kernel that are stored as words, in this order. */
#define WORDS(W) \
	W(transform); \
	W(transforms); \
	W(reason); \
	W(reason_line); \
	W(nparam); \
	W(ctl_offset); \
	W(static_shared); \
	W(max_threads); \
	W(uses_barrier); \
	W(sync_aware); \
	W(whole_warps);

static size_t padded(size_t n)
{
	return (n + 3) / 4 * 4;
}

static size_t length_of(const struct ptx_transformed *t)
{
	size_t n = 4;

	for (uint32_t i = 0; i < t->nkernel; i++) {
#define W(field) n += 4
		WORDS(W)
#undef W
		n += 4 + padded(strlen(t->kernel[i].name) + 1) + sizeof(t->kernel[i].why_not) +
		     8 * (size_t)t->kernel[i].nparam;
	}
	return n;
}

static unsigned char *put(unsigned char *at, const void *from, size_t n)
{
	if (n)
		memcpy(at, from, n);
	return at + padded(n);
}

static unsigned char *put_word(unsigned char *at, uint32_t v)
{
	return put(at, &v, sizeof(v));
}

unsigned char *shim_describe(const struct ptx_transformed *t, size_t *len)
{
	unsigned char *data, *at;

	*len = length_of(t);
	data = at = calloc(1, *len);
	if (!data)
		return NULL;
	at = put_word(at, t->nkernel);
	for (uint32_t i = 0; i < t->nkernel; i++) {
		const struct ptx_kernel *k = &t->kernel[i];
		size_t name = strlen(k->name) + 1;

		at = put_word(at, (uint32_t)name);
		at = put(at, k->name, name);
#define W(field) at = put_word(at, (uint32_t)k->field)
		WORDS(W)
#undef W
		at = put(at, k->why_not, sizeof(k->why_not));
		at = put(at, k->param_offset, 4 * (size_t)k->nparam);
		at = put(at, k->param_size, 4 * (size_t)k->nparam);
	}
	return data;
}

struct reader {
	const unsigned char *at;
	size_t left;
};

static const void *take(struct reader *r, size_t n)
{
	const void *at = r->at;

	if (n > r->left || padded(n) > r->left)
		return NULL;
	r->at += padded(n);
	r->left -= padded(n);
	return at;
}

static int take_word(struct reader *r, uint32_t *v)
{
	const void *from = take(r, sizeof(*v));

	if (from)
		memcpy(v, from, sizeof(*v));
	return from ? 0 : -1;
}

static uint32_t *take_words(struct reader *r, uint32_t n)
{
	const void *from = take(r, 4 * (size_t)n);
	uint32_t *words = from ? malloc(4 * (size_t)n) : NULL;

	if (words)
		memcpy(words, from, 4 * (size_t)n);
	return words;
}

static int take_kernel(struct reader *r, struct ptx_kernel *k)
{
	const void *from;
	uint32_t v;

	if (take_word(r, &v) < 0 || !v || !(from = take(r, v)) || ((const char *)from)[v - 1])
		return -1;
	k->name = strdup(from);
	if (!k->name)
		return -1;
#define W(field) \
	if (take_word(r, &v) < 0) \
		return -1; \
	k->field = (__typeof__(k->field))v
	WORDS(W)
#undef W
	from = take(r, sizeof(k->why_not));
	if (!from || k->transform >= PTX_TRANSFORM_COUNT || k->reason >= PTX_REASON_COUNT)
		return -1;
	memcpy(k->why_not, from, sizeof(k->why_not));
	if (!k->nparam)
		return 0;
	k->param_offset = take_words(r, k->nparam);
	k->param_size = k->param_offset ? take_words(r, k->nparam) : NULL;
	return k->param_size ? 0 : -1;
}

struct ptx_transformed *shim_undescribe(const unsigned char *data, size_t len)
{
	struct ptx_transformed *t = calloc(1, sizeof(*t));
	struct reader r = { data, len };
	uint32_t n;

	/* Every kernel takes more than a word, so a larger number cannot be true. */
	if (!t || take_word(&r, &n) < 0 || n > len / 4 ||
	    !(t->kernel = calloc((size_t)n + 1, sizeof(*t->kernel))))
		goto fail;
	while (t->nkernel < n)
		if (take_kernel(&r, &t->kernel[t->nkernel++]) < 0)
			goto fail;
	if (r.left)
		goto fail;
	return t;
fail:
	ptx_transformed_free(t);
	return NULL;
}
