/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client asks while the loop begins and ends to read its word: nobody is ever lost between that and its attendant. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <time.h>

#include "gpu_rig.h"
#include "gpushare/daemon/tenant.h"

#define ASKS 50000
#define PATIENCE_NS (5000 * MS)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct client *client;
static _Atomic uint32_t served; /* its word, as far as somebody took a turn for it */
static _Atomic int over, lost;

static void serve(void)
{
	atomic_store(&served, gs_page_load(client->page->asked));
}

static void *attend(void *unused)
{
	uint32_t seen = 0;

	(void)unused;
	while (!atomic_load(&over)) {
		uint32_t asked = gs_page_await(client->page, seen, 2 * PATIENCE_NS);

		pthread_mutex_lock(&lock);
		serve();
		pthread_mutex_unlock(&lock);
		seen = asked;
	}
	return NULL;
}

static void *ask_on_and_on(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < ASKS && !atomic_load(&lost); i++) {
		uint64_t since = gs_clock_ns();
		uint32_t word;

		gs_page_ask(client->page);
		word = gs_page_load(client->page->asked);
		while ((int32_t)(atomic_load(&served) - word) < 0 && !atomic_load(&lost))
			atomic_store(&lost, gs_clock_ns() - since > PATIENCE_NS);
		for (unsigned k = i * 2654435761u >> 24; k; k--)
			__builtin_ia32_pause();
	}
	atomic_store(&over, 1);
	gs_page_store(client->page->attended, GS_ATTENDED);
	gs_page_ask(client->page);
	return NULL;
}

/* The loop: it reads the word for a while, or ends that before the time is over. */
static void await_once(unsigned i)
{
	unsigned looks = i * 2654435761u >> 24;
	struct gs_awaited awaited;
	int asked;
	size_t n;

	pthread_mutex_lock(&lock);
	client->tenant->heard_ns = 0;
	gs_gpu_afford(gpu, 0);
	do {
		asked = 0;
		n = gs_gpu_await(gpu, &awaited, 1, &asked, now);
		if (asked)
			serve();
		if (asked || !n)
			continue;
		pthread_mutex_unlock(&lock);
		while (looks && gs_page_load(awaited.page->asked) == awaited.asked)
			looks--;
		pthread_mutex_lock(&lock);
		if (!looks)
			gs_gpu_afford(gpu, UINT64_MAX);
	} while (n || asked);
	pthread_mutex_unlock(&lock);
}

static void test_nobody_is_lost(void **unused)
{
	static const struct timespec nap = { 0, 20000 };
	pthread_t attendant, asker;

	(void)unused;
	begin("piv");
	client = join(1, 1);
	client->tenant->arrival = (struct gs_arrival){ .came_ns = now, .period_ns = 5 * MS, .off_ns = 1 };
	now += 5 * MS;
	assert_int_equal(pthread_create(&attendant, NULL, attend, NULL), 0);
	assert_int_equal(pthread_create(&asker, NULL, ask_on_and_on, NULL), 0);
	for (unsigned i = 0; !atomic_load(&over); i++) {
		await_once(i);
		if (i % 8 == 0) /* the lock is nobody's by right */
			nanosleep(&nap, NULL);
	}
	pthread_join(asker, NULL);
	pthread_join(attendant, NULL);
	assert_false(atomic_load(&lost));
	all_leave(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
