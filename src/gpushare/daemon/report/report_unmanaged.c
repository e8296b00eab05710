/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that use GPUs past gpushare, in `gpusharectl status`; see report_unmanaged.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/report_unmanaged.h"

#include "gpushare/daemon/report/report_json.h"

#define COLUMNS 7

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

		json_object_set_new(o, "gpu", json_integer(u->gpu));
		json_object_set_new(o, "pid", json_integer(u->pid));
		json_object_set_new(o, "uid", json_integer(u->uid));
		json_object_set_new(o, "job", u->job ? json_integer(u->job) : json_null());
		json_object_set_new(o, "step", u->job ? gs_report_json_text(u->step) : json_null());
		json_object_set_new(o, "program", gs_report_json_text(u->program));
		json_object_set_new(o, "memory_mb", gs_report_json_number(u->memory_mb));
		json_object_set_new(o, "killed", json_boolean(u->killed));
		json_array_append_new(all, o);
	}
	return all;
}

void gs_report_unmanaged_table(struct gs_table *t, const struct gs_report_status *s)
{
	static const char *const heads[COLUMNS] = { "gpu",  "pid",     "uid",      "job",
						    "step", "program", "memory_mb" };

	if (!s->nunmanaged)
		return;
	gs_table_print(t, COLUMNS);
	if (!t->failed)
		fputs("\nunmanaged: they use a GPU past gpushare\n\n", t->out);
	for (size_t i = 0; i < COLUMNS; i++)
		gs_table_cell(t, "%s", heads[i]);
	for (size_t i = 0; i < s->nunmanaged; i++) {
		const struct gs_report_unmanaged *u = &s->unmanaged[i];

		gs_table_cell(t, "%u", u->gpu);
		gs_table_cell(t, "%u", u->pid);
		gs_table_cell(t, "%u", u->uid);
		if (u->job)
			gs_table_cell(t, "%u", u->job);
		else
			gs_table_cell(t, "-");
		gs_table_cell(t, "%s", u->job ? u->step : "-");
		gs_table_cell(t, "%s%s", u->program, u->killed ? " (killed)" : "");
		gs_table_cell(t, "%.0f", u->memory_mb);
	}
}
