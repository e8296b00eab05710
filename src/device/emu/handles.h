/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handles as the driver gives them: the address of a destroyed object is given to the next one of
 * its kind, the last freed first. The memory of an object is never used for anything else, so a
 * handle that is used too late is noticed, until its address has been given away again.
 */
#ifndef GPUSHARE_EMU_HANDLES_H
#define GPUSHARE_EMU_HANDLES_H

#include <stddef.h>
#include <stdint.h>

enum emu_handle_kind {
	EMU_H_CTX,
	EMU_H_STREAM,
	EMU_H_EVENT,
	EMU_H_MODULE,
	EMU_H_FUNC,
	EMU_H_KINDS
};

/* Every object begins with such a word; this one says that it is gone. */
#define EMU_MAGIC_GONE 0x656e6f67u

/*
 * An object of `size` bytes, all zero but the first `keep` of a former object: those are locks that
 * threads may still hold.
 */
void *emu_handle_take(enum emu_handle_kind kind, size_t size, size_t keep);
/* It is gone: its first word says so from here on. */
void emu_handle_put(enum emu_handle_kind kind, void *object);

/*
 * Is it an object whose first word is `magic`?  Of one that is gone the real driver
 * may crash: with GPUSHARE_EMU_STRICT=1 this one does, too, saying what it was.
 */
int emu_handle_is(const void *object, uint32_t magic, const char *what);

#endif
