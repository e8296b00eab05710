/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One configured GPU, as all rooms of the daemon see it. */
#ifndef GPUSHARE_DAEMON_DEVICE_H
#define GPUSHARE_DAEMON_DEVICE_H

#include <stdint.h>

#include "common/nvidia.h"
#include "gpushare/daemon/base/dmem.h"
#include "gpushare/memory/ledger.h"

struct gs_arbiter;
struct gs_daemon;
struct gs_memory;

struct gs_device {
	uint32_t index;
	char uuid[GS_NVIDIA_TEXT_MAX]; /* the driver's name for it; "": not known */
	/* its region in the kernel's device memory controller; "": none */
	char dmem[GS_DMEM_REGION_MAX];
	int dmem_said; /* it has been logged that a limit was not set */
	struct {
		/* its energy counter in mJ, and when it was read; at_ns 0: never */
		uint64_t mj, at_ns;
	} energy;
	uint64_t outside;  /* bytes in use outside gpushare, as the driver says */
	uint64_t outlived; /* bytes of processes that have outlived their step (outlived.h) */
	/* bytes by which reservations are not covered for those two reasons, as last logged */
	uint64_t missing;
	uint32_t shares; /* shares of the whole GPU */
	uint64_t memory; /* bytes that may be reserved in all */
	struct gs_arbiter *arbiter;
	struct gs_memory *admission; /* memory.h */
	/* accounts for the admitted allocations; a "step" there is an allocation's id (steps.h) */
	struct gs_ledger *ledger;
};

/* The device with that index; NULL: there is none. */
struct gs_device *gs_device_find(struct gs_daemon *d, uint32_t index);

#endif
