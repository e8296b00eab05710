/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs' names for people: Slurm's by their number, those of `gpusharectl run` as L1, L2 and so on.
 * Their numbers begin far above Slurm's, which nobody wants to type.  In JSON, in messages and in
 * files a job stays its number.
 */
#ifndef GPUSHARE_PROTO_JOB_NAME_H
#define GPUSHARE_PROTO_JOB_NAME_H

#include "common/error.h"
#include "gpushare/proto/msg.h"

/* For printf: "job " GS_JOB_F, and GS_JOB(id) for its two arguments. */
#define GS_JOB_F "%s%u"
#define GS_JOB(id) \
	((id) >= GS_LOCAL_JOB_FIRST ? "L" : ""), \
		((id) >= GS_LOCAL_JOB_FIRST ? (id)-GS_LOCAL_JOB_FIRST + 1 : (id))

/* "12", "L3", and the number of the latter too.  0; -1 with the reason. */
int gs_job_parse(const char *text, uint32_t *job, struct gs_error *err);

#endif
