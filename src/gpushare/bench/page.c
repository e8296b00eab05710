/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shared page and its futexes; see page.h. */
#define _GNU_SOURCE
#include "gpushare/bench/page.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define SPIN_NS (200 * GS_NS_PER_US) /* longer than a sleeper needs to wake up */

static size_t page_bytes(uint32_t slots)
{
	return sizeof(struct bench_page) + slots * sizeof(struct bench_slot);
}

static struct bench_page *map(int fd, size_t bytes, struct gs_error *err)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		gs_fail_errno(err, "cannot map the programs' page");
		return NULL;
	}
	return p;
}

struct bench_page *bench_page_create(const char *path, uint32_t slots, struct gs_error *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct bench_page *page = NULL;

	if (fd < 0 || ftruncate(fd, (off_t)page_bytes(slots)) < 0)
		gs_fail_errno(err, "cannot make %.150s", path);
	else
		page = map(fd, page_bytes(slots), err);
	if (fd >= 0)
		close(fd);
	if (!page)
		return NULL;
	page->slots = slots;
	page->tool = getpid();
	return page;
}

struct bench_page *bench_page_open(const char *path, struct gs_error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct bench_page *page = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		gs_fail_errno(err, "cannot open %.150s", path);
	else if ((size_t)st.st_size < page_bytes(1))
		gs_fail(err, "%.150s is no page of gpushare-bench", path);
	else
		page = map(fd, (size_t)st.st_size, err);
	if (fd >= 0)
		close(fd);
	if (page && page_bytes(page->slots) != (size_t)st.st_size) {
		gs_fail(err, "%.150s is no page of gpushare-bench", path);
		munmap(page, (size_t)st.st_size);
		page = NULL;
	}
	return page;
}

void bench_page_close(struct bench_page *page)
{
	if (page)
		munmap(page, page_bytes(page->slots));
}

static void futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

void bench_doorbell(_Atomic uint32_t *doorbell)
{
	atomic_fetch_add(doorbell, 1);
	futex(doorbell, FUTEX_WAKE, INT32_MAX, NULL);
}

void bench_wait_for(_Atomic uint32_t *doorbell, uint32_t seen, unsigned timeout_ms)
{
	struct timespec ts = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };

	if (atomic_load(doorbell) == seen)
		futex(doorbell, FUTEX_WAIT, seen, &ts);
}

void bench_sleep_until(uint64_t at_ns, int spin)
{
	uint64_t margin = spin ? SPIN_NS : 0, now = gs_clock_ns();

	if (at_ns > now + margin) {
		uint64_t until = at_ns - margin;
		struct timespec ts = { (time_t)(until / GS_NS_PER_S), (long)(until % GS_NS_PER_S) };

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) != 0)
			;
	}
	while (gs_clock_ns() < at_ns)
		__builtin_ia32_pause();
}
