/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became of periodic kernels (periodic.h), in the formats of gpushare-sim. */
#ifndef GPUSHARE_SIM_PERIODIC_OUTPUT_H
#define GPUSHARE_SIM_PERIODIC_OUTPUT_H

#include <stdio.h>

#include "gpushare/sim/periodic.h"

/* One policy, number `policy` of `count`: a row for each kernel of the workload. The JSON of all
 * policies is one object. */
typedef void sim_periodic_write(FILE *out, const struct sim_workload *workload,
				const struct gs_timing *timing,
				const struct sim_periodic_summary *summary, size_t policy,
				size_t count);
sim_periodic_write sim_periodic_csv, sim_periodic_json, sim_periodic_table;

/* Behind all of them: a row for each policy. JSON has them already. */
typedef void sim_periodic_end(FILE *out, const struct sim_periodic_summary *summary, size_t count);
sim_periodic_end sim_periodic_csv_end, sim_periodic_table_end;

#endif
