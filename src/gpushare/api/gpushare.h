/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare.h: what a program may say to, and ask of, gpushare; see gpushare(3).
 *
 * Nothing to link against (before glibc 2.34: -ldl): the functions look for
 * gpushare in the process and answer GPUSHARE_NOT_MANAGED where it is not, so
 * a program that uses them runs everywhere, with or without gpushare.
 */
#ifndef GPUSHARE_H
#define GPUSHARE_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gpushare_result {
	GPUSHARE_OK = 0,
	GPUSHARE_NOT_MANAGED, /* this process has no shares of a GPU, or gpushared does not answer
			       */
	GPUSHARE_REFUSED, /* only root may raise a priority above its job's; the job's is in force
			   */
	/* no such priority; a region ended that was not begun; NULL; too many streams */
	GPUSHARE_INVALID
};

#define GPUSHARE_PRIORITY_MAX 1000
#define GPUSHARE_STREAM_PRIORITIES_MAX 256 /* streams with a priority of their own */

/* What the process's job step has had so far.  Later versions may add fields at the end. */
struct gpushare_report {
	uint32_t size; /* bytes of this struct: the caller's (gpushare_get_report sets it) */
	uint32_t job_id, step_id;
	uint32_t gpu;          /* index of the GPU on this node */
	uint32_t shares;       /* of 100 */
	uint32_t priority;     /* of this process now, without those of threads and streams */
	uint32_t job_priority; /* the most that anybody but root can set */
	uint32_t pad;
	uint64_t memory_reserved, memory_used; /* bytes of device memory */
	uint64_t launches;
	uint64_t preemptions; /* kernels that left the GPU with work remaining */
	uint64_t active_ns;   /* had the GPU; shared time counts in part */
	uint64_t waiting_ns;  /* the rest of the time in which it had work */
};

/* The shim's symbol of that name, or NULL. */
static inline void *gpushare_symbol_(const char *name)
{
	const char *managed = getenv("GPUSHARE_SOCKET");
	void *driver;

	if (!managed || !*managed)
		return NULL;
	driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	return driver ? dlsym(driver, name) : NULL;
}

#define GPUSHARE_CALL_(name, type, arguments) \
	void *symbol = gpushare_symbol_(#name); \
	int(*call) type; \
	if (!symbol) \
		return GPUSHARE_NOT_MANAGED; \
	memcpy(&call, &symbol, sizeof(call)); \
	return call arguments

/*
 * Priority of the kernels that this process has launched and launches, from
 * now on: 0 (lowest) to GPUSHARE_PRIORITY_MAX.  At first it is the job's, from its
 * partition and QOS.  GPUSHARE_REFUSED: it is above that, the caller is not root.
 */
static inline int gpushare_set_priority(int priority)
{
	GPUSHARE_CALL_(gpushare_shim_set_priority, (int), (priority));
}

/* Back to the job's priority. */
static inline int gpushare_reset_priority(void)
{
	GPUSHARE_CALL_(gpushare_shim_reset_priority, (void), ());
}

/*
 * Set the priority of what the calling thread launches from now on, in whichever
 * stream.  While launches of a process wait or run, the process has the priority of the
 * most urgent one.  A priority above the job's counts as the job's, except for root.
 */
static inline int gpushare_set_thread_priority(int priority)
{
	GPUSHARE_CALL_(gpushare_shim_set_thread_priority, (int), (priority));
}

/* Let the calling thread's launches have the process's priority again. */
static inline int gpushare_reset_thread_priority(void)
{
	GPUSHARE_CALL_(gpushare_shim_reset_thread_priority, (void), ());
}

/*
 * Set the priority of what any thread launches from now on into a stream (a CUstream or
 * cudaStream_t).  It counts instead of the thread's.  GPUSHARE_INVALID also if
 * GPUSHARE_STREAM_PRIORITIES_MAX other streams have one already.
 */
static inline int gpushare_set_stream_priority(void *stream, int priority)
{
	GPUSHARE_CALL_(gpushare_shim_set_stream_priority, (void *, int), (stream, priority));
}

/* Let launches into the stream have the thread's or the process's priority again. */
static inline int gpushare_reset_stream_priority(void *stream)
{
	GPUSHARE_CALL_(gpushare_shim_reset_stream_priority, (void *), (stream));
}

/*
 * Around what must be served quickly, in a process that has otherwise lowered
 * its priority: between begin and end its kernels have the job's priority.
 * May be nested, and counts for all threads.
 */
static inline int gpushare_begin_critical(void)
{
	GPUSHARE_CALL_(gpushare_shim_critical, (int), (1));
}

static inline int gpushare_end_critical(void)
{
	GPUSHARE_CALL_(gpushare_shim_critical, (int), (-1));
}

/* Figures of the process's job step. */
static inline int gpushare_get_report(struct gpushare_report *report)
{
	if (report) {
		memset(report, 0, sizeof(*report));
		report->size = (uint32_t)sizeof(*report);
	}
	{
		GPUSHARE_CALL_(gpushare_shim_get_report, (struct gpushare_report *), (report));
	}
}

/* 1 if gpushared decides about this process's kernels now, else 0. */
static inline int gpushare_managed(void)
{
	struct gpushare_report report;

	return gpushare_get_report(&report) == GPUSHARE_OK;
}

/* What a result means, in words. */
static inline const char *gpushare_strerror(int result)
{
	switch (result) {
	case GPUSHARE_OK:
		return "done";
	case GPUSHARE_NOT_MANAGED:
		return "not managed by gpushare";
	case GPUSHARE_REFUSED:
		return "only root may raise a priority above the job's";
	case GPUSHARE_INVALID:
		return "invalid argument";
	default:
		return "unknown result";
	}
}

#ifdef __cplusplus
}
#endif
#endif
