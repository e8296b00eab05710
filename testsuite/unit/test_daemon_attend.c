/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attendants of a live gpushared: asked through the page, for ever, by nobody any more. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "live_util.h"

/* But the one that looks for stopped clients, which is there from the beginning. */
static unsigned threads(const struct live *l)
{
	char path[64], line[128];
	unsigned n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)l->pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (!n && fgets(line, sizeof(line), f))
		sscanf(line, "Threads: %u", &n);
	fclose(f);
	return n ? n - 1 : 0;
}

static void await_threads(const struct live *l, unsigned n)
{
	for (int i = 0; i < 2000 && threads(l) != n; i++)
		usleep(10000);
	assert_int_equal(threads(l), n);
}

/* A launch in stub 0, asked for through the page. */
static void ask_to_launch(struct gs_page *page, uint64_t seq)
{
	gs_page_store(page->stub[0].nt, 10);
	gs_page_store(page->stub[0].flags, GS_STUB_EVICTABLE);
	gs_page_store(page->stub[0].leave_ns, 50 * GS_NS_PER_US);
	gs_page_store(page->stub[0].seq, seq);
	gs_page_store(page->used, 1);
	live_move(page, 0, GS_K_PREP, GS_K_READY);
	gs_page_ask(page);
}

/* What the daemon takes of a processor for so long, percent. */
static double busy(const struct live *l, unsigned ms)
{
	uint64_t began = gs_clock_ns(), had = 0;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(l->pid, &clock), 0);
	for (int i = 0; i < 2; i++) {
		struct timespec ts;

		if (i)
			usleep(ms * 1000);
		assert_int_equal(clock_gettime(clock, &ts), 0);
		had = (uint64_t)ts.tv_sec * GS_NS_PER_S + (uint64_t)ts.tv_nsec - had;
	}
	return 100.0 * (double)had / (double)(gs_clock_ns() - began);
}

/* The least of some such times: where processors are virtual, what another one takes meanwhile counts as had. */
static double least_busy(const struct live *l, unsigned ms, double enough)
{
	double least = busy(l, ms);

	for (int i = 0; i < 4 && least >= enough; i++) {
		double next = busy(l, ms);

		least = next < least ? next : least;
	}
	return least;
}

static void test_asked_through_the_page(void **state)
{
	struct live *l = *state;
	struct gs_page *page[2];
	int own[2], sock[2];
	uint32_t job[2];

	await_threads(l, 1);
	for (int i = 0; i < 2; i++) {
		own[i] = live_local(l, 40, 0, i ? "high" : "low", &job[i]);
		sock[i] = live_hello(l, job[i], &page[i], NULL);
		assert_int_equal(gs_page_load(page[i]->attended), 1);
	}
	await_threads(l, 3);
	/* No message is sent: the page's word alone. */
	ask_to_launch(page[0], 0);
	live_await(page[0], 0, GS_K_TORUN);
	live_run_stub(page[0], 0);
	ask_to_launch(page[1], 0); /* above it */
	live_await(page[0], 0, GS_K_TOEVICT);
	live_move(page[0], 0, GS_K_TOEVICT, GS_K_READY);
	live_await(page[1], 0, GS_K_TORUN);
	live_run_stub(page[1], 0);
	live_end_stub(page[1], 0, GS_K_RUNNING);
	live_await(page[0], 0, GS_K_TORUN);
	for (int i = 0; i < 2; i++) {
		gs_page_unmap(page[i]);
		close(sock[i]);
		close(own[i]);
		await_threads(l, 2 - (unsigned)i);
	}
	live_serves(l);
}

/* Ask without end, perhaps from processors that there are not. */
static pid_t flood(struct gs_page *page, int hop)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that fails */
		for (uint32_t i = 0;; i++) {
			gs_page_ask(page);
			if (hop)
				gs_page_store(page->cpu, i % 5000);
		}
	}
	return pid;
}

static void end_flood(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* It pays with its own processor's time; the others are heard. */
static void test_asking_without_end(void **state)
{
	struct live *l = *state;
	struct gs_page *page[2];
	int own[2], sock[2];
	uint32_t job[2];
	pid_t pid;

	for (int i = 0; i < 2; i++) {
		own[i] = live_local(l, 40, 0, "low", &job[i]);
		sock[i] = live_hello(l, job[i], &page[i], NULL);
	}
	pid = flood(page[0], 1);
	for (uint64_t seq = 0; seq < 20; seq++) {
		ask_to_launch(page[1], seq);
		live_await(page[1], 0, GS_K_TORUN);
		live_run_stub(page[1], 0);
		live_end_stub(page[1], 0, GS_K_RUNNING);
		live_move(page[1], 0, GS_K_DONE, GS_K_PREP);
	}
	live_serves(l);
	end_flood(pid);
	for (int i = 0; i < 2; i++) {
		gs_page_unmap(page[i]);
		close(sock[i]);
		close(own[i]);
	}
	await_threads(l, 1);
}

#define DEAF 100

/* Let the attendant sleep on another word, which nobody wakes it from. */
static void deafen(struct gs_page *page)
{
	for (int i = 0; i < 5000; i++) {
		if (syscall(SYS_futex, &page->asked, FUTEX_REQUEUE, 0, INT_MAX, &page->reserved[0], 0) == 1)
			return;
		usleep(1000);
	}
	fail_msg("nobody waits to be asked");
}

/* The page is shared for as long as the client likes, but no attendant outlives its peer for that. */
static void test_attendants_that_hear_nothing(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	unsigned most = 0;
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), sock;

	for (int i = 0; i < DEAF; i++) {
		sock = live_hello(l, job, &page, NULL);
		if (gs_page_load(page->attended))
			deafen(page);
		close(sock);
		gs_page_unmap(page);
		most = threads(l) > most ? threads(l) : most;
	}
	assert_true(most < DEAF / 2); /* without one it sends BELL */
	await_threads(l, 1);
	sock = live_hello(l, job, &page, NULL);
	assert_int_equal(gs_page_load(page->attended), 1);
	close(sock);
	gs_page_unmap(page);
	close(own);
	await_threads(l, 1);
}

/* Nor for what the page says of who is awake.  By itself it would look after a second: so would they all. */
static void test_a_page_that_says_awake(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	unsigned at_once = 0;
	uint64_t began;
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), sock;

	for (int i = 0; i < 12 && at_once < 3; i++) {
		sock = live_hello(l, job, &page, NULL);
		await_threads(l, 2);
		usleep(50000); /* it sleeps */
		gs_page_store(page->attended, GS_ATTENDED_AWAKE);
		began = gs_clock_ns();
		close(sock);
		await_threads(l, 1);
		at_once += gs_clock_ns() - began < 500 * GS_NS_PER_MS;
		gs_page_unmap(page);
	}
	assert_int_equal(at_once, 3);
	close(own);
}

#define WAITING 64

/* One of those who wait sees it through; all of them would take most of a processor. */
static void test_waiting_together(void **state)
{
	struct live *l = *state;
	struct gs_page *page[WAITING + 1];
	uint32_t low, high;
	int own[2] = { live_local(l, 40, 0, "low", &low), live_local(l, 40, 0, "high", &high) };
	int sock[WAITING + 1];

	for (int i = 0; i <= WAITING; i++) {
		sock[i] = live_hello(l, i ? high : low, &page[i], NULL);
		ask_to_launch(page[i], 0);
		if (i)
			continue;
		live_await(page[0], 0, GS_K_TORUN);
		live_run_stub(page[0], 0);
	}
	live_await(page[0], 0, GS_K_TOEVICT);
	assert_true(least_busy(l, 500, 35) < 35);
	/* The one that sees it through may go. */
	for (int i = 1; i < WAITING; i++) {
		close(sock[i]);
		gs_page_unmap(page[i]);
	}
	live_move(page[0], 0, GS_K_TOEVICT, GS_K_READY);
	live_await(page[WAITING], 0, GS_K_TORUN);
	for (int i = 0; i <= WAITING; i += WAITING) {
		close(sock[i]);
		gs_page_unmap(page[i]);
		close(own[i / WAITING]);
	}
	await_threads(l, 1);
}

/* How many processors the attendant, which is the only one, may be on. */
static int processors(const struct live *l, int of_attendant)
{
	char path[64];
	struct dirent *e;
	cpu_set_t set;
	DIR *dir;

	CPU_ZERO(&set);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)l->pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((e = readdir(dir)))
		if (atoi(e->d_name) && (atoi(e->d_name) != l->pid) == of_attendant)
			sched_getaffinity(atoi(e->d_name), sizeof(set), &set);
	closedir(dir);
	return CPU_COUNT(&set);
}

/* Bound where its client may be, and no longer than it asks there. */
static void test_where_it_asks(void **state)
{
	struct live *l = *state;
	int all = processors(l, 0), bound;
	struct gs_page *page;
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), sock = live_hello(l, job, &page, NULL);

	await_threads(l, 2);
	gs_page_ask(page);
	for (int i = 0; i < 200 && processors(l, 1) != 1; i++)
		usleep(5000);
	bound = processors(l, 1) == 1 && all > 1;
	if (bound) {
		gs_page_store(page->cpu, 5000);
		atomic_fetch_add(&page->asked, 1);
		syscall(SYS_futex, &page->asked, FUTEX_WAKE, 1, NULL, NULL, 0);
		for (int i = 0; i < 1000 && processors(l, 1) != all; i++)
			usleep(5000);
		assert_int_equal(processors(l, 1), all);
	}
	gs_page_unmap(page);
	close(sock);
	close(own);
	live_serves(l);
	if (!bound) {
		print_message("one processor, or neither real time nor nice -20 is allowed\n");
		skip();
	}
}

/* What an attendant finds and may not do itself, the loop does. */
static void test_a_page_that_cannot_be(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), sock = live_hello(l, job, &page, NULL);

	gs_page_store(page->stub[3].seq, 7);
	gs_page_store(page->stub[3].kstate, 77);
	gs_page_ask(page);
	live_expect_closed(sock);
	live_await_log(l, "its page holds the state 77");
	await_threads(l, 1);
	gs_page_unmap(page);
	close(own);
	live_serves(l);
}

/* What the attendants have had of their processors, ns: all threads but the loop's and the one that looks for stopped clients. */
static uint64_t attendants_had(const struct live *l)
{
	uint64_t had, all = 0;
	char path[400];
	struct dirent *e;
	DIR *dir;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)l->pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((e = readdir(dir))) {
		if (!atoi(e->d_name) || atoi(e->d_name) == l->pid)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)l->pid, e->d_name);
		f = fopen(path, "r");
		if (f && fscanf(f, "%llu", (unsigned long long *)&had) == 1)
			all += had;
		if (f)
			fclose(f);
	}
	closedir(dir);
	return all;
}

/* The low one is on the GPU, the high one asks; the launch's number. */
static void begin_exchange(struct gs_page *page[2], uint64_t seq)
{
	if (seq)
		live_move(page[1], 0, GS_K_DONE, GS_K_PREP);
	ask_to_launch(page[1], seq);
	live_await(page[0], 0, GS_K_TOEVICT);
}

/* The high one has had the GPU, the low one has it again. */
static void end_exchange(struct gs_page *page[2])
{
	live_run_stub(page[1], 0);
	live_end_stub(page[1], 0, GS_K_RUNNING);
	gs_page_ask(page[1]);
	live_await(page[0], 0, GS_K_TORUN);
	live_run_stub(page[0], 0);
}

/* Two on one GPU, the low one's kernel is there. */
static void begin_two(const struct live *l, struct gs_page *page[2], int own[2], int sock[2])
{
	uint32_t job;

	for (int i = 0; i < 2; i++) {
		own[i] = live_local(l, 40, 0, i ? "high" : "low", &job);
		sock[i] = live_hello(l, job, &page[i], NULL);
	}
	ask_to_launch(page[0], 0);
	live_await(page[0], 0, GS_K_TORUN);
	live_run_stub(page[0], 0);
}

static void end_two(struct gs_page *page[2], int own[2], int sock[2])
{
	for (int i = 0; i < 2; i++) {
		gs_page_unmap(page[i]);
		close(sock[i]);
		close(own[i]);
	}
}

#define EXCHANGES 11

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * It has its turn before the other one is out (HandoverLead), and its processor: the attendant does not wait there for that.
 * The one in the middle counts: what was taken from a virtual processor meanwhile is in a few of them.
 */
static void test_turn_before_the_other_one_is_out(void **state)
{
	struct live *l = *state;
	struct gs_page *page[2];
	int own[2], sock[2];
	uint64_t had[EXCHANGES];

	live_configure(l, "HandoverLead=1s\n");
	kill(l->pid, SIGHUP);
	live_await_log(l, "reloaded");
	begin_two(l, page, own, sock);
	for (uint64_t seq = 0; seq < EXCHANGES; seq++) {
		usleep(20000); /* what the daemon may take of a processor is saved up */
		had[seq] = attendants_had(l);
		begin_exchange(page, seq);
		live_await(page[1], 0, GS_K_TORUN);
		usleep(1000);
		had[seq] = attendants_had(l) - had[seq];
		live_move(page[0], 0, GS_K_TOEVICT, GS_K_READY);
		end_exchange(page);
	}
	qsort(had, EXCHANGES, sizeof(had[0]), by_size);
	print_message("attendants: %.1f us each time\n", (double)had[EXCHANGES / 2] / 1e3);
	assert_true(had[EXCHANGES / 2] < 250 * GS_NS_PER_US);
	end_two(page, own, sock);
}

static void test_stopping_with_attendants(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), sock = live_hello(l, job, &page, NULL), status;

	await_threads(l, 2);
	ask_to_launch(page, 0);
	live_await(page, 0, GS_K_TORUN);
	status = live_stop(l, SIGTERM);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	gs_page_ask(page); /* nobody is there */
	gs_page_unmap(page);
	close(sock);
	close(own);
	live_start(l);
	live_serves(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_asked_through_the_page),
		LIVE(test_asking_without_end),
		LIVE(test_attendants_that_hear_nothing),
		LIVE(test_a_page_that_says_awake),
		LIVE(test_waiting_together),
		LIVE(test_where_it_asks),
		LIVE(test_a_page_that_cannot_be),
		LIVE(test_turn_before_the_other_one_is_out),
		LIVE(test_stopping_with_attendants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
