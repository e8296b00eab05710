/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which process computes: the emulated device's time slices; see device.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "device/emu/device_file.h"

/*
 * How often a waiting process says that it waits; one that has not said so for EMU_FILE_STALE_NS is
 * passed over.
 */
#define REFRESH_NS 100000000ull

/* May the owner be passed over: nobody, dead, or silent for too long? */
static int vacant(struct emu_device *dev, const struct emu_file_state *s, uint64_t now)
{
	uint32_t o = s->round.holder;
	uint64_t heard;

	if (!o || !emu_file_alive(dev, s, o - 1))
		return 1;
	heard = s->slot[o - 1].seen_ns > s->round.granted_ns ? s->slot[o - 1].seen_ns :
							       s->round.granted_ns;
	/* a time in the future is nobody's */
	return heard > now || now - heard > EMU_FILE_STALE_NS;
}

/* As emu_device_acquire(), without waiting.  *switched: somebody else computed last. */
static int try_acquire(struct emu_device *dev, int *switched)
{
	uint64_t now = gs_clock_ns();
	struct emu_file_state s;
	int mine;

	if (emu_file_enter(dev, &s))
		return -1;
	mine = s.round.holder == dev->me + 1;
	if (!mine && vacant(dev, &s, now)) {
		s.round.holder = dev->me + 1;
		s.round.granted_ns = now;
		mine = emu_file_save_round(dev, &s) ? -1 : 1;
	}
	*switched = mine == 1 && s.round.last != dev->me + 1;
	if (*switched) {
		s.round.last = dev->me + 1;
		mine = emu_file_save_round(dev, &s) ? -1 : 1;
	}
	if (mine || !s.slot[dev->me].wants || now - s.slot[dev->me].seen_ns > REFRESH_NS) {
		s.slot[dev->me].wants = 1;
		s.slot[dev->me].seen_ns = now;
		if (emu_file_save_mine(dev, &s))
			mine = -1;
	}
	emu_file_leave(dev);
	return mine;
}

int emu_device_acquire(struct emu_device *dev, uint32_t timeout_us)
{
	uint64_t until = gs_clock_ns() + timeout_us * 1000ull;

	for (;;) {
		struct timespec pause = { 0, 100000 };
		int switched, rc = try_acquire(dev, &switched);

		if (rc == 1 && switched && dev->config.switch_us) {
			struct timespec cost = { 0, (long)dev->config.switch_us * 1000 };

			nanosleep(&cost, NULL);
		}
		if (rc || gs_clock_ns() >= until)
			return rc;
		nanosleep(&pause, NULL);
	}
}

/* The next place in turn that lives and wants the compute; EMU_DEVICE_SLOTS: none. */
static uint32_t next_in_round(struct emu_device *dev, const struct emu_file_state *s)
{
	uint64_t now = gs_clock_ns();

	for (uint32_t k = 1; k < EMU_DEVICE_SLOTS; k++) {
		uint32_t i = (dev->me + k) % EMU_DEVICE_SLOTS;

		if (s->slot[i].used && s->slot[i].wants &&
		    now - s->slot[i].seen_ns < EMU_FILE_STALE_NS && emu_file_alive(dev, s, i))
			return i;
	}
	return EMU_DEVICE_SLOTS;
}

int emu_device_others_want(struct emu_device *dev)
{
	struct emu_file_state s;
	int rc;

	if (emu_file_enter(dev, &s))
		return 0;
	/* another took over while this process was silent: stop at once */
	rc = s.round.holder != dev->me + 1 || next_in_round(dev, &s) < EMU_DEVICE_SLOTS;
	if (!rc) {
		s.slot[dev->me].seen_ns = gs_clock_ns();
		(void)emu_file_save_mine(dev, &s);
	}
	emu_file_leave(dev);
	return rc;
}

void emu_device_yield(struct emu_device *dev, int want)
{
	struct emu_file_state s;
	uint32_t next;

	if (emu_file_enter(dev, &s))
		return;
	s.slot[dev->me].wants = want != 0;
	s.slot[dev->me].seen_ns = gs_clock_ns();
	(void)emu_file_save_mine(dev, &s);
	if (s.round.holder == dev->me + 1) {
		next = next_in_round(dev, &s);
		s.round.holder = next < EMU_DEVICE_SLOTS ? next + 1 : 0;
		s.round.granted_ns = gs_clock_ns();
		(void)emu_file_save_round(dev, &s);
	}
	emu_file_leave(dev);
}
