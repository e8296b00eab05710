/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of transforms; see transforms.h. */
#define _GNU_SOURCE
#include "device/shim/variant/transforms.h"

#include <string.h>

static const struct shim_transform *known[PTX_TRANSFORM_COUNT];

void shim_transform_add(enum ptx_transform_kind kind, const struct shim_transform *transform)
{
	known[kind] = transform;
}

const struct shim_transform *shim_transform_of(enum ptx_transform_kind kind)
{
	return known[kind];
}

unsigned int shim_write_op(CUstreamBatchMemOpParams *op, unsigned int n, int bits, CUdeviceptr at,
			   uint64_t value)
{
	memset(&op[n], 0, sizeof(op[n]));
	op[n].writeValue.operation =
		bits == 64 ? CU_STREAM_MEM_OP_WRITE_VALUE_64 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
	op[n].writeValue.address = at;
	op[n].writeValue.value64 = value;
	return n + 1;
}
