/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shared device file: locks, places, memory, and the owner of the compute. */
#define _GNU_SOURCE
#include "device/emu/device.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x3165766475706765ull
#define VERSION 6
#define LOCK_STATE 0
#define LOCK_SLOT 65536
/* An owner of the compute that has not been heard of for so long (it was stopped, say) loses it. */
#define STALE_NS 500000000ull
/*
 * How often a waiting process says that it waits; one that has not said so for STALE_NS is passed
 * over.
 */
#define REFRESH_NS 100000000ull
/*
 * A process that holds the state's lock for so long was stopped in the middle, so the others go on
 * without the lock. What it writes when it wakes is its own place and at most a wrong owner, which
 * STALE_NS corrects.
 */
#define LOCK_PATIENCE_NS 1000000000ull

struct slot {
	uint64_t bytes;
	uint64_t seen_ns; /* CLOCK_MONOTONIC, by the owner of the compute */
	uint32_t used;
	uint32_t pid;
	uint32_t wants;
	uint32_t pad;
};

struct state {
	uint64_t magic;
	uint32_t version;
	uint32_t pad;
	struct emu_config config;
	struct round {
		uint64_t granted_ns;
		uint32_t holder; /* slot + 1; 0: nobody */
		uint32_t last;   /* slot + 1 of who computed last; 0: nobody */
	} round;
	struct slot slot[EMU_DEVICE_SLOTS];
	uint64_t engine_ns[EMU_COPY_ENGINES]; /* each has something to do until then */
};

struct emu_device {
	int fd;
	uint32_t me;
	struct emu_config config;
	pthread_mutex_t mutex; /* the file lock is the process's, not the thread's */
	int impatient;         /* the holder of the state's lock was given up once: do not wait for
				* it again */
};

static int lock_byte(int fd, int cmd, short type, off_t at)
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

static int config_ok(const struct emu_config *c)
{
	return c->sms >= 1 && c->sms <= 256 && c->blocks_per_sm >= 1 && c->blocks_per_sm <= 64 &&
	       c->memory >= 1 << 20 && c->memory <= 1ull << 44 && c->slice_ms >= 1 &&
	       c->slice_ms <= 10000 && c->clock_khz >= 1 && c->deterministic <= 1 &&
	       c->switch_us <= 100000 && c->copy_unit_kib >= 1;
}

static int load(struct emu_device *dev, struct state *s)
{
	if (pread(dev->fd, s, sizeof(*s), 0) != (ssize_t)sizeof(*s) || s->magic != MAGIC ||
	    s->version != VERSION || !config_ok(&s->config))
		return -1;
	if (s->round.holder > EMU_DEVICE_SLOTS)
		s->round.holder = 0;
	return 0;
}

static int save_all(struct emu_device *dev, const struct state *s)
{
	return pwrite(dev->fd, s, sizeof(*s), 0) == (ssize_t)sizeof(*s) ? 0 : -1;
}

static int save_mine(struct emu_device *dev, const struct state *s)
{
	off_t at = (off_t)(offsetof(struct state, slot) + dev->me * sizeof(s->slot[0]));

	return pwrite(dev->fd, &s->slot[dev->me], sizeof(s->slot[0]), at) ==
			       (ssize_t)sizeof(s->slot[0]) ?
		       0 :
		       -1;
}

static int save_round(struct emu_device *dev, const struct state *s)
{
	return pwrite(dev->fd, &s->round, sizeof(s->round), (off_t)offsetof(struct state, round)) ==
			       (ssize_t)sizeof(s->round) ?
		       0 :
		       -1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* 0 also when patience ends; -1: no lock can be had at all. */
static int lock_state(struct emu_device *dev)
{
	struct timespec pause = { 0, 20000 };
	uint64_t until = 0;

	for (;;) {
		uint64_t now;

		if (!lock_byte(dev->fd, F_OFD_SETLK, F_WRLCK, LOCK_STATE)) {
			dev->impatient = 0;
			return 0;
		}
		now = now_ns();
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

/* Both locks, and the state.  -1 (nothing held): the file is no device any more. */
static int enter(struct emu_device *dev, struct state *s)
{
	pthread_mutex_lock(&dev->mutex);
	if (lock_state(dev) || load(dev, s)) {
		lock_byte(dev->fd, F_OFD_SETLK, F_UNLCK, LOCK_STATE);
		pthread_mutex_unlock(&dev->mutex);
		return -1;
	}
	return 0;
}

static void leave(struct emu_device *dev)
{
	lock_byte(dev->fd, F_OFD_SETLK, F_UNLCK, LOCK_STATE);
	pthread_mutex_unlock(&dev->mutex);
}

static int alive(struct emu_device *dev, const struct state *s, uint32_t i)
{
	if (!s->slot[i].used)
		return 0;
	return i == dev->me || lock_byte(dev->fd, F_OFD_GETLK, F_WRLCK, LOCK_SLOT + (off_t)i) == 1;
}

static uint64_t used_memory(struct emu_device *dev, struct state *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < EMU_DEVICE_SLOTS; i++) {
		if (!s->slot[i].used)
			continue;
		if (!alive(dev, s, i)) {
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
	struct state s;

	if (pread(dev->fd, &s, offsetof(struct state, config), 0) !=
		    (ssize_t)offsetof(struct state, config) ||
	    s.magic != MAGIC || s.version == VERSION)
		return 0;
	for (uint32_t i = 0; i < EMU_DEVICE_SLOTS; i++)
		if (lock_byte(dev->fd, F_OFD_GETLK, F_WRLCK, LOCK_SLOT + (off_t)i))
			return 0;
	return 1;
}

static int take_place(struct emu_device *dev, struct state *s, struct gs_error *err)
{
	struct stat st;

	if (fstat(dev->fd, &st))
		return gs_fail_errno(err, "cannot stat the device file");
	if (!S_ISREG(st.st_mode))
		return gs_fail(err, "the device file is no regular file");
	if (st.st_size == 0 || outdated(dev)) {
		memset(s, 0, sizeof(*s));
		s->magic = MAGIC;
		s->version = VERSION;
		default_config(&s->config);
		if (!config_ok(&s->config))
			return gs_fail(err, "GPUSHARE_EMU_*: a value is out of range");
	} else if (load(dev, s)) {
		return gs_fail(err, "the device file is corrupt or of another version");
	}
	for (uint32_t i = 0; i < EMU_DEVICE_SLOTS; i++) {
		if (lock_byte(dev->fd, F_OFD_SETLK, F_WRLCK, LOCK_SLOT + (off_t)i))
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
		return save_all(dev, s) ? gs_fail_errno(err, "cannot write the device file") : 0;
	}
	return gs_fail(err, "all %d places on the device are taken", EMU_DEVICE_SLOTS);
}

struct emu_device *emu_device_open(struct gs_error *err)
{
	const char *name = getenv("GPUSHARE_EMU_DEVICE");
	struct emu_device *dev = calloc(1, sizeof(*dev));
	char path[64];
	struct state s;
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
	if (lock_state(dev))
		rc = gs_fail_errno(err, "cannot lock the device %s", name);
	else
		rc = take_place(dev, &s, err);
	lock_byte(dev->fd, F_OFD_SETLK, F_UNLCK, LOCK_STATE);
	if (rc) {
		close(dev->fd);
		free(dev);
		return NULL;
	}
	return dev;
}

void emu_device_close(struct emu_device *dev)
{
	struct state s;

	if (!dev)
		return;
	if (!enter(dev, &s)) {
		memset(&s.slot[dev->me], 0, sizeof(s.slot[0]));
		(void)save_mine(dev, &s);
		if (s.round.holder == dev->me + 1) {
			s.round.holder = 0;
			(void)save_round(dev, &s);
		}
		leave(dev);
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
	struct state s;
	int rc = -1;

	if (enter(dev, &s))
		return -1;
	if (bytes <= s.config.memory - used_memory(dev, &s)) {
		s.slot[dev->me].bytes += bytes;
		rc = save_mine(dev, &s);
	}
	leave(dev);
	return rc;
}

void emu_device_release(struct emu_device *dev, uint64_t bytes)
{
	struct state s;

	if (enter(dev, &s))
		return;
	s.slot[dev->me].bytes -= bytes < s.slot[dev->me].bytes ? bytes : s.slot[dev->me].bytes;
	(void)save_mine(dev, &s);
	leave(dev);
}

uint64_t emu_device_free_memory(struct emu_device *dev)
{
	struct state s;
	uint64_t n;

	if (enter(dev, &s))
		return 0;
	n = s.config.memory - used_memory(dev, &s);
	leave(dev);
	return n;
}

uint64_t emu_device_copy(struct emu_device *dev, enum emu_copy_engine engine, uint64_t ns)
{
	off_t at = (off_t)(offsetof(struct state, engine_ns) + engine * sizeof(uint64_t));
	uint64_t now, end;
	struct state s;

	if (enter(dev, &s))
		return 0;
	now = now_ns();
	end = s.engine_ns[engine];
	/* What nobody can have asked for is nobody's. */
	if (end < now || end - now > STALE_NS * EMU_DEVICE_SLOTS)
		end = now;
	end += ns;
	if (pwrite(dev->fd, &end, sizeof(end), at) != (ssize_t)sizeof(end))
		end = 0;
	leave(dev);
	return end;
}

/* May the owner be passed over: nobody, dead, or silent for too long? */
static int vacant(struct emu_device *dev, const struct state *s, uint64_t now)
{
	uint32_t o = s->round.holder;
	uint64_t heard;

	if (!o || !alive(dev, s, o - 1))
		return 1;
	heard = s->slot[o - 1].seen_ns > s->round.granted_ns ? s->slot[o - 1].seen_ns :
							       s->round.granted_ns;
	/* a time in the future is nobody's */
	return heard > now || now - heard > STALE_NS;
}

/* As emu_device_acquire(), without waiting.  *switched: somebody else computed last. */
static int try_acquire(struct emu_device *dev, int *switched)
{
	uint64_t now = now_ns();
	struct state s;
	int mine;

	if (enter(dev, &s))
		return -1;
	mine = s.round.holder == dev->me + 1;
	if (!mine && vacant(dev, &s, now)) {
		s.round.holder = dev->me + 1;
		s.round.granted_ns = now;
		mine = save_round(dev, &s) ? -1 : 1;
	}
	*switched = mine == 1 && s.round.last != dev->me + 1;
	if (*switched) {
		s.round.last = dev->me + 1;
		mine = save_round(dev, &s) ? -1 : 1;
	}
	if (mine || !s.slot[dev->me].wants || now - s.slot[dev->me].seen_ns > REFRESH_NS) {
		s.slot[dev->me].wants = 1;
		s.slot[dev->me].seen_ns = now;
		if (save_mine(dev, &s))
			mine = -1;
	}
	leave(dev);
	return mine;
}

int emu_device_acquire(struct emu_device *dev, uint32_t timeout_us)
{
	uint64_t until = now_ns() + timeout_us * 1000ull;

	for (;;) {
		struct timespec pause = { 0, 100000 };
		int switched, rc = try_acquire(dev, &switched);

		if (rc == 1 && switched && dev->config.switch_us) {
			struct timespec cost = { 0, (long)dev->config.switch_us * 1000 };

			nanosleep(&cost, NULL);
		}
		if (rc || now_ns() >= until)
			return rc;
		nanosleep(&pause, NULL);
	}
}

/* The next place in turn that lives and wants the compute; EMU_DEVICE_SLOTS: none. */
static uint32_t next_in_round(struct emu_device *dev, const struct state *s)
{
	uint64_t now = now_ns();

	for (uint32_t k = 1; k < EMU_DEVICE_SLOTS; k++) {
		uint32_t i = (dev->me + k) % EMU_DEVICE_SLOTS;

		if (s->slot[i].used && s->slot[i].wants && now - s->slot[i].seen_ns < STALE_NS &&
		    alive(dev, s, i))
			return i;
	}
	return EMU_DEVICE_SLOTS;
}

int emu_device_others_want(struct emu_device *dev)
{
	struct state s;
	int rc;

	if (enter(dev, &s))
		return 0;
	/* another took over while this process was silent: stop at once */
	rc = s.round.holder != dev->me + 1 || next_in_round(dev, &s) < EMU_DEVICE_SLOTS;
	if (!rc) {
		s.slot[dev->me].seen_ns = now_ns();
		(void)save_mine(dev, &s);
	}
	leave(dev);
	return rc;
}

void emu_device_yield(struct emu_device *dev, int want)
{
	struct state s;
	uint32_t next;

	if (enter(dev, &s))
		return;
	s.slot[dev->me].wants = want != 0;
	s.slot[dev->me].seen_ns = now_ns();
	(void)save_mine(dev, &s);
	if (s.round.holder == dev->me + 1) {
		next = next_in_round(dev, &s);
		s.round.holder = next < EMU_DEVICE_SLOTS ? next + 1 : 0;
		s.round.granted_ns = now_ns();
		(void)save_round(dev, &s);
	}
	leave(dev);
}
