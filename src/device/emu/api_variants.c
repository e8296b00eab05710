/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The _ptsz and _ptds variants: the same functions with the per-thread default stream as stream 0.
 */
#define _GNU_SOURCE
#include "device/emu/emu.h"

#define VARIANT(symbol, variant, parameters, arguments) \
	CUresult CUDAAPI variant parameters \
	{ \
		CUresult rc; \
		emu_per_thread_stream++; \
		rc = symbol arguments; \
		emu_per_thread_stream--; \
		return rc; \
	}
#define VARIANT_N(symbol, parameters, arguments)
#define VARIANT_Z(symbol, parameters, arguments) \
	VARIANT(symbol, symbol##_ptsz, parameters, arguments)
#define VARIANT_D(symbol, parameters, arguments) \
	VARIANT(symbol, symbol##_ptds, parameters, arguments)
#define CU(kind, name, suffix, since, parameters, arguments) \
	VARIANT_##kind(name##suffix, parameters, arguments)
#include "device/driver/entries.def"
