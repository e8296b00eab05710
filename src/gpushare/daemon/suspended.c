/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients whose processes have been stopped.  Nobody tells the daemon of
 * that: slurmstepd calls no plugin when a job is suspended.
 */
#define _GNU_SOURCE
#include "common/clock.h"
#include "gpushare/daemon/device.h"
#include "gpushare/daemon/peer.h"
#include "gpushare/daemon/proc.h"

void gs_peers_look_stopped(struct gs_daemon *d)
{
	struct gs_peer *peer;

	LIST_FOREACH(peer, &d->peers, link)
		if (peer->tenant && gs_tenant_matters(peer->tenant) &&
		    gs_tenant_stopped(peer->tenant, gs_proc_stopped(peer->pid, GS_CGROUP_ROOT),
				      gs_clock_ns()))
			gs_device_poke(peer->device);
}
