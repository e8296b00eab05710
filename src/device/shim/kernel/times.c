/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which launches are timed, and what is learned from them; see times.h. */
#define _GNU_SOURCE
#include "device/shim/kernel/times.h"

#include "common/clock.h"
#include "gpushare/proto/page.h"

/*
 * The first SAMPLE_FIRST launches are timed, and as many after a surprise, then one of
 * SAMPLE_EVERY. That is odd, so that both are timed if a program alternates between two sizes. Far
 * fewer are timed while nobody else uses the GPU, since nobody would wait for a kernel that has
 * become longer: the predicted times of a short kernel may add up to SAMPLE_ALONE_NS until it is
 * timed again, and a client that comes has all postponed ones timed. Timing one launch costs its
 * thread 10 to 18 us, and a step of PyTorch is 480 short launches: timing one of 127 to 255 cost it
 * 0.8 %.
 */
#define SAMPLE_FIRST 4
#define SAMPLE_EVERY 31
#define SAMPLE_ALONE 127
#define SAMPLE_ALONE_MOST 1023
#define SAMPLE_ALONE_NS (64 * GS_NS_PER_MS)
/* Beside others' kernels a launch that takes this many times longer may have become longer: each
 * such sample raises the time by this part, and other samples undo that. */
#define LONGER_BY 4
#define LONGER_STEP 8
/* Until this many launches the time may still be mostly that of the first launch, which a cold GPU
 * makes many times longer. */
#define SAMPLE_SETTLED (2 * SAMPLE_ALONE_MOST)

/* One of how many launches is timed while nobody else uses the GPU. takes_ns 0: not known. */
static uint32_t one_of_alone(uint64_t takes_ns)
{
	uint64_t n = takes_ns ? SAMPLE_ALONE_NS / takes_ns : 0;

	return n < SAMPLE_ALONE      ? SAMPLE_ALONE :
	       n < SAMPLE_ALONE_MOST ? (uint32_t)n | 1 :
				       SAMPLE_ALONE_MOST;
}

uint8_t shim_time_take(struct shim_time *t, uint64_t n, uint64_t takes_ns, int shared)
{
	uint64_t due = t->due;
	uint32_t again = t->again;
	int soon = again > 1 || n < SAMPLE_FIRST - 1;

	if (!shim_time_due(t, n, shared) ||
	    !atomic_compare_exchange_strong(&t->due, &due, n + (soon ? 1 : SAMPLE_EVERY)))
		return SHIM_UNTIMED;
	t->spare = soon ? 0 : one_of_alone(takes_ns) - SAMPLE_EVERY;
	if (!again)
		return SHIM_TIMED;
	atomic_compare_exchange_strong(&t->again, &again, again - 1);
	return SHIM_TIMED_AGAIN;
}

int shim_time_is_settled(const struct shim_time *t)
{
	return t->tpt_ps && shim_time_launches(t) > SAMPLE_FIRST;
}

void shim_time_again(struct shim_time *t, uint32_t launches)
{
	t->again = launches;
	t->due = 0;
}

/*
 * The mean moves by a quarter whatever the sample says: a sample is too long if another context had
 * the GPU in between, and a kernel whose time varies should be predicted by its mean, since that is
 * what queues up. But a sample that is far off requests more samples at once. So a kernel whose
 * work has changed is two thirds of the way there after 34 launches, and the effect of one wrong
 * sample is less than half after as many (130 to 1,026 while nobody else uses the GPU). Those
 * samples request no more in turn: for a kernel that is never near its mean, 4 launches of 34 are
 * timed, and the others may go untracked. Nor does a shorter sample, once there were many launches
 * and while nobody else uses the GPU: nobody waits for a time that is predicted too long, and a
 * client that comes has the next launches timed.
 */
uint64_t shim_time_learn(struct shim_time *t, uint64_t tpt_ps, enum shim_timed timed, int shared,
			 uint32_t beside)
{
	uint64_t old = t->tpt_ps;

	if (beside) {
		if (old ? tpt_ps < old : beside == GS_BESIDE_SLICED)
			t->tpt_ps = tpt_ps + 1;
		else if (!old)
			shim_time_again(t, 1);
		else if (tpt_ps / LONGER_BY > old)
			t->tpt_ps = old + old / LONGER_STEP;
		return 0;
	}
	t->tpt_ps = old ? (3 * old + tpt_ps) / 4 : tpt_ps + 1;
	if (!old || (tpt_ps / 2 <= old && tpt_ps >= old / 2))
		return 0;
	if (timed == SHIM_TIMED &&
	    (shared || tpt_ps > old || shim_time_launches(t) < SAMPLE_SETTLED))
		shim_time_again(t, SAMPLE_FIRST - 1);
	return tpt_ps > old ? old : 0;
}

void shim_time_forget(struct shim_time *t)
{
	t->tpt_ps = 0;
	shim_time_again(t, SAMPLE_FIRST - 1);
}
