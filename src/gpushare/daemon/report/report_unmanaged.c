/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that use GPUs past gpushare, in `gpusharectl status`; see report_unmanaged.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/report_unmanaged.h"

#include "gpushare/daemon/report/report_json.h"

uint32_t gs_report_unmanaged_of(const struct gs_report_status *s, uint32_t gpu)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->nunmanaged; i++)
		n += s->unmanaged[i].gpu == gpu;
	return n;
}

json_t *gs_report_unmanaged_json(const struct gs_report_status *s)
{
	json_t *all = json_array();

	for (size_t i = 0; i < s->nunmanaged; i++) {
		const struct gs_report_unmanaged *u = &s->unmanaged[i];
		json_t *o = json_object();

#define UNMANAGED(key, kind, rank, head, value, words) \
	json_object_set_new(o, #key, JSON_##kind(value));
#include "gpushare/columns/unmanaged.def"
#undef UNMANAGED
		json_array_append_new(all, o);
	}
	return all;
}
