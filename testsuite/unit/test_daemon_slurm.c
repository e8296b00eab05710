/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's end of the helper that talks to slurmctld, with a helper that
 * answers, hangs or dies as the job's number tells it.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "common/clock.h"
#include "gpushare/config/config.h"
#include "gpushare/daemon/slurm/slurm_report.h"
#include "unreadable.h"

enum { WRITTEN = 1, REFUSED, HANGS, DIES, AWAY, KILLED, NOT_KILLED, SUSPENDED, RUNNING, UNKNOWN };

static struct gs_config config = { .report_to_slurm = 1,
				   .slurm_conf = "/some/slurm.conf",
				   .node_name = "node7" };
static struct gs_daemon d;
static uint32_t told[128];
static unsigned ntold;
static uint32_t not_killed[8];
static unsigned nnot_killed;
static char *node_told; /* shared with the helper */
static struct {
	unsigned away; /* it is for so many more requests */
	unsigned asked;
	char taken[64];
} * slurmctld; /* the same */

void gs_slurm_helper(int sock, const char *slurm_conf)
{
	struct gs_slurm_request r;

	while (recv(sock, &r, sizeof(r), 0) == sizeof(r)) {
		struct gs_slurm_answer a = { .ticket = r.ticket };

		if (*r.node) {
			a.rc = strcmp(r.node, "node7") || strcmp(r.text, "gpushare: gpu0");
			snprintf(node_told, 8, a.rc ? "wrong" : "right");
			if (send(sock, &a, sizeof(a), 0) < 0)
				return;
			continue;
		}
		if (r.job_id == HANGS)
			pause();
		if (r.job_id == DIES)
			_exit(1);
		if (r.what == GS_SLURM_INQUIRE) {
			a.suspended = r.job_id == SUSPENDED;
			a.rc = r.job_id == UNKNOWN ? GS_SLURM_LATER : 0;
			if (send(sock, &a, sizeof(a), 0) < 0)
				return;
			continue;
		}
		if (r.job_id == AWAY) {
			slurmctld->asked++;
			if (slurmctld->away > 0) {
				slurmctld->away--;
				a.rc = GS_SLURM_LATER;
			} else {
				snprintf(slurmctld->taken, sizeof(slurmctld->taken), "%.*s",
					 (int)sizeof(slurmctld->taken) - 1, r.text);
			}
			if (send(sock, &a, sizeof(a), 0) < 0)
				return;
			continue;
		}
		a.rc = (r.what != 0) != (r.job_id >= KILLED);
		if (r.job_id == REFUSED || r.job_id == NOT_KILLED ||
		    strcmp(r.text, "gpushare: x") != 0 ||
		    strcmp(slurm_conf, "/some/slurm.conf") != 0) {
			a.rc = -1;
			snprintf(a.reason, sizeof(a.reason), "no");
		}
		if (send(sock, &a, sizeof(a), 0) < 0)
			return;
	}
}

static void done(struct gs_daemon *daemon, uint32_t ticket)
{
	assert_ptr_equal(daemon, &d);
	assert_true(ntold < 128);
	told[ntold++] = ticket;
}

static void cannot_kill(struct gs_daemon *daemon, uint32_t job_id)
{
	assert_ptr_equal(daemon, &d);
	assert_true(nnot_killed < 8);
	not_killed[nnot_killed++] = job_id;
}

static struct {
	uint32_t ticket;
	int is;
} answered[8];
static unsigned nanswered;

static void suspended(struct gs_daemon *daemon, uint32_t ticket, int is)
{
	assert_ptr_equal(daemon, &d);
	assert_true(nanswered < 8);
	answered[nanswered].ticket = ticket;
	answered[nanswered++].is = is;
}

static const struct gs_slurm_listeners listeners = { done, cannot_kill, suspended };

static int setup(void **state)
{
	memset(&d, 0, sizeof(d));
	ntold = nnot_killed = nanswered = 0;
	d.config = &config;
	d.base = event_base_new();
	gs_slurm_report_listen(&listeners);
	d.slurm = gs_slurm_report_create(&d);
	assert_non_null(d.slurm);
	(void)state;
	return 0;
}

static int teardown(void **state)
{
	gs_slurm_report_destroy(d.slurm);
	event_base_free(d.base);
	/* No helper is left behind, not even a dead one. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	(void)state;
	return 0;
}

/* Run the loop until that many tickets were told, or twenty seconds have passed. */
static uint64_t until_told(unsigned n)
{
	uint64_t since = gs_clock_ns();

	while (ntold < n && gs_clock_ns() - since < 20 * GS_NS_PER_S)
		event_base_loop(d.base, EVLOOP_ONCE);
	assert_int_equal(ntold, n);
	return gs_clock_ns() - since;
}

/* On a busy machine an answer may take as long as one is waited for: again. */
#define TRIES 10
#define AT_ONCE_NS (390 * GS_NS_PER_MS)

static uint64_t two_answers(void)
{
	unsigned before = ntold;
	uint32_t a = gs_slurm_report_send(d.slurm, WRITTEN, "gpushare: x");
	uint32_t b = gs_slurm_report_send(d.slurm, REFUSED, "gpushare: x");
	uint64_t took;

	assert_true(a && b && a != b);
	took = until_told(before + 2);
	assert_int_equal(told[before], a);
	assert_int_equal(told[before + 1], b);
	return took;
}

static void test_answers(void **state)
{
	int i = 0;

	(void)state;
	while (two_answers() >= AT_ONCE_NS)
		assert_true(++i < TRIES);
}

/* Whom slurmctld does not kill, or nobody knows whether it did, loses its processes. */
static void wait_ms(unsigned ms)
{
	uint64_t since = gs_clock_ns();

	while (gs_clock_ns() - since < ms * GS_NS_PER_MS)
		event_base_loop(d.base, EVLOOP_ONCE);
}

/* Whatever it is made of, it stays one part of AdminComment. */
static void test_a_text_is_one_part(void **state)
{
	(void)state;
	memset(slurmctld, 0, sizeof(*slurmctld));
	assert_true(gs_slurm_report_send(d.slurm, AWAY, "gpushare: a; b | c"));
	until_told(1);
	assert_string_equal(slurmctld->taken, "gpushare: a, b , c");
}

static void test_kill(void **state)
{
	(void)state;
	assert_true(gs_slurm_report_kill(d.slurm, KILLED, "gpushare: x"));
	assert_true(gs_slurm_report_kill(d.slurm, NOT_KILLED, "gpushare: x"));
	until_told(2);
	assert_int_equal(nnot_killed, 1);
	assert_int_equal(not_killed[0], NOT_KILLED);
	assert_true(gs_slurm_report_kill(d.slurm, DIES, "gpushare: x"));
	until_told(3);
	assert_int_equal(nnot_killed, 2);
	assert_int_equal(not_killed[1], DIES);
}

static void test_asks(void **state)
{
	static const struct {
		uint32_t job;
		int is;
	} jobs[] = { { SUSPENDED, 1 }, { RUNNING, 0 }, { UNKNOWN, -1 }, { DIES, -1 } };
	const size_t n = sizeof(jobs) / sizeof(jobs[0]);

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		uint32_t ticket = gs_slurm_report_inquire(d.slurm, jobs[i].job);

		assert_true(ticket);
		until_told(i + 1);
		assert_int_equal(nanswered, i + 1);
		assert_int_equal(answered[i].ticket, ticket);
		assert_int_equal(answered[i].is, jobs[i].is);
	}
	assert_int_equal(nnot_killed, 0);
}

/* A report that waits for slurmctld stays when somebody asks about its job. */
static void test_asking_keeps_a_report(void **state)
{
	(void)state;
	memset(slurmctld, 0, sizeof(*slurmctld));
	slurmctld->away = 1;
	assert_true(gs_slurm_report_send(d.slurm, AWAY, "gpushare: kept"));
	until_told(1);
	assert_true(gs_slurm_report_inquire(d.slurm, AWAY));
	until_told(2);
	wait_ms(1000);
	assert_string_equal(slurmctld->taken, "gpushare: kept");
}

static void test_node(void **state)
{
	(void)state;
	gs_slurm_report_node(d.slurm, "gpushare: gpu0");
	/* A ticket like any other; whoever waits for tickets does not know it. */
	until_told(1);
	assert_string_equal(node_told, "right");
}

static void test_a_hung_helper_keeps_nobody_waiting(void **state)
{
	uint32_t a = gs_slurm_report_send(d.slurm, HANGS, "gpushare: x");
	uint64_t took, since = gs_clock_ns();

	(void)state;
	assert_true(a);
	took = until_told(1); /* long before the helper is given up */
	assert_int_equal(told[0], a);
	assert_true(took >= 400 * GS_NS_PER_MS && took < 1100 * GS_NS_PER_MS);
	/* It is killed in the end, and the next report goes to another one. */
	while (gs_clock_ns() - since < 1400 * GS_NS_PER_MS)
		event_base_loop(d.base, EVLOOP_ONCE);
	a = gs_slurm_report_send(d.slurm, WRITTEN, "gpushare: x");
	assert_true(a);
	until_told(2); /* each ticket once */
	assert_int_equal(told[1], a);
}

/* The longer of the two times. */
static uint64_t dies_and_is_replaced(void)
{
	unsigned before = ntold;
	uint64_t first, second;

	assert_true(gs_slurm_report_send(d.slurm, DIES, "gpushare: x"));
	first = until_told(before + 1);
	usleep(60000);
	assert_true(gs_slurm_report_send(d.slurm, WRITTEN, "gpushare: x"));
	second = until_told(before + 2);
	usleep(60000);
	return first > second ? first : second;
}

static void test_a_dead_helper_is_replaced(void **state)
{
	int i = 0;

	(void)state;
	while (dies_and_is_replaced() >= AT_ONCE_NS)
		assert_true(++i < TRIES);
}

/* Its reports would be taken for sent, and it for hung. */
static void test_a_helper_that_cannot_be_read_is_none(void **state)
{
	(void)state;
	assert_true(gs_slurm_report_send(d.slurm, DIES, "gpushare: x"));
	until_told(1);
	usleep(60000);
	unreadable = 1;
	assert_int_equal(gs_slurm_report_send(d.slurm, WRITTEN, "gpushare: x"), 0);
	unreadable = 0;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	usleep(60000);
	assert_true(gs_slurm_report_send(d.slurm, WRITTEN, "gpushare: x"));
	until_told(2);
}

/* Nobody waits for slurmctld to come back, but what it has not heard it is told then. */
static void test_it_is_sent_again_when_slurmctld_is_back(void **state)
{
	(void)state;
	memset(slurmctld, 0, sizeof(*slurmctld));
	slurmctld->away = 2;
	assert_true(gs_slurm_report_send(d.slurm, AWAY, "gpushare: first"));
	until_told(1);
	assert_string_equal(slurmctld->taken, "");
	for (int i = 0; i < 40 && !*slurmctld->taken; i++)
		wait_ms(100);
	assert_string_equal(slurmctld->taken, "gpushare: first");
	assert_int_equal(slurmctld->asked, 3);
	/* A newer one of the same job takes its place. */
	slurmctld->away = 1;
	assert_true(gs_slurm_report_send(d.slurm, AWAY, "gpushare: old"));
	until_told(2);
	assert_true(gs_slurm_report_send(d.slurm, AWAY, "gpushare: new"));
	until_told(3);
	wait_ms(1000);
	assert_string_equal(slurmctld->taken, "gpushare: new");
	assert_int_equal(slurmctld->asked, 5);
	/* Not for ever. */
	slurmctld->away = 1000;
	assert_true(gs_slurm_report_send(d.slurm, AWAY, "gpushare: lost"));
	wait_ms(4000);
	slurmctld->asked = 0;
	wait_ms(1000);
	assert_int_equal(slurmctld->asked, 0);
	assert_int_equal(ntold, 4);
}

static void test_too_many_are_refused(void **state)
{
	unsigned sent = 0;

	(void)state;
	while (sent < 1000 && gs_slurm_report_send(d.slurm, HANGS, "gpushare: x"))
		sent++;
	assert_true(sent > 4 && sent < 128);
	ntold = 0;
	gs_slurm_report_destroy(d.slurm); /* whoever waits is told, at the latest now */
	d.slurm = NULL;
	assert_int_equal(ntold, sent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_hung_helper_keeps_nobody_waiting, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_dead_helper_is_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_helper_that_cannot_be_read_is_none, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_too_many_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_text_is_one_part, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kill, setup, teardown),
		cmocka_unit_test_setup_teardown(test_asks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_asking_keeps_a_report, setup, teardown),
		cmocka_unit_test_setup_teardown(test_node, setup, teardown),
		cmocka_unit_test_setup_teardown(test_it_is_sent_again_when_slurmctld_is_back, setup,
						teardown),
	};

	slurmctld = mmap(NULL, sizeof(*slurmctld), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (slurmctld == MAP_FAILED)
		return 1;
	node_told = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (node_told == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
