/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The check per kernel: every row of the table in doc/ptx-transform.md is handled or refused here.
 */
#define _GNU_SOURCE
#include "device/ptx/guard.h"
#include "device/ptx/plan.h"
#include "device/ptx/slice.h"
#include "device/ptx/uniform.h"

#include <string.h>

#define STATIC_SHARED_MAX (48u << 10) /* CUDA programming guide, "Technical Specifications" */

uint64_t ptx_param_layout(const struct ptx_func *f, uint32_t *offset)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < f->nparam; i++) {
		uint64_t align = f->param[i].align ? f->param[i].align : 1;

		at = (at + align - 1) & ~(align - 1);
		if (offset)
			offset[i] = at > UINT32_MAX ? UINT32_MAX : (uint32_t)at;
		at += ptx_var_size(&f->param[i]);
		if (at > UINT32_MAX)
			at = UINT32_MAX;
	}
	return at;
}

/* PTX ISA, "Parameter State Space": 4,352 B before 8.1 (4 KB usable), 32,764 B from 8.1 on sm_70.
 */
static uint32_t param_limit(const struct ptx_analysis *a)
{
	const struct ptx_module *m = a->module;
	int large = m->version_major > 8 || (m->version_major == 8 && m->version_minor >= 1);

	return large && a->sm >= 70 ? 32764 : 4096;
}

/* Does the reason stand against the form? */
static int stops(enum ptx_reason reason, enum ptx_transform_kind transform)
{
	static const uint8_t best[PTX_REASON_COUNT] = {
#define PTX_REASON(name, words, transform) [PTX_REASON_##name] = PTX_TRANSFORM_##transform,
#include "common/reasons.def"
#undef PTX_REASON
	};

	return best[reason] == PTX_TRANSFORM_AS_IS ||
	       transform < (enum ptx_transform_kind)best[reason];
}

static void refuse(struct ptx_plan *plan, enum ptx_reason reason, uint32_t line)
{
	if (plan->why_not.reason == PTX_REASON_NONE && stops(reason, plan->transform))
		plan->why_not = (struct ptx_refusal) { reason, line };
}

static void check_module(struct ptx_plan *plan, const struct ptx_analysis *a,
			 const struct ptx_func *f)
{
	uint64_t added = plan->transform == PTX_TRANSFORM_SLICED  ? sizeof(struct gs_slice) :
			 plan->transform == PTX_TRANSFORM_GUARDED ? GS_GUARD_PARAM_BYTES :
								    8;

	if (a->module->address_size != 64)
		refuse(plan, PTX_REASON_ADDRESS_SIZE, 0);
	if (a->module->version_major < 6)
		refuse(plan, PTX_REASON_ISA_VERSION, 0);
	if (plan->ctl_offset + added > param_limit(a))
		refuse(plan, PTX_REASON_PARAMETERS, f->span.line);
	if (plan->static_shared + PTX_SLOT_BYTES + PTX_SLOT_ALIGN - 1 > STATIC_SHARED_MAX)
		refuse(plan, PTX_REASON_SHARED_MEMORY, f->span.line);
}

/* The lowest barrier that no counted barrier of the body uses. */
static void choose_barrier(struct ptx_plan *plan, const struct ptx_facts *f)
{
	unsigned n = 0;

	if (f->counted_unknown || f->counted_barriers == UINT16_MAX) {
		refuse(plan, PTX_REASON_BARRIER_NUMBER, f->barrier_line);
		return;
	}
	while (f->counted_barriers & 1u << n)
		n++;
	plan->barrier = (uint8_t)n;
}

/*
 * Threads that leave early.  The GPU drops them from the counts of later
 * barriers; in the worker's loop they must keep answering.  Whole warps can.
 * Single lanes cannot: where the paths to the boundary join, the assembler
 * makes the lanes of a warp wait for each other, and those that are done
 * would wait there for lanes that wait at the barrier (seen on an H200).
 */
static void check_meetings(struct ptx_plan *plan, const struct ptx_analysis *a, uint32_t func)
{
	const struct ptx_facts *f = &a->func[func];
	uint32_t inherited = ptx_callee_facts(a, f), line = a->module->func[func].span.line;
	struct ptx_meeting m;

	if (!(f->facts & (PTX_FACT_BARRIER | PTX_FACT_WARP_SYNC)))
		return;
	if (ptx_meeting_points(&m, a, func) < 0)
		m.barrier_line = m.lane_line = m.warp_line =
			f->barrier_line ? f->barrier_line : line;
	if (!m.barrier_line && inherited & PTX_FACT_MISSED_BARRIER)
		m.barrier_line = f->barrier_line;
	if (!m.warp_line && inherited & PTX_FACT_MISSED_WARP)
		m.warp_line = line;
	plan->whole_warps = (f->facts & PTX_FACT_WARP_SYNC || m.barrier_line) &&
			    (m.whole_warps || inherited & PTX_FACT_WHOLE_WARPS);
	if (m.warp_line && f->facts & PTX_FACT_WARP_SYNC)
		refuse(plan, PTX_REASON_WARP_SYNC_AFTER_EXIT, m.warp_line);
	if (!m.barrier_line || !(f->facts & PTX_FACT_BARRIER))
		return;
	plan->sync_aware = 1;
	plan->reduces = f->barrier_red;
	if (m.lane_line || inherited & PTX_FACT_BARRIER || !a->sync_aware)
		refuse(plan, PTX_REASON_BARRIER_AFTER_EXIT,
		       m.lane_line ? m.lane_line : m.barrier_line);
}

void ptx_plan_entry(struct ptx_plan *plan, const struct ptx_analysis *a, uint32_t func,
		    enum ptx_transform_kind transform)
{
	const struct ptx_func *f = &a->module->func[func];
	const struct ptx_facts *facts = &a->func[func];
	uint64_t end = ptx_param_layout(f, NULL);
	uint64_t shared =
		facts->shared_bytes +
		(facts->ncallee || facts->facts & PTX_FACT_INDIRECT ? a->function_shared : 0);

	memset(plan, 0, sizeof(*plan));
	plan->transform = transform;
	plan->ctl_offset = (uint32_t)((end + 7) & ~7ull);
	if (end > UINT32_MAX - 64)
		plan->ctl_offset = UINT32_MAX - 64;
	plan->static_shared = shared > UINT32_MAX ? UINT32_MAX : (uint32_t)shared;
	plan->meet_each_task = (facts->facts & (PTX_FACT_SHARED | PTX_FACT_BARRIER)) != 0;
	plan->wait_copies = (facts->facts & PTX_FACT_CP_ASYNC) != 0;
	plan->wait_surfaces = (facts->facts & PTX_FACT_SURFACE) != 0;
	for (unsigned r = 1; r < PTX_CODE_REASONS; r++)
		if (facts->reasons & 1u << r)
			refuse(plan, (enum ptx_reason)r, facts->line[r]);
	check_module(plan, a, f);
	if (transform != PTX_TRANSFORM_PERSISTENT)
		return;
	choose_barrier(plan, facts);
	check_meetings(plan, a, func);
	if (f->bounds.reqntid[0] && ((f->bounds.reqntid[1] == 1 && f->bounds.reqntid[2] == 1) ||
				     f->bounds.reqntid[0] % 32 == 0))
		plan->whole_warps = 0;
}
