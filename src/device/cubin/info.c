/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See info.h. */
#define _GNU_SOURCE
#include "device/cubin/info.h"

#include "device/fatbin/bytes.h"

enum cubin_attribute_layout cubin_attribute_layout(uint8_t number)
{
	switch (number) {
#define CUBIN_ATTRIBUTE(number, name, layout) \
	case number: \
		return CUBIN_##layout;
#include "device/cubin/attributes.def"
#undef CUBIN_ATTRIBUTE
	default:
		return CUBIN_UNKNOWN;
	}
}

int cubin_info_next(const uint8_t *data, size_t size, size_t *at, struct cubin_info *i,
		    struct gs_error *err)
{
	const uint8_t *p = data + *at;
	size_t left = size - *at;

	if (!left)
		return 0;
	if (left < 4)
		return gs_fail(err, "cubin: an attribute of %zu bytes", left);
	i->stored = p[0];
	i->number = p[1];
	i->size = 2;
	i->value = p + 2;
	*at += 4;
	if (i->stored == CUBIN_STORED_BYTES) {
		i->size = get16(p + 2);
		i->value = p + 4;
		if (i->size > left - 4)
			return gs_fail(err, "cubin: attribute %#x ends outside its section",
				       i->number);
		*at += i->size;
	} else if (i->stored < CUBIN_STORED_NONE || i->stored > CUBIN_STORED_HALF) {
		return gs_fail(err, "cubin: attribute %#x is stored in a way that is not known",
			       i->number);
	}
	return 1;
}

void cubin_info_add(struct cubin_buffer *to, const struct cubin_info *i)
{
	cubin_buffer_add(to, &i->stored, 1);
	cubin_buffer_add(to, &i->number, 1);
	if (i->stored == CUBIN_STORED_BYTES)
		cubin_buffer_add16(to, i->size);
	cubin_buffer_add(to, i->value, i->size);
}
