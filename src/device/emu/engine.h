/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SMs: threads that run the blocks of submitted grids while this process
 * owns the device's compute.  Blocks are taken in ascending order, from the
 * grid of highest priority first, then the oldest; the next grid's blocks fill
 * the places that the last blocks of a grid leave free.
 */
#ifndef GPUSHARE_EMU_ENGINE_H
#define GPUSHARE_EMU_ENGINE_H

#include "device/emu/device.h"
#include "device/emu/exec/warp.h"

struct emu_engine;

struct emu_engine *emu_engine_create(struct emu_device *dev, struct gs_error *err);
/* Run the grid to its end (or its fault); the caller's thread waits.  A lower number is a higher
 * priority. */
void emu_engine_run(struct emu_engine *engine, struct emu_grid *grid, int priority);
/*
 * The clock of a deterministic device, in cycles; NULL: the device is none.
 *
 * Such a device has one thread for all its SMs.  It runs one grid at a time,
 * a turn for every resident block in the order of their places, and its clock
 * goes with the instructions executed, so that nothing depends on the host's
 * timing but the order in which grids arrive (stream.c sees to that).
 */
const _Atomic uint64_t *emu_engine_cycles(const struct emu_engine *engine);
/* Advance the clock: what a stream does takes time, too. */
void emu_engine_pass(struct emu_engine *engine, uint64_t cycles);

#endif
