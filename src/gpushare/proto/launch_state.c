/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and the transition table of the launch slot's states; see launch_state.def. */
#include "gpushare/proto/launch_state.h"

const char *gs_launch_state_name(uint32_t state)
{
	static const char *const names[GS_K_COUNT] = {
#define LAUNCH_STATE(name, meaning) #name,
#define KEDGE(from, to, by, when)
#include "gpushare/proto/launch_state.def"
#undef LAUNCH_STATE
#undef KEDGE
	};

	return state < GS_K_COUNT ? names[state] : "?";
}

unsigned gs_launch_state_writers(uint32_t from, uint32_t to)
{
	static const uint8_t writers[GS_K_COUNT][GS_K_COUNT] = {
#define LAUNCH_STATE(name, meaning)
#define KEDGE(from, to, by, when) [GS_K_##from][GS_K_##to] = GS_BY_##by,
#include "gpushare/proto/launch_state.def"
#undef LAUNCH_STATE
#undef KEDGE
	};

	if (from >= GS_K_COUNT || to >= GS_K_COUNT)
		return 0;
	return writers[from][to];
}
