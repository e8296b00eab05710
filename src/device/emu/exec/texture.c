/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of texture and surface objects: read by kernels without a lock. */
#define _GNU_SOURCE
#include "device/emu/exec/texture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define ENTRIES 65536
/*
 * Handles begin with this, so that a pointer or a small number that gets into a kernel's texture
 * operand is no handle.
 */
#define HANDLE_BASE 0x7e78000000000000ull

static _Atomic(struct emu_texture *) table[ENTRIES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t hint;

static int index_of(uint64_t handle)
{
	uint64_t i = handle - HANDLE_BASE;

	return i < ENTRIES ? (int)i : -1;
}

const struct emu_texture *emu_texture_find(uint64_t handle)
{
	int i = index_of(handle);

	return i < 0 ? NULL : atomic_load_explicit(&table[i], memory_order_acquire);
}

uint64_t emu_texture_add(const struct emu_texture *t)
{
	struct emu_texture *copy = malloc(sizeof(*copy));
	uint64_t handle = 0;

	if (!copy)
		return 0;
	*copy = *t;
	pthread_mutex_lock(&mutex);
	for (uint32_t n = 0; n < ENTRIES && !handle; n++) {
		uint32_t i = (hint + n) % ENTRIES;

		if (atomic_load(&table[i]))
			continue;
		atomic_store_explicit(&table[i], copy, memory_order_release);
		hint = i + 1;
		handle = HANDLE_BASE + i;
	}
	pthread_mutex_unlock(&mutex);
	if (!handle)
		free(copy);
	return handle;
}

int emu_texture_remove(uint64_t handle)
{
	int i = index_of(handle);
	struct emu_texture *t = i < 0 ? NULL : atomic_exchange(&table[i], NULL);

	free(t);
	return t ? 0 : -1;
}
