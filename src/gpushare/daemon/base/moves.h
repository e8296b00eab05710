/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device memory that went to the host and came back (checkpoint.h), all times
 * together.  The times are gpushare-mem's, without the waiting for kernels to
 * end and for room.  Only what succeeded counts, and only what this daemon
 * took: of the rest the times are not known.
 */
#ifndef GPUSHARE_DAEMON_MOVES_H
#define GPUSHARE_DAEMON_MOVES_H

#include <stdint.h>

struct gs_moves {
	uint64_t out_bytes, out_ns;
	uint64_t back_bytes, back_ns;
};

#endif
