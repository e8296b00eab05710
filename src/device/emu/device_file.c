/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The device file's contents and locks; see device_file.h. */
#define _GNU_SOURCE
#include "device/emu/device_file.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

/*
 * A process that holds the state's lock for so long was stopped in the middle, so the others go on
 * without the lock. What it writes when it wakes is its own place and at most a wrong owner, which
 * EMU_FILE_STALE_NS corrects.
 */
#define LOCK_PATIENCE_NS 1000000000ull

int emu_file_lock_byte(int fd, int cmd, short type, off_t at)
{
	struct flock fl = { .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };
	int rc;

	do
		rc = fcntl(fd, cmd, &fl);
	while (rc < 0 && errno == EINTR);
	if (rc == 0 && cmd == F_OFD_GETLK)
		return fl.l_type != F_UNLCK;
	return rc;
}

int emu_file_config_ok(const struct emu_config *c)
{
	return c->sms >= 1 && c->sms <= 256 && c->blocks_per_sm >= 1 && c->blocks_per_sm <= 64 &&
	       c->memory >= 1 << 20 && c->memory <= 1ull << 44 && c->slice_ms >= 1 &&
	       c->slice_ms <= 10000 && c->clock_khz >= 1 && c->deterministic <= 1 &&
	       c->switch_us <= 100000 && c->copy_unit_kib >= 1;
}

int emu_file_load(struct emu_device *dev, struct emu_file_state *s)
{
	if (pread(dev->fd, s, sizeof(*s), 0) != (ssize_t)sizeof(*s) || s->magic != EMU_FILE_MAGIC ||
	    s->version != EMU_FILE_VERSION || !emu_file_config_ok(&s->config))
		return -1;
	if (s->round.holder > EMU_DEVICE_SLOTS)
		s->round.holder = 0;
	return 0;
}

int emu_file_save_all(struct emu_device *dev, const struct emu_file_state *s)
{
	return pwrite(dev->fd, s, sizeof(*s), 0) == (ssize_t)sizeof(*s) ? 0 : -1;
}

int emu_file_save_mine(struct emu_device *dev, const struct emu_file_state *s)
{
	off_t at = (off_t)(offsetof(struct emu_file_state, slot) + dev->me * sizeof(s->slot[0]));

	return pwrite(dev->fd, &s->slot[dev->me], sizeof(s->slot[0]), at) ==
			       (ssize_t)sizeof(s->slot[0]) ?
		       0 :
		       -1;
}

int emu_file_save_round(struct emu_device *dev, const struct emu_file_state *s)
{
	return pwrite(dev->fd, &s->round, sizeof(s->round),
		      (off_t)offsetof(struct emu_file_state, round)) == (ssize_t)sizeof(s->round) ?
		       0 :
		       -1;
}

int emu_file_lock(struct emu_device *dev)
{
	struct timespec pause = { 0, 20000 };
	uint64_t until = 0;

	for (;;) {
		uint64_t now;

		if (!emu_file_lock_byte(dev->fd, F_OFD_SETLK, F_WRLCK, EMU_FILE_LOCK_STATE)) {
			dev->impatient = 0;
			return 0;
		}
		now = gs_clock_ns();
		if (errno != EAGAIN && errno != EACCES)
			return -1;
		if (!until)
			until = now + (dev->impatient ? 1000000 : LOCK_PATIENCE_NS);
		else if (now > until)
			break;
		nanosleep(&pause, NULL);
	}
	dev->impatient = 1;
	return 0;
}

int emu_file_enter(struct emu_device *dev, struct emu_file_state *s)
{
	pthread_mutex_lock(&dev->mutex);
	if (emu_file_lock(dev) || emu_file_load(dev, s)) {
		emu_file_lock_byte(dev->fd, F_OFD_SETLK, F_UNLCK, EMU_FILE_LOCK_STATE);
		pthread_mutex_unlock(&dev->mutex);
		return -1;
	}
	return 0;
}

void emu_file_leave(struct emu_device *dev)
{
	emu_file_lock_byte(dev->fd, F_OFD_SETLK, F_UNLCK, EMU_FILE_LOCK_STATE);
	pthread_mutex_unlock(&dev->mutex);
}

int emu_file_alive(struct emu_device *dev, const struct emu_file_state *s, uint32_t i)
{
	if (!s->slot[i].used)
		return 0;
	return i == dev->me || emu_file_lock_byte(dev->fd, F_OFD_GETLK, F_WRLCK,
						  EMU_FILE_LOCK_SLOT + (off_t)i) == 1;
}
