/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of device memory that the device watches for somebody (device/driver/emu_export.h). */
#ifndef GPUSHARE_EMU_WATCH_H
#define GPUSHARE_EMU_WATCH_H

#include <stdatomic.h>
#include <stdint.h>

#define EMU_WATCHES 256

struct emu_watch {
	uint64_t counter, from; /* device addresses; the value that releases it */
	uint64_t word;
	uint32_t value;
	void (*told)(void *user);
	void *user;
};

/* Set, in the place of one that the counter may have.  -1: no place left. */
int emu_watch_set(const struct emu_watch *watch);
/* Forget those whose counter or word is in [base, base + size). */
void emu_watch_forget(uint64_t base, uint64_t size);

/* The slow half of emu_watch_atomic. */
void emu_watch_poll(uint64_t address, uint64_t value);
extern _Atomic uint32_t emu_watches;

/* An atomic of a kernel has raised the 64-bit word at the address to value. */
static inline void emu_watch_atomic(uint64_t address, uint64_t value)
{
	if (atomic_load_explicit(&emu_watches, memory_order_relaxed))
		emu_watch_poll(address, value);
}

#endif
