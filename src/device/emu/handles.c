/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stack of free objects of each kind; see handles.h. */
#define _GNU_SOURCE
#include "device/emu/handles.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/emu/log.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
	void **object;
	size_t n, cap;
} freed[EMU_H_KINDS]; /* under mutex */

void *emu_handle_take(enum emu_handle_kind kind, size_t size, size_t keep)
{
	void *object = NULL;

	pthread_mutex_lock(&mutex);
	if (freed[kind].n)
		object = freed[kind].object[--freed[kind].n];
	pthread_mutex_unlock(&mutex);
	if (!object)
		return calloc(1, size);
	memset((char *)object + keep, 0, size - keep);
	return object;
}

void emu_handle_put(enum emu_handle_kind kind, void *object)
{
	*(uint32_t *)object = EMU_MAGIC_GONE;
	pthread_mutex_lock(&mutex);
	if (freed[kind].n == freed[kind].cap) {
		size_t cap = freed[kind].cap ? freed[kind].cap * 2 : 64;
		void **grown = realloc(freed[kind].object, cap * sizeof(*grown));

		if (grown) {
			freed[kind].object = grown;
			freed[kind].cap = cap;
		}
	}
	if (freed[kind].n < freed[kind].cap) /* without memory, this one never comes again */
		freed[kind].object[freed[kind].n++] = object;
	pthread_mutex_unlock(&mutex);
}

static int strict(void)
{
	const char *text = getenv("GPUSHARE_EMU_STRICT");

	return text && strcmp(text, "1") == 0;
}

int emu_handle_is(const void *object, uint32_t magic, const char *what)
{
	uint32_t word = object ? __atomic_load_n((const uint32_t *)object, __ATOMIC_RELAXED) : 0;

	if (word == EMU_MAGIC_GONE && strict()) {
		emu_log("call with %s %p, which is gone: the driver may crash here", what, object);
		abort();
	}
	return word == magic;
}
