/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Class= and StarvationBound= of a live gpushared: who gets the GPU, what is shown, what can be
 * changed. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "live_util.h"

/* Memory by arrival: who has priority 1 of 1,012 would wait for it long. */
#define CLASSES \
	"Policy=piv\nMemoryAdmission=fcfs\nClass=urgent Priority=10 Policy=rr\nClass=night Priority=-5\n" \
	"Partition=fast Class=urgent Priority=1\nPartition=idle Class=night Priority=1000\n"

static void restart(struct live *l, const char *extra)
{
	live_configure(l, extra);
	live_stop(l, SIGTERM);
	live_start(l);
}

static void reload(struct live *l, const char *extra)
{
	unsigned before = live_logged(l, "reloaded /");
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;

	live_configure(l, extra);
	kill(l->pid, SIGHUP);
	while (live_logged(l, "reloaded /") == before && gs_clock_ns() < until)
		usleep(2000);
	assert_int_equal(live_logged(l, "reloaded /"), before + 1);
}

/* A job of that partition: its owner's connection, its program's, and the page. */
struct job {
	int own, sock;
	struct gs_page *page;
};

static struct job join(const struct live *l, const char *partition)
{
	struct job j;
	uint32_t id;

	j.own = live_local(l, 10, 0, partition, &id);
	j.sock = live_hello(l, id, &j.page, NULL);
	return j;
}

static void leave(struct job *j)
{
	gs_page_unmap(j->page);
	close(j->sock);
	close(j->own);
}

/* It launches, gets the GPU and runs there. */
static void occupy(struct job *j, unsigned slot)
{
	live_launch(j->sock, j->page, slot, slot);
	if (gs_page_load(j->page->slot[slot].state) == GS_K_RUNNING)
		return;
	live_await(j->page, slot, GS_K_TORUN);
	live_run_slot(j->page, slot);
}

static void evicted_by(struct job *holder, struct job *other)
{
	live_await(holder->page, 0, GS_K_TOEVICT);
	live_move(holder->page, 0, GS_K_TOEVICT, GS_K_READY);
	live_await(other->page, 0, GS_K_TORUN);
	live_run_slot(other->page, 0);
}

static void the_higher_class_evicts(void **state)
{
	struct live *l = *state;
	struct job idle, low, fast, second;

	restart(l, CLASSES);
	idle = join(l, "idle");
	low = join(l, "low");
	fast = join(l, "fast");
	second = join(l, "fast");
	occupy(&idle, 0);
	/* Of no class, which is number 0; its priority of 1 against 1000 would lose under piv. */
	live_launch(low.sock, low.page, 0, 0);
	evicted_by(&idle, &low);
	live_launch(fast.sock, fast.page, 0, 0);
	evicted_by(&low, &fast);
	/* Within the class rr decides, though the GPU's policy is piv and both have priority 1. */
	live_launch(second.sock, second.page, 0, 0);
	evicted_by(&fast, &second);
	/* The class of the file that is read again holds for tasks to come. */
	live_end_slot(second.page, 0, GS_K_RUNNING);
	leave(&second);
	leave(&fast);
	leave(&low);
	live_await(idle.page, 0, GS_K_TORUN);
	live_run_slot(idle.page, 0);
	reload(l,
	       "Policy=piv\nMemoryAdmission=fcfs\nClass=night Priority=50\nClass=urgent Priority=-50\n"
	       "Partition=idle Class=night Priority=1\n");
	fast = join(l, "high"); /* of no class any more, priority 10 */
	live_launch(fast.sock, fast.page, 0, 0);
	usleep(50000);
	assert_int_equal(gs_page_load(idle.page->slot[0].state), GS_K_RUNNING);
	live_end_slot(idle.page, 0, GS_K_RUNNING);
	live_await(fast.page, 0, GS_K_TORUN);
	leave(&idle);
	leave(&fast);
}

/* gpusharectl VERB...; what it prints; its exit status. */
static int ctl(const struct live *l, const char *words, char *text, size_t size)
{
	const char *path = getenv("GPUSHARECTL");
	char line[512];
	size_t n;
	FILE *f;

	snprintf(line, sizeof(line), "%s --socket %s %s 2>&1", path ? path : "./gpusharectl",
		 l->socket, words);
	f = popen(line, "r");
	assert_non_null(f);
	n = fread(text, 1, size - 1, f);
	text[n] = '\0';
	return WEXITSTATUS(pclose(f));
}

static void expect_shown(const struct live *l, const char *words, const char *what)
{
	char text[8192];

	assert_int_equal(ctl(l, words, text, sizeof(text)), 0);
	if (!strstr(text, what))
		fail_msg("gpusharectl %s: no '%s' in: %s", words, what, text);
}

static void policies_are_shown_and_changed(void **state)
{
	struct live *l = *state;
	char text[8192];

	restart(l, CLASSES);
	expect_shown(l, "status", "  piv, urgent: rr  ");
	expect_shown(l, "top --once", " piv, urgent: rr ");
	expect_shown(l, "status --json", "\"class\": \"night\"");
	expect_shown(l, "policy --class urgent srt", "");
	assert_int_equal(live_logged(l, "gpu 0: class urgent: policy srt instead of rr"), 1);
	expect_shown(l, "policy --gpu 0 sjf", "");
	assert_int_equal(
		live_logged(l, "gpu 0: policy sjf instead of piv; class urgent keeps its own"), 1);
	expect_shown(l, "policy -c night -g 0 cfs", "");
	expect_shown(l, "status", "  sjf, urgent: srt, night: cfs  ");
	assert_int_equal(ctl(l, "policy --class noon rr", text, sizeof(text)), 1);
	assert_non_null(strstr(text, "there is no class 'noon'"));
	assert_int_equal(ctl(l, "policy --class night lottery", text, sizeof(text)), 1);
	assert_non_null(strstr(text, "not a policy"));
	assert_int_equal(ctl(l, "policy --class '' rr", text, sizeof(text)), 1);
	assert_int_equal(ctl(l, "policy --gpu 7 --class night rr", text, sizeof(text)), 1);
	reload(l, CLASSES);
	expect_shown(l, "status", "  piv, urgent: rr  ");
	reload(l, "");
	expect_shown(l, "status", "  frs     contexts");
}

static void the_starved_get_the_gpu(void **state)
{
	struct live *l = *state;
	struct job high, low;
	uint64_t began;

	/* Under piv the lower priority waits for ever. */
	high = join(l, "high");
	low = join(l, "low");
	occupy(&high, 0);
	live_launch(low.sock, low.page, 0, 0);
	usleep(300000);
	assert_int_equal(gs_page_load(high.page->slot[0].state), GS_K_RUNNING);
	leave(&low);
	leave(&high);
	restart(l, CLASSES "StarvationBound=150ms\n");
	/* Across the classes, too. */
	high = join(l, "fast");
	low = join(l, "idle");
	occupy(&high, 0);
	began = gs_clock_ns();
	live_launch(low.sock, low.page, 0, 0);
	live_await(high.page, 0, GS_K_TOEVICT);
	assert_true(gs_clock_ns() - began >= 150 * GS_NS_PER_MS);
	live_move(high.page, 0, GS_K_TOEVICT, GS_K_READY);
	live_await(low.page, 0, GS_K_TORUN);
	live_run_slot(low.page, 0);
	/* It gets a slice, and not more. */
	live_await(low.page, 0, GS_K_TOEVICT);
	live_move(low.page, 0, GS_K_TOEVICT, GS_K_READY);
	live_await(high.page, 0, GS_K_TORUN);
	leave(&low);
	leave(&high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(the_higher_class_evicts),
		LIVE(policies_are_shown_and_changed),
		LIVE(the_starved_get_the_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
