/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening the shared device, a place and memory on it, and its copy engines. */
#define _GNU_SOURCE
#include "device/emu/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "device/emu/device_file.h"

static uint64_t used_memory(struct emu_device *dev, struct emu_file_state *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < EMU_DEVICE_SLOTS; i++) {
		if (!s->slot[i].used)
			continue;
		if (!emu_file_alive(dev, s, i)) {
			memset(&s->slot[i], 0, sizeof(s->slot[i])); /* died: its memory is back */
			continue;
		}
		if (s->slot[i].bytes > s->config.memory - sum)
			return s->config.memory;
		sum += s->slot[i].bytes;
	}
	return sum;
}

static uint64_t env_number(const char *name, uint64_t fallback)
{
	const char *v = getenv(name);
	char *end;
	unsigned long long n;

	if (!v || !*v)
		return fallback;
	n = strtoull(v, &end, 10);
	switch (*end) {
	case 'k':
	case 'K':
		return n << 10;
	case 'm':
	case 'M':
		return n << 20;
	case 'g':
	case 'G':
		return n << 30;
	default:
		return *end ? fallback : n;
	}
}

static void default_config(struct emu_config *c)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	c->sms = (uint32_t)env_number("GPUSHARE_EMU_SMS", cpus < 1 ? 1 :
							  cpus > 4 ? 4 :
								     (uint64_t)cpus);
	c->blocks_per_sm = (uint32_t)env_number("GPUSHARE_EMU_BLOCKS_PER_SM", 2);
	c->memory = env_number("GPUSHARE_EMU_MEMORY", 1ull << 30);
	c->slice_ms = (uint32_t)env_number("GPUSHARE_EMU_SLICE_MS", 2);
	c->clock_khz = (uint32_t)env_number("GPUSHARE_EMU_CLOCK_KHZ", 1000000);
	c->deterministic = (uint32_t)env_number("GPUSHARE_EMU_DETERMINISTIC", 0);
	c->switch_us = (uint32_t)env_number("GPUSHARE_EMU_SWITCH_US", 0);
	c->copy_mib_s = (uint32_t)env_number("GPUSHARE_EMU_COPY_MIB_S", 0);
	c->copy_unit_kib = (uint32_t)env_number("GPUSHARE_EMU_COPY_UNIT_KIB", 32 << 10);
}

/* A device of another version that nobody uses any more: it is made anew. */
static int outdated(struct emu_device *dev)
{
	struct emu_file_state s;

	if (pread(dev->fd, &s, offsetof(struct emu_file_state, config), 0) !=
		    (ssize_t)offsetof(struct emu_file_state, config) ||
	    s.magic != EMU_FILE_MAGIC || s.version == EMU_FILE_VERSION)
		return 0;
	for (uint32_t i = 0; i < EMU_DEVICE_SLOTS; i++)
		if (emu_file_lock_byte(dev->fd, F_OFD_GETLK, F_WRLCK,
				       EMU_FILE_LOCK_SLOT + (off_t)i))
			return 0;
	return 1;
}

static int take_place(struct emu_device *dev, struct emu_file_state *s, struct gs_error *err)
{
	struct stat st;

	if (fstat(dev->fd, &st))
		return gs_fail_errno(err, "cannot stat the device file");
	if (!S_ISREG(st.st_mode))
		return gs_fail(err, "the device file is no regular file");
	if (st.st_size == 0 || outdated(dev)) {
		memset(s, 0, sizeof(*s));
		s->magic = EMU_FILE_MAGIC;
		s->version = EMU_FILE_VERSION;
		default_config(&s->config);
		if (!emu_file_config_ok(&s->config))
			return gs_fail(err, "GPUSHARE_EMU_*: a value is out of range");
	} else if (emu_file_load(dev, s)) {
		return gs_fail(err, "the device file is corrupt or of another version");
	}
	for (uint32_t i = 0; i < EMU_DEVICE_SLOTS; i++) {
		if (emu_file_lock_byte(dev->fd, F_OFD_SETLK, F_WRLCK,
				       EMU_FILE_LOCK_SLOT + (off_t)i))
			continue; /* somebody lives there */
		dev->me = i;
		dev->config = s->config;
		memset(&s->slot[i], 0, sizeof(s->slot[i]));
		s->slot[i].used = 1;
		s->slot[i].pid = (uint32_t)getpid();
		if (s->round.holder == i + 1)
			s->round.holder = 0;
		if (s->round.last == i + 1)
			s->round.last = 0;
		return emu_file_save_all(dev, s) ?
			       gs_fail_errno(err, "cannot write the device file") :
			       0;
	}
	return gs_fail(err, "all %d places on the device are taken", EMU_DEVICE_SLOTS);
}

struct emu_device *emu_device_open(struct gs_error *err)
{
	const char *name = getenv("GPUSHARE_EMU_DEVICE");
	struct emu_device *dev = calloc(1, sizeof(*dev));
	char path[64];
	struct emu_file_state s;
	int rc;

	if (!dev) {
		gs_fail(err, "out of memory");
		return NULL;
	}
	if (!name || !*name) {
		snprintf(path, sizeof(path), "/dev/shm/gpushare-emu-%u", (unsigned int)getuid());
		name = path;
	}
	pthread_mutex_init(&dev->mutex, NULL);
	dev->me = EMU_DEVICE_SLOTS;
	/*
	 * try without O_CREAT first: in a sticky directory O_CREAT on another user's file is
	 * refused (fs.protected_regular)
	 */
	dev->fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (dev->fd < 0 && errno == ENOENT) {
		dev->fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (dev->fd >= 0)
			(void)fchmod(
				dev->fd,
				0666); /* the umask does not apply: all users share the device */
	}
	if (dev->fd < 0) {
		gs_fail_errno(err, "cannot open the device %s", name);
		free(dev);
		return NULL;
	}
	if (emu_file_lock(dev))
		rc = gs_fail_errno(err, "cannot lock the device %s", name);
	else
		rc = take_place(dev, &s, err);
	emu_file_lock_byte(dev->fd, F_OFD_SETLK, F_UNLCK, EMU_FILE_LOCK_STATE);
	if (rc) {
		close(dev->fd);
		free(dev);
		return NULL;
	}
	return dev;
}

void emu_device_close(struct emu_device *dev)
{
	struct emu_file_state s;

	if (!dev)
		return;
	if (!emu_file_enter(dev, &s)) {
		memset(&s.slot[dev->me], 0, sizeof(s.slot[0]));
		(void)emu_file_save_mine(dev, &s);
		if (s.round.holder == dev->me + 1) {
			s.round.holder = 0;
			(void)emu_file_save_round(dev, &s);
		}
		emu_file_leave(dev);
	}
	close(dev->fd);
	pthread_mutex_destroy(&dev->mutex);
	free(dev);
}

void emu_device_forked(struct emu_device *dev)
{
	if (dev)
		close(dev->fd);
}

const struct emu_config *emu_device_config(const struct emu_device *dev)
{
	return &dev->config;
}

int emu_device_reserve(struct emu_device *dev, uint64_t bytes)
{
	struct emu_file_state s;
	int rc = -1;

	if (emu_file_enter(dev, &s))
		return -1;
	if (bytes <= s.config.memory - used_memory(dev, &s)) {
		s.slot[dev->me].bytes += bytes;
		rc = emu_file_save_mine(dev, &s);
	}
	emu_file_leave(dev);
	return rc;
}

void emu_device_release(struct emu_device *dev, uint64_t bytes)
{
	struct emu_file_state s;

	if (emu_file_enter(dev, &s))
		return;
	s.slot[dev->me].bytes -= bytes < s.slot[dev->me].bytes ? bytes : s.slot[dev->me].bytes;
	(void)emu_file_save_mine(dev, &s);
	emu_file_leave(dev);
}

uint64_t emu_device_free_memory(struct emu_device *dev)
{
	struct emu_file_state s;
	uint64_t n;

	if (emu_file_enter(dev, &s))
		return 0;
	n = s.config.memory - used_memory(dev, &s);
	emu_file_leave(dev);
	return n;
}

uint64_t emu_device_copy(struct emu_device *dev, enum emu_copy_engine engine, uint64_t ns)
{
	off_t at = (off_t)(offsetof(struct emu_file_state, engine_ns) + engine * sizeof(uint64_t));
	uint64_t now, end;
	struct emu_file_state s;

	if (emu_file_enter(dev, &s))
		return 0;
	now = gs_clock_ns();
	end = s.engine_ns[engine];
	/* What nobody can have asked for is nobody's. */
	if (end < now || end - now > EMU_FILE_STALE_NS * EMU_DEVICE_SLOTS)
		end = now;
	end += ns;
	if (pwrite(dev->fd, &end, sizeof(end), at) != (ssize_t)sizeof(end))
		end = 0;
	emu_file_leave(dev);
	return end;
}
