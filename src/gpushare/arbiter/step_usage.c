/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Per-step and per-kernel accounting; see step_usage.h. */
#define _GNU_SOURCE
#include "gpushare/arbiter/step_usage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/metrics/metrics.h"

/* FNV-1a. Users choose the names, but the table is bounded, so collisions only cost time. */
static uint32_t hash_name(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h;
}

static int find(const struct gs_step_usage *t, const char *name, uint32_t hash)
{
	for (uint32_t i = 0; i < t->nkernel; i++)
		if (t->kernel[i].hash == hash && strcmp(t->kernel[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int add(struct gs_step_usage *t, const char name[GS_STEP_USAGE_NAME_MAX], uint32_t hash)
{
	struct gs_step_usage_kernel *k;

	if (t->nkernel >= GS_STEP_USAGE_KERNELS_MAX)
		return -1;
	if ((t->nkernel & (t->nkernel - 1)) == 0) { /* room doubles at each power of two */
		size_t room = t->nkernel ? 2 * (size_t)t->nkernel : 1;

		k = realloc(t->kernel, room * sizeof(*k));
		if (!k)
			return -1;
		t->kernel = k;
	}
	k = &t->kernel[t->nkernel];
	memset(k, 0, sizeof(*k));
	memcpy(k->name, name, sizeof(k->name));
	k->hash = hash;
	return (int)t->nkernel++;
}

int gs_step_usage_announce(struct gs_step_usage *t, struct gs_kernel_map *map, uint32_t number,
			   const char *name, uint32_t transform, uint32_t reason,
			   uint32_t registers)
{
	char kept[GS_STEP_USAGE_NAME_MAX];
	uint32_t hash;
	int i;

	if (number >= GS_STEP_USAGE_KERNELS_MAX)
		return -1;
	strncpy(kept, name, sizeof(kept) - 1);
	kept[sizeof(kept) - 1] = '\0';
	hash = hash_name(kept);
	i = find(t, kept, hash);
	if (i < 0)
		i = add(t, kept, hash);
	if (i < 0)
		return -1;
	/* Keep what is known: this client may not have a variant yet while another has one. */
	if (transform || !t->kernel[i].transform) {
		t->kernel[i].transform = transform;
		t->kernel[i].reason = reason;
	}
	t->kernel[i].registers = registers;
	map->slot[number] = (uint16_t)(i + 1);
	return 0;
}

struct gs_step_usage_kernel *gs_step_usage_kernel(struct gs_step_usage *t,
						  const struct gs_kernel_map *map, uint32_t number)
{
	if (number >= GS_STEP_USAGE_KERNELS_MAX || !map->slot[number] ||
	    map->slot[number] > t->nkernel)
		return NULL;
	return &t->kernel[map->slot[number] - 1];
}

void gs_step_usage_variant(struct gs_step_usage_kernel *k, const struct gs_step_usage_variant *is)
{
	struct gs_step_usage_variant *v;

	if (!k)
		return;
	v = &k->variant;
	if (is->made_of)
		v->made_of = is->made_of;
	if (is->since_s && (!v->since_s || is->since_s < v->since_s))
		v->since_s = is->since_s;
	if (is->written_ps && is->variant_ps) {
		v->written_ps = is->written_ps;
		v->variant_ps = is->variant_ps;
	}
	if (is->blocks) {
		v->blocks = is->blocks;
		v->block_ns = is->block_ns;
		v->at_once = is->at_once;
	}
}

static double over(uint64_t what, uint64_t of)
{
	return what && of ? (double)what / (double)of : NAN;
}

double gs_step_usage_cost(const struct gs_step_usage_variant *v)
{
	return over(v->variant_ps, v->written_ps);
}

double gs_step_usage_waves(const struct gs_step_usage_variant *v)
{
	return over(v->blocks, v->at_once);
}

double gs_step_usage_evictable_pct(const struct gs_step_usage_time *t)
{
	return t->gpu_ns ? 100.0 * (double)(t->gpu_ns - t->unevictable_ns) / (double)t->gpu_ns :
			   NAN;
}

static uint32_t to_us(uint64_t ns)
{
	uint64_t us = ns / 1000;

	return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

void gs_step_usage_evicted(struct gs_step_usage_evicted *of, uint64_t ns)
{
	of->sample_us[of->n % GS_STEP_USAGE_SAMPLES] = to_us(ns);
	of->n++;
}

static void add_time(struct gs_step_usage_time *t, uint64_t ns, uint64_t launches, int evictable)
{
	t->gpu_ns += ns;
	t->unevictable += evictable ? 0 : launches;
	t->unevictable_ns += evictable ? 0 : ns;
}

void gs_step_usage_ran(struct gs_step_usage *t, struct gs_step_usage_kernel *k, uint64_t ns,
		       uint64_t launches, int evictable)
{
	add_time(&t->time, ns, launches, evictable);
	if (k)
		add_time(&k->time, ns, launches, evictable);
}

void gs_step_usage_left(struct gs_step_usage_kernel *k, uint64_t ns)
{
	if (!k->sample_us)
		k->sample_us = calloc(GS_STEP_USAGE_KERNEL_SAMPLES, sizeof(*k->sample_us));
	if (!k->sample_us)
		return;
	k->sample_us[k->left % GS_STEP_USAGE_KERNEL_SAMPLES] = to_us(ns);
	k->left++;
}

double gs_step_usage_left_us(const struct gs_step_usage_kernel *k, double quantile)
{
	double us[GS_STEP_USAGE_KERNEL_SAMPLES];
	size_t n = k->left < GS_STEP_USAGE_KERNEL_SAMPLES ? (size_t)k->left :
							    GS_STEP_USAGE_KERNEL_SAMPLES;

	for (size_t i = 0; i < n; i++)
		us[i] = k->sample_us[i];
	return gs_quantile(us, n, quantile);
}

void gs_step_usage_quantiles(struct gs_step_usage_evicted *of)
{
	double us[GS_STEP_USAGE_SAMPLES];
	size_t n = of->n < GS_STEP_USAGE_SAMPLES ? (size_t)of->n : GS_STEP_USAGE_SAMPLES;

	/* so that a thousand steps that have ended take little memory */
	if (of->quantiles_of == of->n)
		return;
	for (size_t i = 0; i < n; i++)
		us[i] = of->sample_us[i];
	of->p50_us = gs_quantile(us, n, 0.50);
	of->p99_us = gs_quantile(us, n, 0.99);
	of->quantiles_of = of->n;
}

static int more_launches(const void *a, const void *b)
{
	const struct gs_step_usage_kernel *x = a, *y = b;

	return (x->launches < y->launches) - (x->launches > y->launches);
}

void gs_step_usage_trim(struct gs_step_usage *t, uint32_t most)
{
	struct gs_step_usage_kernel *kept;

	if (t->nkernel <= most)
		return;
	qsort(t->kernel, t->nkernel, sizeof(*t->kernel), more_launches);
	for (uint32_t i = most; i < t->nkernel; i++)
		free(t->kernel[i].sample_us);
	t->nkernel = most;
	/* In place, each trimmed list would leave a gap that is too small for the next long one. */
	kept = malloc(most * sizeof(*kept));
	if (!kept)
		return;
	memcpy(kept, t->kernel, most * sizeof(*kept));
	free(t->kernel);
	t->kernel = kept;
}

static uint32_t *copy_samples(const uint32_t *sample_us)
{
	uint32_t *copy = sample_us ? malloc(GS_STEP_USAGE_KERNEL_SAMPLES * sizeof(*copy)) : NULL;

	if (copy)
		memcpy(copy, sample_us, GS_STEP_USAGE_KERNEL_SAMPLES * sizeof(*copy));
	return copy;
}

static void free_kernels(struct gs_step_usage *t)
{
	for (uint32_t i = 0; i < t->nkernel; i++)
		free(t->kernel[i].sample_us);
	free(t->kernel);
	t->kernel = NULL;
	t->nkernel = 0;
}

static void copy_kernels(struct gs_step_usage *to, const struct gs_step_usage *from)
{
	free_kernels(to);
	to->kernel = from->nkernel ? malloc(from->nkernel * sizeof(*to->kernel)) : NULL;
	if (!to->kernel)
		return;
	to->nkernel = from->nkernel;
	for (uint32_t i = 0; i < from->nkernel; i++) {
		struct gs_step_usage_kernel *k = &to->kernel[i];

		*k = from->kernel[i];
		k->sample_us = copy_samples(k->sample_us);
		if (!k->sample_us)
			k->left = 0;
	}
}

void gs_step_usage_copy(struct gs_step_usage *to, const struct gs_step_usage *from,
			int with_kernels)
{
	struct gs_step_usage_kernel *kernel = to->kernel;
	uint32_t nkernel = to->nkernel;
	struct gs_timing *timing = to->timing;

	*to = *from;
	to->kernel = kernel;
	to->nkernel = nkernel;
	to->timing = timing;
	if (timing && from->timing)
		*timing = *from->timing;
	if (with_kernels)
		copy_kernels(to, from);
}

int gs_step_usage_time(struct gs_step_usage *t)
{
	if (!t->timing)
		t->timing = calloc(1, sizeof(*t->timing));
	return t->timing ? 0 : -1;
}

void gs_step_usage_fini(struct gs_step_usage *t)
{
	free_kernels(t);
	free(t->timing);
	t->timing = NULL;
}
