/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every line is parsed, every name compared; see survey.h. */
#include "gpushare/sim/survey.h"

#include "gpushare/sim/names.h"
#include "gpushare/sim/reader.h"

static int look(struct sim_reader *reader, struct sim_names *names, struct sim_survey *survey,
		struct gs_error *err)
{
	struct sim_kernel kernel;
	struct gs_error why;
	uint64_t last = 0;
	int rc;

	*survey = (struct sim_survey){ .sorted = 1 };
	while ((rc = sim_reader_kernel(reader, &kernel, &why)) == 1) {
		if (sim_names_add(names, kernel.name, err) < 0)
			return -1;
		if (++survey->count == UINT32_MAX)
			return sim_line_fail(&reader->line, 1, err, "too many kernels");
		survey->sorted &= kernel.arrival_ns >= last;
		last = kernel.arrival_ns;
	}
	/* A name that came twice did so before the line that is wrong. */
	if (sim_names_settle(names, err) < 0)
		return -1;
	if (rc < 0)
		return gs_fail(err, "%s", why.text);
	if (survey->count > 0)
		return 0;
	reader->line.number += reader->line.number == 0;
	return sim_line_fail(&reader->line, 1, err, "no kernel");
}

int sim_survey(const struct sim_text *text, struct sim_survey *survey, struct gs_error *err)
{
	struct sim_names *names = NULL;
	struct sim_reader reader;
	uint64_t lines;
	int rc = -1;

	if (sim_text_lines(text, &lines, err) < 0 || sim_reader_open(&reader, text, err) < 0)
		return -1;
	names = sim_names_create(text, lines);
	if (names)
		rc = look(&reader, names, survey, err);
	else
		gs_fail(err, "no memory");
	sim_names_destroy(names);
	sim_reader_close(&reader);
	return rc;
}
