/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Equals divide the GPU by allocations, whatever the number of their clients (arbiter/group.h). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_rig.h"
#include "sharing_rig.h"
#include "gpushare/arbiter/gpu_core.h"

/* Each test under both ways of Isolation=, and where equals take turns. */
enum sharing { CONTEXTS, MPS, TURNS };

#define MOST 8

static struct client *client[MOST];
static uint64_t left[MOST];
static unsigned clients;

static void begin_as(enum sharing sharing)
{
	begin_sharing("frs", sharing == MPS);
	clients = 0;
}

static unsigned add(uint64_t alloc, uint32_t shares)
{
	client[clients] = join_in(1 + clients, 5, alloc, shares);
	left[clients] = 1;
	return clients++;
}

static void end(void)
{
	for (unsigned i = 0; i < clients; i++)
		leave(client[i]);
	gs_gpu_destroy(gpu);
}

/* A ms of a client that always has a kernel of ns. 1: it ran. */
static unsigned is_on(unsigned i, enum sharing sharing, uint64_t ns)
{
	if (sharing == TURNS)
		return work(client[i], &left[i], 1, ns);
	keep_busy(client[i], &left[i], ns);
	return state(client[i], 0) == GS_K_RUNNING;
}

/* The same of one that has a kernel of a ms only each `every` ms. */
static unsigned is_on_sometimes(unsigned i, enum sharing sharing, unsigned ms, unsigned every)
{
	if (state(client[i], 0) == GS_K_PREP && ms % every)
		return 0;
	if (ms % every || state(client[i], 0) != GS_K_PREP) {
		/* finish what has begun, and begin nothing */
		agent(client[i]);
		if (state(client[i], 0) == GS_K_TOEVICT) {
			evicted(client[i], 0, 1);
			agent(client[i]);
		}
		if (state(client[i], 0) != GS_K_RUNNING)
			return 0;
		finish(client[i], 0);
		go(client[i], 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		return 1;
	}
	launch_leaving(client[i], 0, sharing == TURNS, sharing == TURNS ? SOON : 0, MS);
	return 0;
}

/* How many clients have kernels on the GPU in this ms, and each allocation's part of it if those
 * divide it evenly. */
static void book(const unsigned on[MOST], double had[3])
{
	unsigned all = 0;

	for (unsigned i = 0; i < clients; i++)
		all += on[i];
	for (unsigned i = 0; i < clients; i++)
		if (on[i])
			had[client[i]->gpu_client->p.alloc] += 1.0 / all;
}

/* The part, in thousandths, of the job with one client of `shares` beside another one that has
 * `busy` clients like it and `idle` that compute for a ms each 80 ms. */
static unsigned part_of_one(enum sharing sharing, uint32_t shares, unsigned busy, unsigned idle,
			    uint64_t ns)
{
	double had[3] = { 0 };

	begin_as(sharing);
	add(1, shares);
	for (unsigned i = 0; i < busy + idle; i++)
		add(2, 100 - shares);
	for (unsigned ms = 0; ms < 10000; ms++) {
		unsigned on[MOST] = { 0 };

		for (unsigned i = 0; i < clients; i++)
			on[i] = i <= busy ? is_on(i, sharing, ns) :
					    is_on_sometimes(i, sharing, ms + 11 * i, 80);
		if (ms >= 2000)
			book(on, had);
		grant(MS);
	}
	end();
	return (unsigned)(1000 * had[1] / (had[1] + had[2]));
}

static void more_processes_have_no_larger_part(void **unused)
{
	(void)unused;
	for (unsigned busy = 1; busy < MOST; busy += 2) {
		assert_in_range(part_of_one(CONTEXTS, 50, busy, 0, MS), 450, 550);
		assert_in_range(part_of_one(MPS, 50, busy, 0, MS), 450, 550);
		assert_in_range(part_of_one(TURNS, 50, busy, 0, 100 * MS), 450, 550);
	}
	assert_in_range(part_of_one(CONTEXTS, 75, 3, 0, MS), 680, 800);
	assert_in_range(part_of_one(MPS, 75, 3, 0, MS), 680, 800);
}

static void idle_processes_cost_a_job_nothing(void **unused)
{
	(void)unused;
	for (enum sharing sharing = CONTEXTS; sharing <= TURNS; sharing++) {
		assert_in_range(part_of_one(sharing, 50, 1, 3, 5 * MS), 440, 560);
		assert_in_range(part_of_one(sharing, 25, 1, 3, 5 * MS), 200, 350);
	}
}

/* How often the time slice has gone to another client. */
static unsigned changes(uint64_t *holder)
{
	struct gs_gpu_status is;
	unsigned changed;

	gs_gpu_status(gpu, &is);
	changed = is.holder && is.holder != *holder;
	if (is.holder)
		*holder = is.holder;
	return changed;
}

/* One process of a job takes turns with two of another job, the last of which comes late. */
static void turns_with_one_that_comes_late(void **unused)
{
	unsigned had[3] = { 0 }, all, waited = 0, longest = 0, changed = 0;
	uint64_t holder = 0;

	(void)unused;
	begin_as(TURNS);
	add(1, 50);
	add(2, 50);
	for (unsigned ms = 0; ms < 40000; ms++) {
		if (ms == 20000)
			add(2, 50);
		for (unsigned i = 0; i < clients; i++) {
			unsigned on = is_on(i, TURNS, 100 * MS);

			had[i] += on && ms >= 20000;
			if (i == 1 && ms >= 20000) {
				waited = on ? 0 : waited + 1;
				longest = waited > longest ? waited : longest;
			}
		}
		if (ms >= 20000)
			changed += changes(&holder);
		grant(MS);
	}
	all = had[0] + had[1] + had[2];
	assert_in_range(all, 18000, 20000);
	assert_in_range(1000 * had[0] / all, 450, 550);
	assert_in_range(1000 * had[1] / all, 180, 320);
	assert_in_range(1000 * had[2] / all, 180, 320);
	assert_in_range(longest, 0, 1000);
	assert_in_range(changed, 40, 1200);
	end();
}

/* A policy that goes by lengths alone wants the shorter task each time it is asked. It gets no more
 * than the accounts allow, and is not blamed for what it wants. */
static void policies_that_preempt(void **unused)
{
	static const char *const policies[] = { "sjf", "srt", "piv" };

	(void)unused;
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		unsigned had[2] = { 0 }, waited = 0, longest = 0;
		struct gs_gpu_status is;
		struct gs_gpu_options o = options_of(policies[i]);

		o.leave_most_ns = 300 * US;
		begin_with(&o);
		clients = 0;
		add(1, 50);
		add(2, 50);
		for (unsigned ms = 0; ms < 30000; ms++) {
			unsigned on = is_on(0, TURNS, 900 * MS);

			had[0] += on;
			had[1] += is_on(1, TURNS, 50 * MS);
			waited = on ? 0 : waited + 1;
			longest = waited > longest ? waited : longest;
			grant(MS);
		}
		gs_gpu_status(gpu, &is);
		assert_int_equal(is.faults, 0);
		assert_in_range(had[0] + had[1], 27000, 30000);
		assert_in_range(had[0], 12000, 18000);
		assert_in_range(longest, 0, 4500); /* from two seconds ahead to two behind */
		end();
	}
}

/* One that begins anew, by a change of its priority, whenever an equal pauses gains nothing. */
static void beginning_anew_in_pauses_gains_nothing(void **unused)
{
	(void)unused;
	for (enum sharing sharing = CONTEXTS; sharing <= TURNS; sharing++) {
		double had[3] = { 0 };
		unsigned worked = 0, paused = 0;

		begin_as(sharing);
		add(1, 50);
		add(2, 50);
		for (unsigned ms = 0; ms < 20000; ms++) {
			unsigned on[MOST] = { 0 };

			on[0] = is_on(0, sharing, 5 * MS);
			if (worked < 60) {
				on[1] = is_on(1, sharing, MS);
				worked += on[1];
			} else {
				is_on_sometimes(1, sharing, 1, 80);
				if (++paused == 5) {
					gs_gpu_client_priority(client[0]->gpu_client, 4, 5, now);
					grant(10 * US);
					gs_gpu_client_priority(client[0]->gpu_client, 5, 5, now);
				}
				if (paused == 8)
					worked = paused = 0;
			}
			book(on, had);
			grant(MS);
		}
		assert_in_range(1000 * had[1] / (had[1] + had[2]), 400, 600);
		end();
	}
}

/* A job of `count` processes which compute for a ms every so many ms, and are all busy after 20 s:
 * another one's part of the 3 s after that, in thousandths; *longest: its longest wait in ms. */
static unsigned part_beside_idle(enum sharing sharing, unsigned count, unsigned every,
				 unsigned *longest)
{
	double had[3] = { 0 };
	unsigned waited = 0;

	begin_as(sharing);
	add(1, 50);
	for (unsigned i = 0; i < count; i++)
		add(2, 50);
	*longest = 0;
	for (unsigned ms = 0; ms < 23000; ms++) {
		unsigned on[MOST] = { 0 };

		on[0] = is_on(0, sharing, 5 * MS);
		for (unsigned i = 1; i < clients; i++)
			on[i] = ms >= 20000 ?
					is_on(i, sharing, 5 * MS) :
					is_on_sometimes(i, sharing, ms + every / 4 * i, every);
		if (ms >= 20000)
			book(on, had);
		waited = on[0] ? 0 : waited + 1;
		*longest = waited > *longest ? waited : *longest;
		grant(MS);
	}
	end();
	return (unsigned)(1000 * had[1] / (had[1] + had[2]));
}

/* A job whose processes are mostly idle has not waited: it has no right to the GPU for seconds once
 * they are busy. */
static void idle_processes_save_little(void **unused)
{
	unsigned longest;

	(void)unused;
	for (enum sharing sharing = CONTEXTS; sharing <= TURNS; sharing++)
		for (unsigned count = 1; count <= 4; count += 3)
			for (unsigned every = 80; every <= 160; every *= 2) {
				assert_in_range(part_beside_idle(sharing, count, every, &longest),
						330, 600);
				assert_in_range(longest, 0, 800);
			}
}

/* A job with many busy processes is ahead. They lower their priority and take it back while another
 * one of the job, which has been idle, comes first: the lead stays. */
static void nobody_drops_the_lead_of_a_group(void **unused)
{
	(void)unused;
	for (enum sharing sharing = CONTEXTS; sharing <= TURNS; sharing++) {
		uint64_t ns = sharing == TURNS ? 50 * MS : MS;
		double had[3] = { 0 };

		begin_as(sharing);
		add(1, 50);
		for (unsigned i = 0; i < 6; i++)
			add(2, 50);
		for (unsigned ms = 0; ms < 30000; ms++) {
			unsigned on[MOST] = { 0 }, flips = ms % 430 == 0 && ms >= 430;

			for (unsigned i = 0; flips && i < 2; i++) {
				for (unsigned k = 2; k < clients; k++)
					gs_gpu_client_priority(client[k]->gpu_client, i ? 5 : 4, 5,
							       now);
				if (!i) { /* the idle one's kernel */
					is_on_sometimes(1, sharing, 0, 1);
					grant(10 * US);
				}
			}
			on[0] = is_on(0, sharing, ns);
			on[1] = is_on_sometimes(1, sharing, 1, 80);
			for (unsigned k = 2; k < clients; k++)
				on[k] = is_on(k, sharing, ns);
			book(on, had);
			grant(MS);
		}
		assert_in_range(1000 * had[1] / (had[1] + had[2]), 440, 600);
		end();
	}
}

/* While one is repaid what it had not had, more urgent ones go first, those that have waited for as
 * long as StarvationBound= says, and those that are its equals only since it has another priority.
 * The longest wait of a client that wants a ms every now and then. */
static unsigned longest_wait(const char *policy, int32_t priority, uint64_t bound_ns)
{
	struct gs_gpu_options o = options_of(policy);
	unsigned waited = 0, longest = 0;

	o.leave_most_ns = 300 * US;
	o.sched.by_priority = 1;
	o.sched.starvation_ns = bound_ns;
	begin_with(&o);
	clients = 0;
	add(1, 50);
	add(2, 50);
	add(3, 50);
	client[clients] = join(9, priority);
	clients++;
	for (unsigned ms = 0; ms < 30000; ms++) {
		is_on(0, TURNS, 900 * MS);
		is_on(1, TURNS, 5 * MS);
		is_on(2, TURNS, 5 * MS);
		is_on_sometimes(3, TURNS, ms, 97);
		waited = state(client[3], 0) == GS_K_READY ? waited + 1 : 0;
		longest = waited > longest ? waited : longest;
		grant(MS);
	}
	end();
	return longest;
}

static void repaying_delays_only_equals(void **unused)
{
	(void)unused;
	for (unsigned bound_ms = 0; bound_ms <= 40; bound_ms += 20) {
		assert_in_range(longest_wait("frs", 9, bound_ms * MS), 0, 10);
		assert_in_range(longest_wait("srt", 9, bound_ms * MS), 0, 10);
	}
	assert_in_range(longest_wait("frs", 1, 50 * MS), 0, 70);
	assert_in_range(longest_wait("frs", 5, 30 * MS), 0, 60);
}

/* Within one allocation a step with a tenth of another's shares saves up no more than that. */
static void steps_of_one_allocation(void **unused)
{
	(void)unused;
	for (enum sharing sharing = MPS; sharing <= TURNS; sharing++) {
		unsigned waited = 0, longest = 0;

		begin_as(sharing);
		add(1, 90);
		add(1, 90);
		client[1]->gpu_client->p.shares = 9;
		for (unsigned ms = 0; ms < 40000; ms++) {
			unsigned on = is_on(0, sharing, 5 * MS);

			if (ms < 30000)
				is_on_sometimes(1, sharing, ms, 90);
			else
				is_on(1, sharing, 5 * MS);
			waited = on ? 0 : waited + 1;
			longest = waited > longest ? waited : longest;
			grant(MS);
		}
		assert_in_range(longest, 0, 600);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_processes_have_no_larger_part),
		cmocka_unit_test(idle_processes_cost_a_job_nothing),
		cmocka_unit_test(turns_with_one_that_comes_late),
		cmocka_unit_test(policies_that_preempt),
		cmocka_unit_test(beginning_anew_in_pauses_gains_nothing),
		cmocka_unit_test(idle_processes_save_little),
		cmocka_unit_test(nobody_drops_the_lead_of_a_group),
		cmocka_unit_test(repaying_delays_only_equals),
		cmocka_unit_test(steps_of_one_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
