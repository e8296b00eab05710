/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See machine.h. */
#define _GNU_SOURCE
#include "device/inspect/machine.h"

#include <string.h>

#include "device/ptx/transform.h"

void machine_add_guards(json_t *k, const struct cubin_kernel *facts, const struct gs_error *why)
{
	json_t *guards = json_object_get(k, "guards");

	if (facts->uses & CUBIN_USES_PDL)
		json_object_set_new(k, "uses_pdl", json_true());
	if (json_array_size(guards))
		return;
	if (facts->reason != CUBIN_REASON_NONE) {
		json_object_set_new(k, "guard_reason",
				    json_string(cubin_reason_name(facts->reason)));
		json_object_set_new(k, "guard_words",
				    json_string(cubin_reason_words(facts->reason)));
		json_object_set_new(k, "guard_detail", json_string(why->text));
		return;
	}
	json_object_del(k, "guard_reason");
	json_object_del(k, "guard_words");
	json_object_del(k, "guard_detail");
	for (int g = 0; g < CUBIN_GUARD_COUNT; g++)
		json_array_append_new(guards, json_string(cubin_guard_name((enum cubin_guard)g)));
}

void machine_decide(json_t *k)
{
	const char *transform = json_string_value(json_object_get(k, "form"));

	if (!transform || strcmp(transform, ptx_transform_name(PTX_TRANSFORM_AS_IS)) != 0 ||
	    !json_array_size(json_object_get(k, "guards")))
		return;
	json_object_set_new(k, "form", json_string(ptx_transform_name(PTX_TRANSFORM_GUARDED)));
	json_object_set_new(k, "from", json_string("machine code"));
	json_object_set_new(k, "reason", json_string(ptx_reason_name(PTX_REASON_NONE)));
	json_object_set_new(k, "reason_words", json_string(ptx_reason_words(PTX_REASON_NONE)));
}
