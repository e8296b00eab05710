/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For a kernel that lasts as long as a file is there: a word that its blocks look at. */
#ifndef TESTSUITE_E2E_AS_LONG_H
#define TESTSUITE_E2E_AS_LONG_H

#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"

static const char *as_long_file; /* NULL: the word stays 0 */
static uint32_t *as_long_over;
static pthread_t as_long_watcher;

static void *as_long_watch(void *unused)
{
	(void)unused;
	while (access(as_long_file, F_OK) == 0)
		usleep(5000);
	__atomic_store_n(as_long_over, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* The word on the device: 0, and 1 once `file` is gone. */
static CUdeviceptr as_long_as(const char *file)
{
	CUdeviceptr seen;
	void *p;

	CHECK(cuMemHostAlloc(&p, sizeof(*as_long_over), CU_MEMHOSTALLOC_DEVICEMAP));
	as_long_over = p;
	*as_long_over = 0;
	CHECK(cuMemHostGetDevicePointer(&seen, p, 0));
	as_long_file = file;
	if (file && pthread_create(&as_long_watcher, NULL, as_long_watch, NULL)) {
		fprintf(stderr, "no thread\n");
		exit(1);
	}
	return seen;
}

/* When the kernel is over: the file is gone, or will be. */
static void as_long_end(void)
{
	if (as_long_file)
		pthread_join(as_long_watcher, NULL);
}

#endif
