/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types, sizes and slices of the parsed module; see ast.h. */
#include "device/ptx/ast.h"
#include "device/ptx/parse.h"

#include <string.h>

static const struct {
	const char *text;
	uint8_t len, size;
} types[] = {
	[PTX_T_NONE] = { "", 0, 0 },
#define TYPE(name, spelling, bytes) [PTX_T_##name] = { spelling, sizeof(spelling) - 1, bytes },
#include "device/ptx/types.def"
#undef TYPE
};

uint32_t ptx_type_size(enum ptx_type type)
{
	return (size_t)type < sizeof(types) / sizeof(types[0]) ? types[type].size : 0;
}

enum ptx_type ptx_type_of(struct ptx_slice s)
{
	for (size_t i = 1; i < sizeof(types) / sizeof(types[0]); i++)
		if (s.len == types[i].len && memcmp(s.s, types[i].text, s.len) == 0)
			return (enum ptx_type)i;
	return PTX_T_NONE;
}

uint64_t ptx_var_size(const struct ptx_var *var)
{
	uint64_t size = (uint64_t)ptx_type_size(var->type) * var->vec;

	if (var->type >= PTX_T_TEXREF)
		size = 8; /* a handle (PTX ISA, "Texture Sampler and Surface Types") */
	return size * var->elements;
}
