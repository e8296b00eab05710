/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two small kernels that a guarded launch needs beside its own (guard.h), in a
 * module of their own: one that reports the end of the launch and one that carries
 * the order to leave to W.  They need sm_70.
 */
#ifndef GPUSHARE_PTX_GUARD_END_H
#define GPUSHARE_PTX_GUARD_END_H

/* The module, PTX text. */
extern const char ptx_guard_module[];

/*
 * (u64 word, u64 slot, u64 done, u64 total, u32 unit, u32 group), launched behind a
 * guarded kernel in its stream, in one block: of one thread if `group` is 0, else of
 * GS_GUARD_SEEN_COUNT, which zero the words behind W for the next launch.
 *
 *	n = min((lower half of W << group) * unit, total)
 *	n == total: W = 0, *done += 1, slot.done = n, state DONE
 *	n < total:  slot.done = n, state READY; W stays for the host to write anew
 *
 * `slot` is the device address of the launch slot (slot_layout.h), `done` that of
 * the 32-bit word for which the stream waits, `total` the blocks of the grid and
 * `unit` the blocks of a cluster, or 1.  Everything that the kernel wrote is visible
 * to the whole system before the state is.
 */
#define PTX_GUARD_END "gpushare_guard_end"

/*
 * (u64 word, u64 slot, u64 done, u32 end), the watcher: one thread, in a stream of its own.
 * It reads the slot's state in host memory every microsecond or so.  It leaves once *done has
 * reached `end`, what the launch's own end will make it: then the state may be that of the slot's
 * next launch.  TOEVICT: it sets the upper half of W and leaves.  It also leaves once the state is
 * neither RUNNING nor TOEVICT.
 */
#define PTX_GUARD_WATCH "gpushare_guard_watch"

#endif
