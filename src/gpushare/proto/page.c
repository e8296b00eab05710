/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making, checking and mapping the shared page, and its doorbell; see page.h. */
#define _GNU_SOURCE
#include "gpushare/proto/page.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file_size.h"

#define PAGE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* What the file has not is there all the same, as zeros of our own: nobody need ask. */
static struct gs_page *map_page(int fd, size_t size)
{
	void *at = mmap(NULL, GS_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	if (at == MAP_FAILED)
		return NULL;
	if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		munmap(at, GS_PAGE_SIZE);
		return NULL;
	}
	return at;
}

int gs_page_create(struct gs_page **page, uint32_t size, struct gs_error *err)
{
	int fd;

	if (!gs_file_may_have(size))
		return gs_fail(err,
			       "cannot make a shared page: no file may be that long (ulimit -f)");
	fd = memfd_create("gpushare-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return gs_fail_errno(err, "cannot make a shared page");
	if (ftruncate(fd, size) < 0 || fcntl(fd, F_ADD_SEALS, PAGE_SEALS) < 0) {
		gs_fail_errno(err, "cannot size and seal a shared page");
		goto fail;
	}
	*page = map_page(fd, size);
	if (!*page) {
		gs_fail_errno(err, "cannot map a shared page");
		goto fail;
	}
	gs_page_store((*page)->copies.shared, size == GS_PAGE_SIZE);
	for (int way = 0; way < GS_COPY_ENGINES; way++)
		gs_page_store((*page)->copies.open[way], 1);
	gs_page_store((*page)->priorities.launches_open, 1);
	gs_page_store((*page)->head.slots, GS_PAGE_SLOTS);
	gs_page_store((*page)->head.version, GS_PAGE_VERSION);
	gs_page_store((*page)->head.magic, GS_PAGE_MAGIC);
	return fd;
fail:
	close(fd);
	return -1;
}

int gs_page_is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & PAGE_SEALS) == PAGE_SEALS && !(seals & F_SEAL_WRITE);
}

int gs_page_map(int fd, struct gs_page **page, struct gs_error *err)
{
	struct gs_page *at;
	struct stat st;

	if (!gs_page_is_sealed(fd))
		return gs_fail(err, "the descriptor passed is no sealed page");
	if (fstat(fd, &st) < 0 || (st.st_size != GS_PAGE_SIZE && st.st_size != GS_PAGE_SIZE_BEFORE))
		return gs_fail(err, "the page passed has a wrong size");
	at = map_page(fd, (size_t)st.st_size);
	if (!at)
		return gs_fail_errno(err, "cannot map the page passed");
	if (gs_page_load(at->head.magic) != GS_PAGE_MAGIC ||
	    gs_page_load(at->head.version) != GS_PAGE_VERSION ||
	    gs_page_load(at->head.slots) != GS_PAGE_SLOTS) {
		gs_page_unmap(at);
		return gs_fail(err, "the page passed is of another version");
	}
	*page = at;
	return 0;
}

void gs_page_unmap(struct gs_page *page)
{
	if (page)
		munmap(page, GS_PAGE_SIZE);
}

/* A thread for each slot, and the agent. The daemon must not spend its time on more of a program's
 * threads. */
#define SLEEPERS_MOST (GS_PAGE_SLOTS + 1)

void gs_page_doorbell(struct gs_page *page)
{
	atomic_fetch_add(&page->doorbell, 1);
	syscall(SYS_futex, &page->doorbell, FUTEX_WAKE, SLEEPERS_MOST, NULL, NULL, 0);
}

void gs_page_doorbell_for(struct gs_page *page, unsigned launches)
{
	/* Who stops looking says so first and sleeps only if the doorbell is as it was. */
	atomic_fetch_add(&page->doorbell, 1);
	if (launches > atomic_load(&page->awake))
		syscall(SYS_futex, &page->doorbell, FUTEX_WAKE, SLEEPERS_MOST, NULL, NULL, 0);
}

uint32_t gs_page_wait(struct gs_page *page, uint32_t seen, uint64_t timeout_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(timeout_ns / GS_NS_PER_S),
		.tv_nsec = (long)(timeout_ns % GS_NS_PER_S),
	};

	if (timeout_ns && gs_page_load(page->doorbell) == seen)
		syscall(SYS_futex, &page->doorbell, FUTEX_WAIT, seen, &ts, NULL, 0);
	return gs_page_load(page->doorbell);
}

void gs_page_request(struct gs_page *page)
{
	atomic_fetch_add(&page->requested, 1);
	if (atomic_load(&page->attended) !=
	    GS_ATTENDED_AWAKE) /* not before `requested` is seen to change (gpu_doorbell.c) */
		syscall(SYS_futex, &page->requested, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
