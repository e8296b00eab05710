/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See packed.h. */
#define _GNU_SOURCE
#include "device/shim/launch/packed.h"

#include <stdlib.h>
#include <string.h>

#include "device/shim/base/wraps.h"
#include "device/shim/variant/transforms.h"

/* What to do with each attribute. An attribute that is not in the table keeps the kernel as
 * written, since its meaning is unknown. */
static const struct {
	CUlaunchAttributeID id;
	enum ptx_reason why; /* NONE: the variant gets the attribute */
} table[] = {
	{ CU_LAUNCH_ATTRIBUTE_IGNORE, PTX_REASON_NONE },
	{ CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, PTX_REASON_NONE },
	{ CU_LAUNCH_ATTRIBUTE_PRIORITY, PTX_REASON_NONE },
	{ CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, PTX_REASON_NONE },
	{ CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, PTX_REASON_NONE },
	{ CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, PTX_REASON_NONE },
	{ CU_LAUNCH_ATTRIBUTE_COOPERATIVE, PTX_REASON_COOPERATIVE },
	{ CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, PTX_REASON_CLUSTER },
	{ CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, PTX_REASON_CLUSTER },
	{ CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, PTX_REASON_PDL },
	{ CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, PTX_REASON_PDL },
	/* The event would be recorded when the kernel has left, and again later. */
	{ CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, PTX_REASON_LAUNCH_ATTRIBUTE },
};

static enum ptx_reason reason_of(CUlaunchAttributeID id)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].id == id)
			return table[i].why;
	return PTX_REASON_LAUNCH_ATTRIBUTE;
}

/* Does the attribute ask for nothing beyond a launch without it? */
static int is_idle(const CUlaunchAttribute *a)
{
	const CUlaunchAttributeValue *v = &a->value;

	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		return !v->cooperative;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		return !v->programmaticStreamSerializationAllowed;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		return v->clusterDim.x == 1 && v->clusterDim.y == 1 && v->clusterDim.z == 1;
	default:
		return a->id == CU_LAUNCH_ATTRIBUTE_IGNORE;
	}
}

enum ptx_reason shim_attributes_take(struct shim_attributes *to, const CUlaunchConfig *config,
				     int by_cluster)
{
	enum ptx_reason worst = PTX_REASON_NONE;

	to->n = 0;
	if (!config)
		return worst;
	/* The driver refuses a launch that claims a list of attributes and has none. */
	if (config->numAttrs && !config->attrs)
		return PTX_REASON_LAUNCH_ATTRIBUTE;
	for (unsigned int i = 0; i < config->numAttrs; i++) {
		enum ptx_reason why = reason_of(config->attrs[i].id);

		if (is_idle(&config->attrs[i]))
			continue;
		if (by_cluster && config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			why = PTX_REASON_NONE; /* a cluster runs or leaves as a whole */
		/* Keep the most specific reason, whatever its place in the list. */
		if (why != PTX_REASON_NONE &&
		    (worst == PTX_REASON_NONE || worst == PTX_REASON_LAUNCH_ATTRIBUTE))
			worst = why;
		if (to->n < SHIM_ATTRIBUTES_MAX)
			to->of[to->n++] = config->attrs[i];
		else if (worst == PTX_REASON_NONE)
			worst = PTX_REASON_LAUNCH_ATTRIBUTE;
	}
	return worst;
}

int shim_pack_params(struct shim_launch *l, const struct shim_request *r)
{
	const struct shim_layout *p = &l->as.variant->params;
	size_t len = p->ctl_offset + l->as.transform->param_bytes;

	if (r->params && r->extra) /* an error of the program's */
		return -1;
	if (l->as.packed.room < len) {
		unsigned char *grown = realloc(l->as.packed.bytes, len);

		if (!grown)
			return -1;
		l->as.packed.bytes = grown;
		l->as.packed.room = len;
	}
	l->as.packed.len = len;
	memset(l->as.packed.bytes, 0, len);
	if (r->params) {
		for (uint32_t i = 0; i < p->nparam; i++)
			memcpy(l->as.packed.bytes + p->offset[i], r->params[i], p->size[i]);
	} else if (r->extra) {
		const void *from = NULL;
		size_t n = 0;

		for (void **e = r->extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
			if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
				from = e[1];
			else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
				n = *(const size_t *)e[1];
		}
		/* One that is too short the driver refuses. */
		if (!from || (p->nparam && n < p->offset[p->nparam - 1] + p->size[p->nparam - 1]))
			return -1;
		memcpy(l->as.packed.bytes, from, n < p->ctl_offset ? n : p->ctl_offset);
	} else if (p->nparam) {
		return -1;
	}
	return 0;
}

CUresult shim_launch_packed(struct shim_launch *l, const unsigned int grid[3], CUstream stream)
{
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER,
		l->as.packed.bytes,
		CU_LAUNCH_PARAM_BUFFER_SIZE,
		&l->as.packed.len,
		CU_LAUNCH_PARAM_END,
	};
	const unsigned int *block = l->as.dims.block;
	CUlaunchConfig config = {
		grid[0],
		grid[1],
		grid[2],
		block[0],
		block[1],
		block[2],
		l->as.dims.shared,
		stream,
		l->as.attributes.of,
		l->as.attributes.n,
	};

	if (l->as.attributes.n)
		return REAL(cuLaunchKernelEx)(&config, l->as.variant->f, NULL, extra);
	return REAL(cuLaunchKernel)(l->as.variant->f, grid[0], grid[1], grid[2], block[0], block[1],
				    block[2], l->as.dims.shared, stream, NULL, extra);
}
