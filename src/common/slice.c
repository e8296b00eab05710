/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Short slices of the processor; see slice.h. */
#define _GNU_SOURCE
#include "common/slice.h"

#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"

#define SHORTEST_NS (GS_NS_PER_MS / 10)

int gs_slice_short(void)
{
	struct sched_attr attr = { 0 };

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0)
		return -1;
	attr.sched_runtime = SHORTEST_NS;
	return syscall(SYS_sched_setattr, 0, &attr, 0) < 0 ? -1 : 0;
}
