/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the emulated device offers beyond the driver API: a table that its
 * cuGetExportTable returns for the id below.  A real driver does not know the
 * id and answers with an error, so who asks finds out on what it runs.
 */
#ifndef GPUSHARE_DRIVER_EMU_EXPORT_H
#define GPUSHARE_DRIVER_EMU_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "device/driver/cuda.h"

#define GS_EMU_EXPORT_ID \
	{ \
		{ \
			'g', 'p', 'u', 's', 'h', 'a', 'r', 'e', '-', 'e', 'm', 'u', '-', '0', '0', \
				'1' \
		} \
	}

struct gs_emu_export {
	size_t size; /* of this table, in bytes: what is beyond it is not there */
	/*
	 * Once a kernel's 64-bit atomic raises the word at `counter` to `from`
	 * or more, the device stores `value` into the 32-bit word at `word`
	 * before the atomic's result reaches the kernel, then calls told(user)
	 * on a thread of its own, which must not enter the driver.  Once: the
	 * watch is gone then.  A counter has one watch, the last one set; it
	 * goes with the counter's memory.  told may be NULL.
	 * CUDA_ERROR_OUT_OF_MEMORY: too many watches (256).
	 */
	CUresult (*watch)(CUdeviceptr counter, uint64_t from, CUdeviceptr word, uint32_t value,
			  void (*told)(void *user), void *user);
};

#endif
