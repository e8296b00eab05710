/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long copies take: two engines, one for each direction between host and device, which all
 * processes share.  One copies so many MiB/s, a unit of one copy at a time, in the order in which
 * the units come; so of two processes that copy at once each gets half, and a small copy waits for
 * a unit of a large one.  Not modelled: that a GPU prefers a context's next copy to another's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "device/emu/emu.h"

static int is_host(uint64_t at)
{
	struct emu_range r;

	return emu_mem_find(emu.mem, at, 1, &r) || r.kind == EMU_MEM_HOST ||
	       r.kind == EMU_MEM_REGISTERED;
}

void emu_copy_takes(uint64_t dst, uint64_t src, uint64_t bytes)
{
	const struct emu_config *c = emu.config;
	enum emu_copy_engine engine;

	if (!c->copy_mib_s || c->deterministic || is_host(dst) == is_host(src))
		return;
	engine = is_host(dst) ? EMU_COPY_TO_HOST : EMU_COPY_TO_DEVICE;
	while (bytes) {
		uint64_t unit = (uint64_t)c->copy_unit_kib << 10, n = bytes < unit ? bytes : unit;
		uint64_t until = emu_device_copy(
			emu.dev, engine, (uint64_t)((double)n * 1e9 / 1048576 / c->copy_mib_s));
		struct timespec ts = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
			;
		bytes -= n;
	}
}
