/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replacing the driver's functions by entries that count; see counted.h. */
#define _GNU_SOURCE
#include "device/shim/base/counted.h"

#include <stddef.h>

#include "gpushare/proto/page.h"

_Static_assert(offsetof(struct gs_page_calls, ended) ==
		       offsetof(struct gs_page_calls, begun) + SHIM_CALLS_ENDED,
	       "counted_entry.S counts both from the address of the first");

/* counted_entry.S: one behind the other, in the order of entries.def. */
extern const char shim_counted_entry[SHIM_FN_COUNT][SHIM_COUNTED_BYTES]
	__attribute__((visibility("hidden")));

/* Read by counted_entry.S: where calls are counted, and what they enter. */
extern _Atomic(_Atomic uint32_t *) shim_counted_words __attribute__((visibility("hidden")));
extern void *shim_counted_driver_of[SHIM_FN_COUNT] __attribute__((visibility("hidden")));
_Atomic(_Atomic uint32_t *) shim_counted_words;
void *shim_counted_driver_of[SHIM_FN_COUNT];

static _Atomic uint32_t nobodys[2]; /* what a forked child counts until it has a page */
static _Atomic int counting, given_up;

static void *entry_of(enum shim_fn fn)
{
	return (void *)(uintptr_t)shim_counted_entry[fn];
}

void *shim_counted_slot(enum shim_fn fn, void *found)
{
	__atomic_store_n(&shim_counted_driver_of[fn], found, __ATOMIC_SEQ_CST);
	return atomic_load(&counting) ? entry_of(fn) : found;
}

void *shim_counted_behind(enum shim_fn fn, void *slot)
{
	return slot == entry_of(fn) ?
		       __atomic_load_n(&shim_counted_driver_of[fn], __ATOMIC_ACQUIRE) :
		       slot;
}

/* One that is being found at this moment is replaced by whoever finds it (real.c). */
static void replace_all(void)
{
	for (int fn = 0; fn < SHIM_FN_COUNT; fn++)
		if (__atomic_load_n(&shim_counted_driver_of[fn], __ATOMIC_SEQ_CST))
			__atomic_store_n(&shim_slot[fn], entry_of((enum shim_fn)fn),
					 __ATOMIC_RELEASE);
}

void shim_counted_follow(struct gs_page *page)
{
	if (!gs_page_load(page->calls.wanted))
		return;
	/* Not 0 is what tells the daemon that this program counts. */
	if (atomic_load(&shim_counted_words) != &page->calls.begun) {
		gs_page_store(page->calls.ended, 1);
		gs_page_store(page->calls.begun, atomic_load(&given_up) ? 2 : 1);
		atomic_store(&shim_counted_words, &page->calls.begun);
	}
	if (!atomic_exchange(&counting, 1))
		replace_all();
}

void shim_counted_give_up(void)
{
	_Atomic uint32_t *words = atomic_load(&shim_counted_words);

	/* One call more has begun than will ever have ended. */
	if (!atomic_exchange(&given_up, 1) && words)
		atomic_fetch_add(&words[0], 1);
}

void shim_counted_note(void)
{
	_Atomic uint32_t *words = atomic_load_explicit(&shim_counted_words, memory_order_acquire);

	if (!words)
		return;
	atomic_fetch_add(&words[0], 1);
	atomic_fetch_add(&words[1], 1);
}

void shim_counted_forked(void)
{
	if (atomic_load(&shim_counted_words))
		atomic_store(&shim_counted_words, nobodys);
}
