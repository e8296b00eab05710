/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The description of a transformed module's kernels as bytes, to be kept in a file. */
#ifndef GPUSHARE_SHIM_DESCRIBE_H
#define GPUSHARE_SHIM_DESCRIBE_H

#include "device/ptx/transform.h"

/* The kernels of t, without the text: a block of the caller's to free, *len bytes; NULL: no memory.
 */
unsigned char *shim_describe(const struct ptx_transformed *t, size_t *len);

/* The same again, with no text; for ptx_transformed_free.  NULL: these bytes describe nothing, or
 * no memory. */
struct ptx_transformed *shim_undescribe(const unsigned char *data, size_t len);

#endif
