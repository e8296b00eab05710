/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is there room for a return? See room.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/room.h"

#include <inttypes.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/memory/memory_check.h"

#define MIB(bytes) ((bytes) >> 20)
/* The helper needs some milliseconds for an answer. */
#define LISTEN_AGAIN_NS (20 * GS_NS_PER_MS)
/* NVML hangs now and then; after this long the return is tried without its answer. */
#define LISTEN_MOST_NS (10 * GS_NS_PER_S)
#define REQUEST_AGAIN_NS GS_NS_PER_S
/* How long an answer is valid: one step of the loop uses it several times. */
#define VALID_NS (50 * GS_NS_PER_MS)

/* What its processes had, and their contexts. */
static uint64_t needed(const struct gs_daemon *d, const struct gs_away *away)
{
	const struct gs_away_process *p;
	uint64_t bytes = 0;

	LIST_FOREACH (p, &away->processes, link)
		bytes += p->bytes + d->config->context_memory;
	return bytes;
}

static int wait_for(struct gs_away *away, uint64_t until_ns)
{
	away->again_ns = until_ns;
	return 0;
}

int gs_room_for(struct gs_daemon *d, struct gs_alloc *a, uint64_t now)
{
	struct gs_away *away = a->away;
	uint64_t wants = needed(d, away), there;
	char name[32];

	if (away->room_ns && now - away->room_ns < VALID_NS)
		return 1;
	away->room_ns = 0;
	if (!away->requested_ns) {
		if (!gs_memory_check_now(d->check))
			return 1;
		away->requested_ns = now;
		return wait_for(away, now + LISTEN_AGAIN_NS);
	}
	if (!gs_memory_check_free(d->check, a->device, away->requested_ns, &there)) {
		if (now - away->requested_ns < LISTEN_MOST_NS)
			return wait_for(away, now + LISTEN_AGAIN_NS);
		there = wants;
	}
	away->requested_ns = 0;
	if (there >= wants) {
		away->no_room = 0;
		away->room_ns = now;
		return 1;
	}
	if (!away->no_room)
		gs_log(GS_LOG_WARN,
		       "%s: its memory stays on the host: %" PRIu64 " MiB are wanted, and %" PRIu64
		       " MiB of gpu %u are free: programs outside gpushare have some",
		       gs_checkpoint_name(d, a, name, sizeof(name)), gs_mib_wanted(wants),
		       MIB(there), a->device->index);
	away->no_room = 1;
	return wait_for(away, now + REQUEST_AGAIN_NS);
}
