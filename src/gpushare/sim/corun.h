/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How kernels that run at once would divide a GPU (gpushare/corun).  The kernels
 * come from a file, comma separated; the first line names the columns, in any
 * order, and lines that begin with # are comments:
 *
 *	name,registers,shared,threads,issue
 *
 * registers are of a thread, as ptxas reports them, shared bytes (or 48K) and
 * threads of a block; issue is the part of the cycles in which the kernel issues
 * instructions alone, in per cent, for the quotas (100).
 */
#ifndef GPUSHARE_SIM_CORUN_H
#define GPUSHARE_SIM_CORUN_H

#include <stdio.h>

#include "common/error.h"
#include "gpushare/corun/corun.h"
#include "gpushare/sim/workload.h"

#define SIM_SMS_MAX 256

struct sim_corun {
	struct gs_corun_size sm;
	uint32_t sms; /* 1 to SIM_SMS_MAX */
	char name[GS_CORUN_MAX][SIM_NAME_MAX];
	struct gs_corun_size block[GS_CORUN_MAX]; /* as the hardware allocates it */
	struct gs_corun_alone alone[GS_CORUN_MAX];
	size_t count;
};

/* "R,S,T,B" of a multiprocessor, a size for S. 0, or -1 with the reason. */
int sim_corun_sm(const char *text, struct gs_corun_size *sm, struct gs_error *err);

/* The kernels of a text, which ends with a NUL and is cut up, for the multiprocessors that are set
 * already. 0, or -1 with "name:line: reason". */
int sim_corun_parse(const char *name, char *text, struct sim_corun *corun, struct gs_error *err);

/* The same of a file of at most 1 MiB, - for standard input. */
int sim_corun_load(const char *path, struct sim_corun *corun, struct gs_error *err);

/* Each kernel's part by each way to divide; as CSV or for people. -1: no memory. */
int sim_corun_write(FILE *out, const struct sim_corun *corun, int csv);

#endif
