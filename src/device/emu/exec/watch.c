/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of watched words; see watch.h. */
#define _GNU_SOURCE
#include "device/emu/exec/watch.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct emu_watch table[EMU_WATCHES]; /* the first emu_watches; under lock */
_Atomic uint32_t emu_watches;

/* Index of the counter's watch, or how many there are.  Lock held. */
static uint32_t find(uint64_t counter)
{
	uint32_t n = atomic_load(&emu_watches), i = 0;

	while (i < n && table[i].counter != counter)
		i++;
	return i;
}

/* Lock held. */
static void drop(uint32_t i)
{
	uint32_t last = atomic_load(&emu_watches) - 1;

	table[i] = table[last];
	atomic_store(&emu_watches, last);
}

int emu_watch_set(const struct emu_watch *watch)
{
	uint32_t i;
	int rc = -1;

	pthread_mutex_lock(&lock);
	i = find(watch->counter);
	if (i < EMU_WATCHES) {
		table[i] = *watch;
		if (i == atomic_load(&emu_watches))
			atomic_store(&emu_watches, i + 1);
		rc = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

void emu_watch_forget(uint64_t base, uint64_t size)
{
	if (!atomic_load(&emu_watches))
		return;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < atomic_load(&emu_watches);) {
		if (table[i].counter - base < size || table[i].word - base < size)
			drop(i);
		else
			i++;
	}
	pthread_mutex_unlock(&lock);
}

void emu_watch_poll(uint64_t address, uint64_t value)
{
	struct emu_watch w = { 0 };
	uint32_t i;

	pthread_mutex_lock(&lock);
	i = find(address);
	if (i < atomic_load(&emu_watches) && value >= table[i].from) {
		w = table[i];
		drop(i);
		__atomic_store_n((uint32_t *)(uintptr_t)w.word, w.value, __ATOMIC_SEQ_CST);
	}
	pthread_mutex_unlock(&lock);
	if (w.told)
		w.told(w.user);
}
