/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of jobs; see job_name.h. */
#include "gpushare/proto/job_name.h"

#include "common/units.h"

int gs_job_parse(const char *text, uint32_t *job, struct gs_error *err)
{
	int local = *text == 'L' || *text == 'l';
	struct gs_error why;
	int64_t value;

	if (gs_parse_int(text + local, 1, local ? UINT32_MAX - GS_LOCAL_JOB_FIRST : UINT32_MAX,
			 &value, &why) < 0)
		return gs_fail(err, "'%.40s' is no job: a number, or L and a number", text);
	*job = local ? GS_LOCAL_JOB_FIRST - 1 + (uint32_t)value : (uint32_t)value;
	return 0;
}
