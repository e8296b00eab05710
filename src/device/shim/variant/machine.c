/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variants made from machine code; see machine.h. */
#define _GNU_SOURCE
#include "device/shim/variant/machine.h"

#include <stdlib.h>
#include <string.h>

#include "device/fatbin/fatbin.h"
#include "device/shim/variant/machine_test.h"
#include "device/shim/base/origin.h"

/* Units are grouped until a group takes about this long. A guard may cost a little of this time. */
#define GROUP_PS UINT64_C(20000000)
#define GROUP_MAX 31

/* Is this a reason that concerns only the PTX: it is missing, is not this kernel's, or is not
 * understood? Any other reason holds for the machine code as well. */
static int leaves_it(enum ptx_reason why)
{
	switch (why) {
	case PTX_REASON_MACHINE_CODE:
	case PTX_REASON_OTHER_PTX:
	case PTX_REASON_OLDER_PTX:
	case PTX_REASON_UNREADABLE:
	case PTX_REASON_UNKNOWN_INSTRUCTION:
	case PTX_REASON_CLUSTER:
	case PTX_REASON_UNBOUND:
		return 1;
	default:
		return 0;
	}
}

static enum ptx_reason reason_of(enum cubin_reason why)
{
	switch (why) {
	case CUBIN_REASON_ARCHITECTURE:
		return PTX_REASON_MACHINE_ARCHITECTURE;
	case CUBIN_REASON_RELOCATABLE:
		return PTX_REASON_RELOCATABLE;
	case CUBIN_REASON_PARAMETERS:
		return PTX_REASON_PARAMETERS;
	case CUBIN_REASON_VARIABLES:
		return PTX_REASON_MACHINE_VARIABLES;
	case CUBIN_REASON_FUNCTIONS:
		return PTX_REASON_FOREIGN_FUNCTION;
	case CUBIN_REASON_COOPERATIVE:
		return PTX_REASON_COOPERATIVE;
	default:
		return PTX_REASON_MACHINE_UNKNOWN;
	}
}

/* The machine code that the driver has loaded for the device; the caller frees *own. NULL: there is
 * none. */
static const uint8_t *find_code(const struct shim_bytes *image, uint32_t sm, size_t *len,
				uint8_t **own)
{
	struct gs_error err = { "" };
	struct gs_fatbin_choice c = { 0 };
	struct gs_fatbin fb;

	*own = NULL;
	switch (gs_image_kind(image->data, image->len)) {
	case GS_IMAGE_CUBIN:
		*len = image->len;
		return image->data;
	case GS_IMAGE_FATBIN:
		if (gs_fatbin_open(image->data, image->len, &fb, &err) == 0 &&
		    gs_fatbin_choose(&fb, sm, &c, &err) == 0 && c.has_machine)
			*own = gs_fatbin_unpack(&c.machine, len, &err);
		if (err.text[0])
			shim_log("machine code: %s", err.text);
		return *own;
	default:
		return NULL;
	}
}

enum cubin_guard shim_machine_guard(uint64_t unit_ps, uint64_t at_once, uint8_t *group)
{
	*group = 0;
	if (!unit_ps || !at_once || unit_ps >= GROUP_PS / at_once)
		return CUBIN_GUARD_MAXB;
	while (*group < GROUP_MAX && unit_ps << (*group + 1) <= GROUP_PS)
		++*group;
	return *group ? CUBIN_GUARD_MAXT : CUBIN_GUARD_MAXB;
}

/* How many blocks of the kernel the GPU holds at once; 0: not known. */
static uint64_t blocks_at_once(const struct shim_recipe *r)
{
	CUcontext popped;
	int blocks = 0;

	if (!r->seen.threads || !shim_context_use(r->ctx))
		return 0;
	if (!shim_kernel_use(r->kernel)) {
		shim_context_unuse(r->ctx);
		return 0;
	}
	if (REAL(cuCtxPushCurrent_v2)(r->ctx->ctx) == CUDA_SUCCESS) {
		if (REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(
			    &blocks, r->kernel->original, (int)r->seen.threads, r->seen.shared) !=
		    CUDA_SUCCESS)
			blocks = 0;
		REAL(cuCtxPopCurrent_v2)(&popped);
	}
	shim_kernel_unuse(r->kernel);
	shim_context_unuse(r->ctx);
	return blocks > 0 ? (uint64_t)blocks * (uint64_t)r->ctx->sms : 0;
}

/* Where the program's parameters lie. */
static int layout_of(const struct cubin *c, uint32_t kernel, const struct cubin_guarded *g,
		     struct shim_layout *to)
{
	to->offset = calloc(g->param + 1u, sizeof(*to->offset));
	to->size = calloc(g->param + 1u, sizeof(*to->size));
	if (!to->offset || !to->size)
		return -1;
	for (uint32_t i = 0; i < g->param; i++)
		if (cubin_param(c, kernel, i, &to->offset[i], &to->size[i]) < 0)
			return -1;
	to->nparam = g->param;
	to->ctl_offset = g->param_offset;
	return 0;
}

static enum ptx_reason make(const struct shim_recipe *r, const uint8_t *code, size_t len,
			    struct shim_made *made)
{
	const char *name = r->kernel->code->name;
	struct gs_error err = { "" };
	struct cubin *c = cubin_open(code, len, &err);
	int64_t i = c ? cubin_find(c, name) : -1;
	enum ptx_reason why = PTX_REASON_MACHINE_UNKNOWN;
	struct cubin_guarded g = { 0 };
	struct cubin_kernel k;
	uint64_t unit;
	int rc = -1;

	if (i >= 0 && cubin_kernel(c, (uint32_t)i, &k, &err) == 0) {
		unit = r->seen.cluster > 1 ? r->seen.cluster :
		       k.cluster[0]        ? (uint64_t)k.cluster[0] * k.cluster[1] * k.cluster[2] :
					     1;
		made->by_cluster = unit > 1;
		rc = cubin_guard_kernel(code, len, name,
					shim_machine_guard((r->time ? r->time->tpt_ps : 0) * unit,
							   blocks_at_once(r) / unit, &made->group),
					made->by_cluster, &g, &err);
	}
	if (rc == 1 && layout_of(c, (uint32_t)i, &g, &made->params) == 0) {
		made->bytes = g.image;
		made->len = g.size;
		made->transform = PTX_TRANSFORM_GUARDED;
		made->made_of = GS_MADE_OF_MACHINE_CODE;
		why = PTX_REASON_NONE;
	} else if (rc == 1) {
		free(g.image);
		shim_made_free(made);
	} else if (rc == 0) {
		why = reason_of(g.reason);
	}
	if (why != PTX_REASON_NONE)
		shim_log("kernel %s: no guard in its machine code: %s", name,
			 err.text[0] ? err.text : "there is no such kernel, or no memory");
	cubin_close(c);
	return why;
}

enum ptx_reason shim_machine_make(const struct shim_recipe *r, const struct shim_bytes *image,
				  enum ptx_reason why, struct shim_made *made)
{
	const struct shim_session *s = shim_session_peek();
	const uint8_t *code;
	uint8_t *own;
	size_t len;

	if (!leaves_it(why) || shim_emulated() || !s || s->machine_code == GS_MACHINE_NO)
		return why;
	code = find_code(image, r->sm, &len, &own);
	if (!code)
		return why;
	if (r->sm != SHIM_MACHINE_SM)
		why = PTX_REASON_MACHINE_ARCHITECTURE;
	else
		why = shim_machine_works(r->ctx);
	if (why == PTX_REASON_NONE)
		why = make(r, code, len, made);
	free(own);
	return why;
}

static void __attribute__((constructor)) add(void)
{
	shim_recipe_add(shim_machine_make);
}
