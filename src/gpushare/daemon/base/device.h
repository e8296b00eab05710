/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One configured GPU, as everybody in the daemon sees it. */
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
	char uuid[GS_NVIDIA_TEXT_MAX]; /* as the driver names it; "": not known */
	char dmem[GS_DMEM_REGION_MAX]; /* its region of the kernel's controller; "": none */
	int dmem_said;                 /* the log says that a limit was not set */
	struct {
		uint64_t mj, at_ns; /* its counter, and when it was read; at_ns 0: never */
	} energy;
	uint64_t outside;  /* bytes that are in use outside gpushare, as the driver says */
	uint64_t outlived; /* bytes of processes that outlive their step (outlived.h) */
	uint64_t missing;  /* of the reservations for that reason, as the log says */
	uint32_t shares;   /* a whole GPU */
	uint64_t memory;   /* bytes that may be reserved in all */
	struct gs_arbiter *arbiter;
	struct gs_memory *admission; /* memory.h */
	struct gs_ledger
		*ledger; /* of the admitted; "step" there is an allocation's id (steps.h) */
};

/* The device of that index; NULL. */
struct gs_device *gs_device_find(struct gs_daemon *d, uint32_t index);

#endif
