/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The launch slot's states and their legal transitions, from launch_state.def. */
#ifndef GPUSHARE_PROTO_LAUNCH_STATE_H
#define GPUSHARE_PROTO_LAUNCH_STATE_H

#include <stdint.h>

enum gs_launch_state {
#define LAUNCH_STATE(name, meaning) GS_K_##name,
#define KEDGE(from, to, by, when)
#include "gpushare/proto/launch_state.def"
#undef LAUNCH_STATE
#undef KEDGE
	GS_K_COUNT
};

/* Who writes a transition; a bit mask. */
enum gs_writer {
	GS_BY_CLIENT = 1,
	GS_BY_DAEMON = 2,
	GS_BY_GPU = 4,
};

/* "READY" for GS_K_READY; "?" for a value that is no state. */
const char *gs_launch_state_name(uint32_t state);

/* The writers (gs_writer bits) that may move from -> to; 0 if nobody may. */
unsigned gs_launch_state_writers(uint32_t from, uint32_t to);

#endif
