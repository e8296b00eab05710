/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a GPU by its index; see device.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/daemon.h"

struct gs_device *gs_device_find(struct gs_daemon *d, uint32_t index)
{
	for (size_t i = 0; i < d->ndevice; i++)
		if (d->device[i].index == index)
			return &d->device[i];
	return NULL;
}
