/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of transforms and reasons; see kind.h. */
#include "device/ptx/kind.h"

const char *ptx_transform_name(enum ptx_transform_kind transform)
{
	static const char *const names[PTX_TRANSFORM_COUNT] = {
		[PTX_TRANSFORM_AS_IS] = "as is",
		[PTX_TRANSFORM_PERSISTENT] = "persistent",
		[PTX_TRANSFORM_GUARDED] = "guarded",
		[PTX_TRANSFORM_SLICED] = "sliced",
	};

	return (unsigned)transform < PTX_TRANSFORM_COUNT ? names[transform] : "unknown";
}

const char *ptx_transform_suffix(enum ptx_transform_kind transform)
{
	static const char *const suffixes[PTX_TRANSFORM_COUNT] = {
		[PTX_TRANSFORM_AS_IS] = "",
		[PTX_TRANSFORM_PERSISTENT] = PTX_PERSISTENT_SUFFIX,
		[PTX_TRANSFORM_GUARDED] = PTX_GUARDED_SUFFIX,
		[PTX_TRANSFORM_SLICED] = PTX_SLICED_SUFFIX,
	};

	return (unsigned)transform < PTX_TRANSFORM_COUNT ? suffixes[transform] : "";
}

const char *ptx_reason_words(enum ptx_reason reason)
{
	static const char *const words[PTX_REASON_COUNT] = {
#define PTX_REASON(name, text, best) [PTX_REASON_##name] = text,
#include "common/reasons.def"
#undef PTX_REASON
	};

	return (unsigned)reason < PTX_REASON_COUNT ? words[reason] : "unknown";
}

const char *ptx_reason_name(enum ptx_reason reason)
{
	static const char *const names[PTX_REASON_COUNT] = {
#define PTX_REASON(name, text, best) [PTX_REASON_##name] = #name,
#include "common/reasons.def"
#undef PTX_REASON
	};

	return (unsigned)reason < PTX_REASON_COUNT ? names[reason] : "unknown";
}
