/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of the device memory that was moved to the host and back (checkpoint.h). The times are those
 * of gpushare-mem, without waiting for kernels to end and for room. Only successful moves of this
 * daemon count; of others the times are not known.
 */
#ifndef GPUSHARE_DAEMON_MOVES_H
#define GPUSHARE_DAEMON_MOVES_H

#include <stdint.h>

struct gs_moves {
	uint64_t out_bytes, out_ns;
	uint64_t back_bytes, back_ns;
};

#endif
