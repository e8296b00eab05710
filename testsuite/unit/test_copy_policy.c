/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose copies wait: small cases by hand, and random ones against what is promised. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/arbiter/copy_policy.h"

#define MS GS_NS_PER_MS
#define US GS_NS_PER_US
#define MIB (UINT64_C(1) << 20)

static struct gs_copier a, b, c;
static struct gs_copier *two[] = { &a, &b }, *three[] = { &a, &b, &c };
static uint64_t now;

static int setup(void **state)
{
	(void)state;
	a = b = c = (struct gs_copier) { .rank = 1, .shares = 50 };
	now = 1000 * MS;
	return 0;
}

static void decide(enum gs_copy_policy policy, size_t n, uint64_t after)
{
	now += after;
	gs_copy_decide(policy, n == 2 ? two : three, n, now);
}

static void no_policy_holds_nobody(void **state)
{
	(void)state;
	b.rank = 5;
	a.wants = b.wants = 1;
	a.bytes = 1000 * MIB;
	decide(GS_COPY_POLICY_NO, 2, 0);
	assert_true(!a.closed && !b.closed);
}

static void the_less_urgent_waits_while_the_other_copies(void **state)
{
	(void)state;
	b.rank = 5;
	a.wants = 1;
	decide(GS_COPY_POLICY_PRIORITY, 2, 0);
	assert_true(!a.closed && !b.closed);
	b.wants = 1;
	decide(GS_COPY_POLICY_PRIORITY, 2, 1 * MS);
	assert_true(a.closed && !b.closed);
	decide(GS_COPY_POLICY_PRIORITY, 2, 1 * MS);
	b.wants = 0;
	decide(GS_COPY_POLICY_PRIORITY, 2, 1 * MS);
	assert_true(!a.closed && !b.closed);
	assert_int_equal(a.waited_ns, 2 * MS);
	assert_int_equal(b.waited_ns, 0);
	b.wants = 1; /* again, and it is closed at once */
	decide(GS_COPY_POLICY_PRIORITY, 2, 10 * US);
	assert_true(a.closed);
}

static void who_has_nothing_to_copy_does_not_wait(void **state)
{
	(void)state;
	b.rank = 5;
	b.wants = 1;
	decide(GS_COPY_POLICY_PRIORITY, 2, 0);
	assert_true(a.closed); /* what it begins now is to wait */
	decide(GS_COPY_POLICY_PRIORITY, 2, 5 * MS);
	assert_int_equal(a.waited_ns, 0);
}

static void for_20_ms_at_most_and_then_a_while_not(void **state)
{
	(void)state;
	b.rank = 5;
	a.wants = b.wants = 1;
	decide(GS_COPY_POLICY_PRIORITY, 2, 0);
	assert_true(a.closed);
	decide(GS_COPY_POLICY_PRIORITY, 2, GS_COPY_CLOSED_MOST_NS - 1);
	assert_true(a.closed);
	decide(GS_COPY_POLICY_PRIORITY, 2, 1);
	assert_false(a.closed);
	decide(GS_COPY_POLICY_PRIORITY, 2, GS_COPY_OPEN_LEAST_NS - 1);
	assert_false(a.closed);
	decide(GS_COPY_POLICY_PRIORITY, 2, 1);
	assert_true(a.closed);
}

/* Of equals one that has copied 16 MiB more waits, until the other one has as much. */
static void equals_are_fair_by_bytes(void **state)
{
	(void)state;
	a.wants = b.wants = 1;
	decide(GS_COPY_POLICY_PRIORITY, 2, 0);
	a.bytes += GS_COPY_LEAD_BYTES;
	decide(GS_COPY_POLICY_PRIORITY, 2, 1 * MS);
	assert_true(!a.closed && !b.closed);
	a.bytes += 1;
	decide(GS_COPY_POLICY_PRIORITY, 2, 1 * MS);
	assert_true(a.closed && !b.closed);
	b.bytes += GS_COPY_LEAD_BYTES;
	decide(GS_COPY_POLICY_PRIORITY, 2, 1 * MS);
	assert_true(a.closed);
	b.bytes += 1;
	decide(GS_COPY_POLICY_PRIORITY, 2, 1 * MS);
	assert_true(!a.closed && !b.closed);
}

static void by_their_shares(void **state)
{
	(void)state;
	a.shares = 75;
	b.shares = 25;
	a.wants = b.wants = 1;
	decide(GS_COPY_POLICY_FAIR, 2, 0);
	a.bytes = 300 * MIB;
	b.bytes = 100 * MIB;
	decide(GS_COPY_POLICY_FAIR, 2, 1 * MS);
	assert_true(!a.closed && !b.closed);
	b.bytes = 110 * MIB; /* its lead over its quarter is 10 MiB */
	decide(GS_COPY_POLICY_FAIR, 2, 1 * MS);
	assert_true(!a.closed && !b.closed);
	b.bytes = 117 * MIB;
	decide(GS_COPY_POLICY_FAIR, 2, 1 * MS);
	assert_true(!a.closed && b.closed);
}

static void fair_knows_no_priority(void **state)
{
	(void)state;
	b.rank = 5;
	a.wants = b.wants = 1;
	decide(GS_COPY_POLICY_FAIR, 2, 0);
	assert_true(!a.closed && !b.closed);
	b.bytes = 17 * MIB;
	decide(GS_COPY_POLICY_FAIR, 2, 1 * MS);
	assert_true(!a.closed && b.closed);
}

/* Who comes late has no claim to what it has not wanted, and owes nothing for what it had. */
static void a_pause_is_forgotten(void **state)
{
	(void)state;
	a.wants = 1;
	a.bytes = 1000 * MIB;
	decide(GS_COPY_POLICY_FAIR, 2, 0);
	b.wants = 1;
	decide(GS_COPY_POLICY_FAIR, 2, 1 * MS);
	assert_true(!a.closed && !b.closed);
	a.wants = 0;
	decide(GS_COPY_POLICY_FAIR, 2, 2 * GS_COPY_PAUSE_NS);
	b.bytes = 500 * MIB;
	decide(GS_COPY_POLICY_FAIR, 2, 1 * MS);
	a.wants = 1;
	decide(GS_COPY_POLICY_FAIR, 2, 1 * MS);
	assert_true(!a.closed && !b.closed);
}

/* Only who copies now is waited for: who has least, but nothing to copy, holds nobody back. */
static void nobody_waits_for_the_idle(void **state)
{
	(void)state;
	a.wants = b.wants = c.wants = 1;
	decide(GS_COPY_POLICY_FAIR, 3, 0);
	a.bytes = 100 * MIB;
	b.bytes = 100 * MIB;
	c.wants = 0;
	decide(GS_COPY_POLICY_FAIR, 3, 1 * MS);
	assert_true(!a.closed && !b.closed && !c.closed);
}

/*
 * Three that always want to copy, at random ranks and shares: the most urgent is never held back
 * for others than its equals, nobody for longer than 20 ms, and equals get their shares within some
 * leads, unless a more urgent one leaves them next to nothing.
 */
static int most_urgent(enum gs_copy_policy policy, const struct gs_copier *of)
{
	return policy == GS_COPY_POLICY_FAIR ||
	       (of->rank >= a.rank && of->rank >= b.rank && of->rank >= c.rank);
}

static void one_case(unsigned seed)
{
	enum gs_copy_policy policy = seed & 1 ? GS_COPY_POLICY_FAIR : GS_COPY_POLICY_PRIORITY;
	uint64_t closed_ns[3] = { 0 };

	setup(NULL);
	srand(seed);
	for (int i = 0; i < 3; i++) {
		three[i]->rank = (uint32_t)(rand() % 2);
		three[i]->shares = 10 + (uint32_t)(rand() % 50);
		three[i]->wants = 1;
	}
	for (int k = 0; k < 4000; k++) {
		uint32_t open = 0;

		decide(policy, 3, 50 * US);
		for (int i = 0; i < 3; i++)
			open += !three[i]->closed;
		assert_true(open > 0);
		for (int i = 0; i < 3; i++) {
			if (!three[i]->closed)
				three[i]->bytes += 3 * MIB / open;
			closed_ns[i] = three[i]->closed ? closed_ns[i] + 50 * US : 0;
			assert_true(closed_ns[i] <= GS_COPY_CLOSED_MOST_NS + 50 * US);
		}
	}
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) {
			double x = (double)three[i]->bytes / three[i]->shares;
			double y = (double)three[j]->bytes / three[j]->shares;

			if (most_urgent(policy, three[i]) && most_urgent(policy, three[j]))
				assert_true(x < 1.25 * y);
			else if (most_urgent(policy, three[i]))
				assert_true(three[j]->waited_ns > 180 * MS);
		}
}

static void random_cases(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++)
		one_case(seed);
}

#define CASE(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(no_policy_holds_nobody),
		CASE(the_less_urgent_waits_while_the_other_copies),
		CASE(who_has_nothing_to_copy_does_not_wait),
		CASE(for_20_ms_at_most_and_then_a_while_not),
		CASE(equals_are_fair_by_bytes),
		CASE(by_their_shares),
		CASE(fair_knows_no_priority),
		CASE(a_pause_is_forgotten),
		CASE(nobody_waits_for_the_idle),
		CASE(random_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
