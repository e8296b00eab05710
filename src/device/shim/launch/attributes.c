/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes of launches; see attributes.h. */
#define _GNU_SOURCE
#include "device/shim/launch/attributes.h"

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
