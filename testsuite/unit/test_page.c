/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shared page: layout, seals, size and version; its doorbell. */
#define _GNU_SOURCE
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/proto/page.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static void made_and_mapped(void **state)
{
	struct gs_page *daemon_side, *client_side;
	struct gs_error err;
	int fd = gs_page_create(&daemon_side, GS_PAGE_SIZE, &err);

	(void)state;
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(ftruncate(fd, GS_PAGE_SIZE * 2), -1);
	assert_int_equal(gs_page_map(fd, &client_side, &err), 0);
	assert_ptr_not_equal(daemon_side, client_side);
	for (unsigned i = 0; i < GS_PAGE_SLOTS; i++)
		assert_int_equal(gs_page_load(client_side->slot[i].state), GS_K_PREP);
	gs_page_store(client_side->slot[3].nt, 42);
	assert_int_equal(gs_page_load(daemon_side->slot[3].nt), 42);
	assert_true(gs_slot_move(&client_side->slot[3], GS_K_PREP, GS_K_READY));
	assert_false(gs_slot_move(&daemon_side->slot[3], GS_K_PREP, GS_K_READY));
	assert_true(gs_slot_move(&daemon_side->slot[3], GS_K_READY, GS_K_TORUN));
	gs_page_unmap(daemon_side);
	/* The mapping outlives the descriptor and the other side. */
	close(fd);
	assert_int_equal(gs_page_load(client_side->slot[3].state), GS_K_TORUN);
	gs_page_unmap(client_side);
	gs_page_unmap(NULL);
}

/* A memfd as somebody else might pass it. */
static int forged(off_t size, int seals, uint32_t magic, uint32_t version, uint32_t slots)
{
	uint32_t head[3] = { magic, version, slots };
	int fd = memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(pwrite(fd, head, sizeof(head), 0), sizeof(head));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void forgeries_are_refused(void **state)
{
	static const struct {
		off_t size;
		int seals;
		uint32_t magic, version, slots;
		const char *want; /* NULL: a true page */
	} page[] = {
		{ GS_PAGE_SIZE, SEALS, GS_PAGE_MAGIC, GS_PAGE_VERSION, GS_PAGE_SLOTS, NULL },
		{ GS_PAGE_SIZE, 0, GS_PAGE_MAGIC, GS_PAGE_VERSION, GS_PAGE_SLOTS, "sealed" },
		{ GS_PAGE_SIZE, F_SEAL_GROW | F_SEAL_SEAL, GS_PAGE_MAGIC, GS_PAGE_VERSION,
		  GS_PAGE_SLOTS, "sealed" },
		{ GS_PAGE_SIZE, SEALS | F_SEAL_WRITE, GS_PAGE_MAGIC, GS_PAGE_VERSION, GS_PAGE_SLOTS,
		  "sealed" },
		{ GS_PAGE_SIZE_BEFORE, SEALS, GS_PAGE_MAGIC, GS_PAGE_VERSION, GS_PAGE_SLOTS, NULL },
		{ GS_PAGE_SIZE - 2048, SEALS, GS_PAGE_MAGIC, GS_PAGE_VERSION, GS_PAGE_SLOTS,
		  "size" },
		{ GS_PAGE_SIZE * 2, SEALS, GS_PAGE_MAGIC, GS_PAGE_VERSION, GS_PAGE_SLOTS, "size" },
		{ GS_PAGE_SIZE, SEALS, 0, GS_PAGE_VERSION, GS_PAGE_SLOTS, "version" },
		{ GS_PAGE_SIZE, SEALS, GS_PAGE_MAGIC, GS_PAGE_VERSION + 1, GS_PAGE_SLOTS,
		  "version" },
		{ GS_PAGE_SIZE, SEALS, GS_PAGE_MAGIC, GS_PAGE_VERSION, GS_PAGE_SLOTS + 1,
		  "version" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(page) / sizeof(page[0]); i++) {
		int fd = forged(page[i].size, page[i].seals, page[i].magic, page[i].version,
				page[i].slots);
		struct gs_page *at = NULL;
		struct gs_error err;
		int rc = gs_page_map(fd, &at, &err);

		assert_int_equal(rc, page[i].want ? -1 : 0);
		if (page[i].want)
			assert_non_null(strstr(err.text, page[i].want));
		gs_page_unmap(at);
		close(fd);
	}
}

/* The page of a client of an earlier version: each side has copies of its own, and they stay 0. */
static void a_page_without_copies(void **state)
{
	struct gs_page *daemon_side, *client_side;
	struct gs_error err;
	int fd = gs_page_create(&daemon_side, GS_PAGE_SIZE_BEFORE, &err);

	(void)state;
	assert_int_equal(gs_page_map(fd, &client_side, &err), 0);
	assert_int_equal(gs_page_shared(client_side), GS_PAGE_SIZE_BEFORE);
	gs_page_store(client_side->slot[GS_PAGE_SLOTS - 1].nt, 42);
	assert_int_equal(gs_page_load(daemon_side->slot[GS_PAGE_SLOTS - 1].nt), 42);
	atomic_fetch_add(&client_side->copies.made[GS_COPY_TO_HOST].bytes, 42);
	assert_int_equal(gs_page_load(daemon_side->copies.made[GS_COPY_TO_HOST].bytes), 0);
	gs_page_unmap(client_side);
	gs_page_unmap(daemon_side);
	close(fd);
	fd = gs_page_create(&daemon_side, GS_PAGE_SIZE, &err);
	assert_int_equal(gs_page_map(fd, &client_side, &err), 0);
	assert_int_equal(gs_page_shared(client_side), GS_PAGE_SIZE);
	atomic_fetch_add(&client_side->copies.made[GS_COPY_TO_HOST].bytes, 42);
	assert_int_equal(gs_page_load(daemon_side->copies.made[GS_COPY_TO_HOST].bytes), 42);
	gs_page_unmap(client_side);
	gs_page_unmap(daemon_side);
	close(fd);
}

static void no_memfd_is_refused(void **state)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct gs_page *page;
	struct gs_error err;

	(void)state;
	assert_int_equal(gs_page_map(fd, &page, &err), -1);
	close(fd);
	assert_int_equal(gs_page_map(fd, &page, &err), -1);
}

static void the_doorbell_wakes_another_process(void **state)
{
	struct gs_page *page;
	struct gs_error err;
	int status, fd = gs_page_create(&page, GS_PAGE_SIZE, &err);
	uint64_t began;
	pid_t child;

	(void)state;
	assert_int_equal(gs_page_wait(page, 0, 0), 0);
	began = gs_clock_ns();
	assert_int_equal(gs_page_wait(page, 0, 20 * GS_NS_PER_MS), 0);
	assert_true(gs_clock_ns() - began >= 19 * GS_NS_PER_MS);
	gs_page_doorbell(page);
	assert_int_equal(gs_page_wait(page, 0, 60 * GS_NS_PER_S), 1);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		usleep(20000);
		gs_page_doorbell(page);
		_exit(0);
	}
	began = gs_clock_ns();
	while (gs_page_wait(page, 1, 60 * GS_NS_PER_S) == 1)
		assert_true(gs_clock_ns() - began < 60 * GS_NS_PER_S);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	gs_page_unmap(page);
	close(fd);
}

static void slots_in_use(void **state)
{
	struct gs_page *page;
	struct gs_error err;
	int fd = gs_page_create(&page, GS_PAGE_SIZE, &err);

	(void)state;
	assert_int_equal(gs_page_slots(page), GS_PAGE_SLOTS); /* it does not say */
	gs_page_store(page->used, 1);
	assert_int_equal(gs_page_slots(page), 1);
	gs_page_store(page->used, GS_PAGE_SLOTS + 1);
	assert_int_equal(gs_page_slots(page), GS_PAGE_SLOTS);
	gs_page_unmap(page);
	close(fd);
}

/* As the arbiter sleeps (daemon/gpu/doorbell.c). */
static uint32_t sleep_on_requested(struct gs_page *page, uint32_t heard)
{
	syscall(SYS_futex, &page->requested, FUTEX_WAIT, heard, NULL, NULL, 0);
	return gs_page_load(page->requested);
}

static void requesting_wakes_the_daemon(void **state)
{
	struct gs_page *page;
	struct gs_error err;
	int status, fd = gs_page_create(&page, GS_PAGE_SIZE, &err);
	pid_t daemon;

	(void)state;
	gs_page_request(page);
	assert_int_equal(sleep_on_requested(page, 0), 1);
	daemon = fork();
	assert_true(daemon >= 0);
	if (daemon == 0) {
		alarm(60); /* a wake-up that does not come ends the test */
		while (sleep_on_requested(page, 1) != 2)
			;
		_exit(0);
	}
	usleep(20000);
	gs_page_request(page);
	assert_int_equal(waitpid(daemon, &status, 0), daemon);
	assert_int_equal(status, 0);
	gs_page_unmap(page);
	close(fd);
}

/* As many as are awake look for themselves; one more, and somebody sleeps. */
static void only_sleepers_are_woken(void **state)
{
	struct gs_page *page;
	struct gs_error err;
	int status, fd = gs_page_create(&page, GS_PAGE_SIZE, &err);
	uint64_t began;
	pid_t sleeper;

	(void)state;
	sleeper = fork();
	assert_true(sleeper >= 0);
	if (sleeper == 0) {
		alarm(60);
		while (gs_page_wait(page, 2, 60 * GS_NS_PER_S) <= 2)
			;
		_exit(0);
	}
	gs_page_store(page->awake, 2);
	gs_page_doorbell_for(page, 2);
	assert_int_equal(gs_page_load(page->doorbell), 1);
	gs_page_doorbell_for(page, 0);
	assert_int_equal(gs_page_load(page->doorbell), 2);
	began = gs_clock_ns();
	usleep(20000); /* it sleeps by now; if not, it finds the doorbell changed */
	gs_page_doorbell_for(page, 3);
	assert_int_equal(waitpid(sleeper, &status, 0), sleeper);
	assert_int_equal(status, 0);
	assert_true(gs_clock_ns() - began < 50 * GS_NS_PER_S);
	gs_page_unmap(page);
	close(fd);
}

#define SLEEPERS 200

/* Of this process. */
static unsigned sleeping_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	unsigned n = 0;

	assert_non_null(tasks);
	while ((task = readdir(tasks)) != NULL) {
		char path[300], state = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", task->d_name);
		f = *task->d_name == '.' ? NULL : fopen(path, "r");
		if (!f)
			continue;
		if (fscanf(f, "%*d (%*[^)]) %c", &state) == 1 && state == 'S')
			n++;
		fclose(f);
	}
	closedir(tasks);
	return n;
}

static void *sleep_once(void *page)
{
	gs_page_wait(page, 0, 60 * GS_NS_PER_S);
	return NULL;
}

/* A program may have thousands of threads there: the daemon wakes as many as can have a launch. */
static void no_more_are_woken_than_have_slots(void **state)
{
	pthread_t sleeper[SLEEPERS];
	struct gs_page *page;
	struct gs_error err;
	int fd = gs_page_create(&page, GS_PAGE_SIZE, &err);
	long left;

	(void)state;
	for (int i = 0; i < SLEEPERS; i++)
		assert_int_equal(pthread_create(&sleeper[i], NULL, sleep_once, page), 0);
	for (int i = 0; i < 20000 && sleeping_threads() < SLEEPERS; i++)
		usleep(1000);
	gs_page_doorbell(page);
	left = syscall(SYS_futex, &page->doorbell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	assert_int_equal(left, SLEEPERS - GS_PAGE_SLOTS - 1);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(sleeper[i], NULL);
	gs_page_unmap(page);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made_and_mapped),
		cmocka_unit_test(forgeries_are_refused),
		cmocka_unit_test(a_page_without_copies),
		cmocka_unit_test(no_memfd_is_refused),
		cmocka_unit_test(the_doorbell_wakes_another_process),
		cmocka_unit_test(slots_in_use),
		cmocka_unit_test(requesting_wakes_the_daemon),
		cmocka_unit_test(only_sleepers_are_woken),
		cmocka_unit_test(no_more_are_woken_than_have_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
