/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that grows; failure sticks and is asked for once, at the end. */
#ifndef GPUSHARE_PTX_OUT_H
#define GPUSHARE_PTX_OUT_H

#include <stddef.h>

#include "device/ptx/ast.h"

struct ptx_out {
	char *text;
	size_t len, cap;
	int failed; /* memory was short */
};

/* Room for about so much; less is no failure. */
void ptx_out_reserve(struct ptx_out *out, size_t size);
void ptx_out_put(struct ptx_out *out, const char *text, size_t len);
void ptx_out_str(struct ptx_out *out, const char *text);
void ptx_out_slice(struct ptx_out *out, struct ptx_slice s);
/* A few words; never longer than 256 bytes. */
void ptx_out_fmt(struct ptx_out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
