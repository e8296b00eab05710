/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrivals and their shuffle; see order.h. */
#include "gpushare/sim/order.h"

#include <inttypes.h>
#include <stdlib.h>

/* splitmix64, since unlike rand() it gives the same sequence on every machine. */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static int by_time(const void *a, const void *b)
{
	const struct sim_arrival *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

int sim_order_check(const struct sim_order *order, uint64_t kernels, struct gs_error *err)
{
	if (!order->has_gap || !order->gap_ns || kernels <= UINT64_MAX / 2 / order->gap_ns)
		return 0;
	return gs_fail(err, "--gap: too long for %" PRIu64 " kernels", kernels);
}

void sim_order_first(const struct sim_order *order, const struct sim_workload *workload,
		     struct sim_arrival *arrival, uint64_t *state)
{
	for (size_t i = 0; i < workload->count; i++)
		arrival[i] = (struct sim_arrival) {
			.at_ns =
				order->has_gap ? i * order->gap_ns : workload->kernel[i].arrival_ns,
			.kernel = (uint32_t)i,
		};
	qsort(arrival, workload->count, sizeof(*arrival), by_time);
	*state = order->seed;
}

/* Fisher and Yates. */
void sim_order_next(const struct sim_order *order, struct sim_arrival *arrival, size_t count,
		    uint64_t *state)
{
	for (size_t i = count; order->shuffle && i > 1; i--) {
		size_t j = (size_t)(draw(state) % i);
		uint32_t kernel = arrival[i - 1].kernel;

		arrival[i - 1].kernel = arrival[j].kernel;
		arrival[j].kernel = kernel;
	}
}
