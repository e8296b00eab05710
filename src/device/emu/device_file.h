/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that is the emulated device for all its processes: its contents, and the locks on it.
 * Each process has a place in it, which a lock on a byte says to be alive. */
#ifndef GPUSHARE_EMU_DEVICE_FILE_H
#define GPUSHARE_EMU_DEVICE_FILE_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include "device/emu/device.h"

#define EMU_FILE_MAGIC 0x3165766475706765ull
#define EMU_FILE_VERSION 6
#define EMU_FILE_LOCK_STATE 0
#define EMU_FILE_LOCK_SLOT 65536
/* An owner of the compute that has not been heard of for so long (it was stopped, say) loses it. */
#define EMU_FILE_STALE_NS 500000000ull

struct emu_file_slot {
	uint64_t bytes;
	uint64_t seen_ns; /* CLOCK_MONOTONIC, by the owner of the compute */
	uint32_t used;
	uint32_t pid;
	uint32_t wants;
	uint32_t pad;
};

struct emu_file_state {
	uint64_t magic;
	uint32_t version;
	uint32_t pad;
	struct emu_config config;
	struct emu_file_round {
		uint64_t granted_ns;
		uint32_t holder; /* slot + 1; 0: nobody */
		uint32_t last;   /* slot + 1 of who computed last; 0: nobody */
	} round;
	struct emu_file_slot slot[EMU_DEVICE_SLOTS];
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

/* fcntl on one byte, F_OFD_SETLK or F_OFD_GETLK (1: somebody has it). -1: errno. */
int emu_file_lock_byte(int fd, int cmd, short type, off_t at);

int emu_file_config_ok(const struct emu_config *c);

/* Reads the state; -1: the file is no device. */
int emu_file_load(struct emu_device *dev, struct emu_file_state *s);

/* Write all of it, this process's place, or who computes; -1: errno. */
int emu_file_save_all(struct emu_device *dev, const struct emu_file_state *s);
int emu_file_save_mine(struct emu_device *dev, const struct emu_file_state *s);
int emu_file_save_round(struct emu_device *dev, const struct emu_file_state *s);

/* Locks the state against other processes. 0 also when patience ends; -1: no lock can be had at
 * all. */
int emu_file_lock(struct emu_device *dev);

/* Locks it against other threads, too, and reads it. -1 (nothing is held then): the file is no
 * device any more. */
int emu_file_enter(struct emu_device *dev, struct emu_file_state *s);
void emu_file_leave(struct emu_device *dev);

/* Is place i somebody's who lives? */
int emu_file_alive(struct emu_device *dev, const struct emu_file_state *s, uint32_t i);

#endif
