/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel's times and numbers of launches, for each of its block dimensions; see kernels.h. */
#define _GNU_SOURCE
#include "device/shim/base/counted.h"
#include "device/shim/kernel/kernels.h"
#include "device/shim/session/session.h"

struct shim_time *shim_kernel_time(struct shim_kernel *k, const unsigned int block[3],
				   uint64_t tasks)
{
	uint32_t dims = shim_dims(block[0], block[1], block[2], tasks);

	for (size_t i = 0; i < SHIM_DIMS_MAX - 1; i++) {
		uint32_t known = atomic_load_explicit(&k->time[i].dims, memory_order_relaxed);

		if (known == dims ||
		    (!known && (atomic_compare_exchange_strong(&k->time[i].dims, &known, dims) ||
				known == dims)))
			return &k->time[i];
	}
	return &k->time[SHIM_DIMS_MAX - 1];
}

uint64_t shim_kernel_launches(const struct shim_kernel *k)
{
	uint64_t n = 0;

	for (size_t i = 0; i < SHIM_DIMS_MAX; i++)
		n += shim_time_launches(&k->time[i]);
	return n;
}

/* The entries are used in order, so the first free one ends the search. */
static uint64_t untracked_of(const struct shim_kernel *k)
{
	uint64_t n = 0;

	for (size_t i = 0; i < SHIM_DIMS_MAX && (k->time[i].dims || i == SHIM_DIMS_MAX - 1); i++)
		n += shim_time_untracked(&k->time[i]);
	return n;
}

/* Read what has been reported before the total, which only grows, so the difference is never
 * negative. */
uint32_t shim_kernel_take_untracked(struct shim_kernel *k)
{
	uint64_t told = k->untracked_told, n;

	do {
		n = untracked_of(k) - told;
		if (n > UINT32_MAX)
			n = UINT32_MAX;
	} while (n && !atomic_compare_exchange_weak(&k->untracked_told, &told, told + n));
	return (uint32_t)n;
}

void shim_kernel_recall(struct shim_session *s, struct shim_kernel *k, struct shim_time *t,
			const unsigned int block[3], uint64_t tasks, double part)
{
	uint64_t none = 0, tpt;

	if (t->tpt_ps || atomic_flag_test_and_set(&t->requested))
		return;
	shim_counted_note();
	tpt = gs_client_time(s->client, k->code->number,
			     gs_slot_dims(block[0], block[1], block[2], shim_size(tasks)));
	if (tpt)
		atomic_compare_exchange_strong(&t->tpt_ps, &none,
					       (uint64_t)((double)tpt * part) + 1);
}
