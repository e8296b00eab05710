/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results as Chrome trace events (one process per policy, one thread per
 * kernel) and as SVG (one lane per kernel, the slowdown bars beside it); see
 * output.h.  The writers are those of gpusharectl (metrics/timeline.h).
 */
#define _GNU_SOURCE
#include "gpushare/sim/output.h"

#include <stdlib.h>

static const struct gs_span_kind held = { .colour = "#4f81bd" };

struct picture {
	struct gs_panel *panel;
	struct gs_lane *lane;
	char (*caption)[96];
};

static void picture_free(struct picture *p)
{
	free(p->panel);
	free(p->lane);
	free(p->caption);
}

static int picture_of(struct picture *p, const struct sim_workload *workload,
		      const struct sim_result *result, size_t count)
{
	p->panel = calloc(count, sizeof(*p->panel));
	p->lane = calloc(count * workload->count, sizeof(*p->lane));
	p->caption = calloc(count, sizeof(*p->caption));
	if (!p->panel || !p->lane || !p->caption) {
		picture_free(p);
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		const struct sim_summary *s = &result[i].summary;
		struct gs_lane *lane = p->lane + i * workload->count;

		for (size_t k = 0; k < workload->count; k++)
			lane[k] = (struct gs_lane) { workload->kernel[k].name, result[i].row[k].ntt,
						     1, workload->kernel[k].arrival_ns };
		snprintf(p->caption[i], sizeof(p->caption[i]),
			 "ANTT %.2f, DNTT %.2f, STP %.2f, "
			 "makespan %.2f ms",
			 s->antt, s->dntt, s->stp, s->makespan_ms);
		p->panel[i] =
			(struct gs_panel) { s->policy,      p->caption[i],   lane,  workload->count,
					    result[i].span, result[i].spans, &held, 1 };
	}
	return 0;
}

int sim_write_trace(FILE *out, const struct sim_workload *workload, const struct sim_result *result,
		    size_t count)
{
	struct picture p;

	if (picture_of(&p, workload, result, count) < 0)
		return -1;
	gs_timeline_trace(out, p.panel, count);
	picture_free(&p);
	return 0;
}

int sim_write_svg(FILE *out, const struct sim_workload *workload, const struct sim_result *result,
		  size_t count)
{
	static const struct gs_svg how = { .title = "Who had the GPU in the first round" };
	struct picture p;
	int rc;

	if (picture_of(&p, workload, result, count) < 0)
		return -1;
	rc = gs_timeline_svg(out, p.panel, count, &how);
	picture_free(&p);
	return rc;
}
