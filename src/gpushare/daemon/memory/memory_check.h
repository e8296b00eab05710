/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares what the driver says that each process has of a GPU (NVML) with what it was granted.
 * Also checks that a GPU has the memory that is reserved on it when a step is admitted (RBDM,
 * section 3.2: the monitor checks the allocation when a task starts). A process of its own asks the
 * driver, which may be slow.
 */
#ifndef GPUSHARE_DAEMON_MEMORY_CHECK_H
#define GPUSHARE_DAEMON_MEMORY_CHECK_H

#include <stdint.h>
#include <sys/types.h>

#include "gpushare/daemon/base/daemon.h"

/* One process on one GPU. The helper sends an array of these. */
struct gs_nvml_use {
	uint32_t gpu;
	int32_t pid;
	uint64_t bytes;
};

#define GS_NVML_USES_MAX 512

/* A whole GPU; total 0: not known. */
struct gs_nvml_gpu {
	uint64_t total, used; /* bytes */
	uint64_t energy_mj;   /* mJ since the driver was loaded; 0: not known */
};

/* The helper's answer: n uses, or why there are none. */
struct gs_nvml_answer {
	uint32_t n;
	char why[124]; /* not empty: NVML is not available and never will be */
	struct gs_nvml_use use[GS_NVML_USES_MAX];
	struct gs_nvml_gpu gpu[GS_CONFIG_GPUS_MAX]; /* by the driver's number of the GPU */
};

/* The helper process: answers each byte on the socket, and returns when the socket ends.
 * (memory_nvml.c) */
void gs_nvml_helper(int sock, const char *library);

struct gs_memory_check;

/* Begins to check at the interval that `check` of MemoryParameters sets. NULL: the interval is 0,
 * or there is no memory. */
struct gs_memory_check *gs_memory_check_create(struct gs_daemon *d);

/* Checks now, for example since a step has been admitted. Returns 0 if NVML cannot be asked. NULL
 * is fine. */
int gs_memory_check_now(struct gs_memory_check *check);

/*
 * *bytes: free bytes of the GPU, from an answer to a question that was asked at since_ns
 * (gs_clock_ns) or later. Returns 1; 0: there is no such answer yet, or the driver does not know.
 */
int gs_memory_check_free(const struct gs_memory_check *check, const struct gs_device *device,
			 uint64_t since_ns, uint64_t *bytes);

/* *mj: energy that the GPU has used since the driver was loaded, mJ; *at_ns: when the driver was
 * asked (gs_clock_ns). Returns 1; 0: it has not answered. check may be NULL. */
int gs_memory_check_energy(const struct gs_memory_check *check, const struct gs_device *device,
			   uint64_t *mj, uint64_t *at_ns);

/* The processes that use GPUs without gpushare, as NVML last reported them; check may be NULL. */
struct gs_unmanaged_list;
const struct gs_unmanaged_list *gs_memory_check_unmanaged(const struct gs_memory_check *check);

/* *bytes: what the client has, as the driver says. Returns 1; 0: it has not said. */
int gs_memory_check_use(const struct gs_connection *conn, uint64_t *bytes);
/* A listener of connection.h. */
void gs_memory_check_conn_gone(struct gs_connection *conn);

void gs_memory_check_destroy(struct gs_memory_check *check); /* NULL is fine */

#endif
