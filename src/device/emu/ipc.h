/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Device memory that other processes may open. */
#ifndef GPUSHARE_EMU_IPC_H
#define GPUSHARE_EMU_IPC_H

#include <stdint.h>

#include "device/emu/api.h"
#include "device/emu/exec/mem.h"

/* What a handle says; read as hostile. */
struct emu_ipc_handle {
	uint64_t magic;
	uint64_t size, offset;
	uint64_t inode, dev;
	int32_t pid, fd;
};
#define EMU_IPC_MAGIC 0x637069656d750001ull

struct emu_ipc {
	struct emu_ipc *next;
	struct emu_ipc_handle h;
	uint64_t base;
};

/* The allocation's pages can be opened from now on by who gets the handle, which names `ptr` in
 * it. */
CUresult emu_ipc_export(const struct emu_range *range, uint64_t ptr, CUipcMemHandle *handle);

/* Device memory that may have been exported is freed. */
void emu_ipc_freed(uint64_t base);

#endif
