/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and the transition table of the kernel stub's states; see kstate.def. */
#include "gpushare/proto/kstate.h"

const char *gs_kstate_name(uint32_t kstate)
{
	static const char *const names[GS_K_COUNT] = {
#define KSTATE(name, meaning) #name,
#define KEDGE(from, to, by, when)
#include "gpushare/proto/kstate.def"
#undef KSTATE
#undef KEDGE
	};

	return kstate < GS_K_COUNT ? names[kstate] : "?";
}

unsigned gs_kstate_writers(uint32_t from, uint32_t to)
{
	static const uint8_t writers[GS_K_COUNT][GS_K_COUNT] = {
#define KSTATE(name, meaning)
#define KEDGE(from, to, by, when) [GS_K_##from][GS_K_##to] = GS_BY_##by,
#include "gpushare/proto/kstate.def"
#undef KSTATE
#undef KEDGE
	};

	if (from >= GS_K_COUNT || to >= GS_K_COUNT)
		return 0;
	return writers[from][to];
}
