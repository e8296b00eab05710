/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emulated device as several processes share it: a file that holds its
 * configuration, who has which memory, and who owns the compute.
 *
 * The file belongs to all users, so nothing in it is trusted: it is read and
 * written (never mapped: a truncated mapping kills), every field is checked,
 * and a process lives for the others as long as it holds a lock that the
 * kernel releases when it dies, however it dies.
 */
#ifndef GPUSHARE_EMU_DEVICE_H
#define GPUSHARE_EMU_DEVICE_H

#include <stdint.h>

#include "common/error.h"

struct emu_device;

struct emu_config {
	uint64_t memory;        /* bytes */
	uint32_t sms;           /* 1 to 256 */
	uint32_t blocks_per_sm; /* 1 to 64 */
	uint32_t slice_ms;      /* of compute while others wait; 1 to 10000 */
	uint32_t clock_khz;
	uint32_t deterministic; /* one order of execution, on a clock of its own (engine.h) */
	uint32_t switch_us;     /* us that a change of the process that has the compute costs; at
				 * most 100000 */
	uint32_t copy_mib_s;    /* what each copy engine copies between host and device; 0: as
				   fast as it goes */
	uint32_t copy_unit_kib; /* of a copy, before another process's may be next; above 0 */
};

#define EMU_DEVICE_SLOTS 64

/*
 * Open the device named by GPUSHARE_EMU_DEVICE (default
 * /dev/shm/gpushare-emu-<uid>), creating it from GPUSHARE_EMU_SMS,
 * _BLOCKS_PER_SM, _MEMORY, _SLICE_MS, _CLOCK_KHZ, _DETERMINISTIC (0 or 1),
 * _SWITCH_US, _COPY_MIB_S and _COPY_UNIT_KIB, and take a place on it.
 */
struct emu_device *emu_device_open(struct gs_error *err);
void emu_device_close(struct emu_device *dev); /* gives everything back; NULL is fine */
/* In a forked child: let go of the parent's place without giving it back. */
void emu_device_forked(struct emu_device *dev);

const struct emu_config *emu_device_config(const struct emu_device *dev);

/* Count bytes against the device's memory.  -1: the living processes' sum would exceed it. */
int emu_device_reserve(struct emu_device *dev, uint64_t bytes);
void emu_device_release(struct emu_device *dev, uint64_t bytes);
/* Bytes that nobody holds. */
uint64_t emu_device_free_memory(struct emu_device *dev);

/* There is one for each direction, which does one thing at a time. */
enum emu_copy_engine { EMU_COPY_TO_DEVICE, EMU_COPY_TO_HOST, EMU_COPY_ENGINES };
/* The engine is this process's for so long, once it is done with what it has got before: until when
 * (CLOCK_MONOTONIC, ns); 0: the device is gone. */
uint64_t emu_device_copy(struct emu_device *dev, enum emu_copy_engine engine, uint64_t ns);

/* Wait for the compute, at most timeout_us.  1: this process owns it, 0: not yet, -1: the device is
 * gone. */
int emu_device_acquire(struct emu_device *dev, uint32_t timeout_us);
/*
 * The slice is over: 1: others want the compute and it has been given to the
 * next of them (want says whether to be called again), 0: this process goes on.
 */
int emu_device_others_want(struct emu_device *dev);
void emu_device_yield(struct emu_device *dev, int want);

#endif
