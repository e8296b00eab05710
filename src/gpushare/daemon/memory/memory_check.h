/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the driver says each process has of a GPU (NVML), against what it has
 * been granted; and whether a GPU has at all what is reserved on it, asked as a
 * step is admitted (RBDM, section 3.2: the monitor checks the allocation as
 * a task starts).  A process of its own asks the driver: that may take its time.
 */
#ifndef GPUSHARE_DAEMON_MEMORY_CHECK_H
#define GPUSHARE_DAEMON_MEMORY_CHECK_H

#include <stdint.h>
#include <sys/types.h>

#include "gpushare/daemon/base/daemon.h"

/* One process on one GPU; what travels between the two is an array of these. */
struct gs_nvml_use {
	uint32_t gpu;
	int32_t pid;
	uint64_t bytes;
};

#define GS_NVML_USES_MAX 512

/* A whole GPU; total 0: not known. */
struct gs_nvml_gpu {
	uint64_t total, used; /* bytes */
	uint64_t energy_mj;   /* since the driver was loaded; 0: not known */
};

/* The helper's answer: n uses, or why there are none. */
struct gs_nvml_answer {
	uint32_t n;
	char why[124]; /* not empty: NVML cannot be asked, and never will */
	struct gs_nvml_use use[GS_NVML_USES_MAX];
	struct gs_nvml_gpu gpu[GS_CONFIG_GPUS_MAX]; /* by the driver's number */
};

/* The helper: answers each byte on the socket; returns when the socket ends. (memory_nvml.c) */
void gs_nvml_helper(int sock, const char *library);

struct gs_memory_check;

/* Begin to look, as often as check of MemoryParameters says; NULL: that is 0, or there is no
 * memory. */
struct gs_memory_check *gs_memory_check_create(struct gs_daemon *d);

/* A step has been admitted, say: look now.  0: there is nobody to ask; NULL is fine. */
int gs_memory_check_now(struct gs_memory_check *check);

/* Bytes of the GPU that nobody has, by an answer to a question that was asked then or later
 * (gs_clock_ns): 1; 0: there is none yet, or the driver does not know. */
int gs_memory_check_free(const struct gs_memory_check *check, const struct gs_device *device,
			 uint64_t since_ns, uint64_t *bytes);

/* Millijoules that the GPU has used since the driver was loaded, and when it was asked
 * (gs_clock_ns): 1; 0: it has not said. check may be NULL. */
int gs_memory_check_energy(const struct gs_memory_check *check, const struct gs_device *device,
			   uint64_t *mj, uint64_t *at_ns);

/* The processes that use GPUs past gpushare, as NVML last had them; check may be NULL. */
struct gs_unmanaged_list;
const struct gs_unmanaged_list *gs_memory_check_unmanaged(const struct gs_memory_check *check);

/* Bytes that the driver says the client has: 1; 0: it has not said. */
int gs_memory_check_use(const struct gs_connection *conn, uint64_t *bytes);
/* A listener of connection.h. */
void gs_memory_check_conn_gone(struct gs_connection *conn);

void gs_memory_check_destroy(struct gs_memory_check *check); /* NULL is fine */

#endif
