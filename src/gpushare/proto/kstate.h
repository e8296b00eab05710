/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel stub's states and their legal transitions, from kstate.def. */
#ifndef GPUSHARE_PROTO_KSTATE_H
#define GPUSHARE_PROTO_KSTATE_H

#include <stdint.h>

enum gs_kstate {
#define KSTATE(name, meaning) GS_K_##name,
#define KEDGE(from, to, by, when)
#include "gpushare/proto/kstate.def"
#undef KSTATE
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
const char *gs_kstate_name(uint32_t kstate);

/* The writers (gs_writer bits) that may move from -> to; 0 if nobody may. */
unsigned gs_kstate_writers(uint32_t from, uint32_t to);

#endif
