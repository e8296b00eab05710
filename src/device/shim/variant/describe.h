/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the description of a transformed module's kernels to bytes and back, for a file. */
#ifndef GPUSHARE_SHIM_DESCRIBE_H
#define GPUSHARE_SHIM_DESCRIBE_H

#include "device/ptx/transform.h"

/* The kernels of t as bytes, without the text: a block of *len bytes that the caller frees. NULL:
 * no memory. */
unsigned char *shim_describe(const struct ptx_transformed *t, size_t *len);

/* The reverse: kernels without a text, which the caller frees by ptx_transformed_free(). NULL: the
 * bytes are not a valid description, or there is no memory. */
struct ptx_transformed *shim_undescribe(const unsigned char *data, size_t len);

#endif
