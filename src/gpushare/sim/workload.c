/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole workloads in memory; see workload.h. */
#include "gpushare/sim/workload.h"

#include <stdlib.h>

#include "gpushare/sim/reader.h"
#include "gpushare/sim/survey.h"

static int read_all(const struct sim_text *text, size_t count, struct sim_workload *workload,
		    struct gs_error *err)
{
	struct sim_reader reader;
	int rc = 1;

	if (sim_reader_open(&reader, text, err) < 0)
		return -1;
	workload->kernel = malloc(count * sizeof(*workload->kernel));
	if (!workload->kernel)
		rc = gs_fail(err, "no memory");
	while (rc == 1 && workload->count < count)
		if ((rc = sim_reader_kernel(&reader, &workload->kernel[workload->count], err)) == 1)
			workload->count++;
	sim_reader_close(&reader);
	return rc == 0 ? gs_fail(err, "%.120s: changed while it was read", text->name) : rc;
}

static int load(const struct sim_text *text, struct sim_workload *workload, struct gs_error *err)
{
	struct sim_survey survey;

	*workload = (struct sim_workload){ .name = text->name };
	if (sim_survey(text, &survey, err) < 0)
		return -1;
	if (read_all(text, survey.count, workload, err) == 1)
		return 0;
	sim_workload_free(workload);
	return -1;
}

int sim_workload_parse(const char *name, const char *text, size_t len,
		       struct sim_workload *workload, struct gs_error *err)
{
	struct sim_text whole = sim_text_of(name, text, len);

	return load(&whole, workload, err);
}

int sim_workload_load(const char *path, struct sim_workload *workload, struct gs_error *err)
{
	struct sim_text text;
	int rc;

	*workload = (struct sim_workload){ 0 };
	if (sim_text_open(path, &text, err) < 0)
		return -1;
	rc = load(&text, workload, err);
	sim_text_close(&text);
	return rc;
}

void sim_workload_free(struct sim_workload *workload)
{
	free(workload->kernel);
	*workload = (struct sim_workload){ 0 };
}
