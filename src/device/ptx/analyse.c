/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The analysis of a module: names, variables, every function, and what callers inherit. */
#define _GNU_SOURCE
#include "device/ptx/scan.h"
#include "device/ptx/uniform.h"

#include <stdlib.h>
#include <string.h>

static int name_functions(struct ptx_analysis *a)
{
	const struct ptx_module *m = a->module;

	a->body = malloc((m->nfunc + 1) * sizeof(*a->body));
	if (!a->body)
		return -1;
	for (uint32_t i = 0; i < m->nfunc; i++) {
		uint32_t id = ptx_symtab_put(&a->names, m->func[i].name);

		if (id == PTX_SYM_NONE)
			return -1;
		if (id == a->nbody)
			a->body[a->nbody++] = PTX_SYM_NONE;
		if (!m->func[i].is_decl)
			a->body[id] = i;
	}
	return 0;
}

static int scan_variables(struct ptx_analysis *a)
{
	const struct ptx_module *m = a->module;

	a->shared_var = malloc((m->nvar + 1) * sizeof(*a->shared_var));
	a->shared_stamp = calloc(m->nvar + 1, sizeof(*a->shared_stamp));
	if (!a->shared_var || !a->shared_stamp)
		return -1;
	for (uint32_t i = 0; i < m->nvar; i++) {
		const struct ptx_var *v = &m->var[i];

		for (uint32_t k = 0; k < v->nrelocs; k++)
			ptx_take_address(a, v->relocs[k].symbol);
		if (v->space != PTX_SPACE_SHARED)
			continue;
		if (ptx_symtab_put(&a->shared, v->name) == PTX_SYM_NONE)
			return -1;
		if (a->shared.n > a->nshared)
			a->shared_var[a->nshared++] = v;
	}
	return 0;
}

static uint32_t parse_sm(struct ptx_slice target)
{
	uint32_t sm = 0;

	for (uint32_t i = 3;
	     i < target.len && target.s[i] >= '0' && target.s[i] <= '9' && sm < 10000; i++)
		sm = sm * 10 + (uint32_t)(target.s[i] - '0');
	return sm;
}

/* Functions in which threads part before they meet: their callers inherit that. */
static void find_partings(struct ptx_analysis *a)
{
	for (uint32_t i = 0; i < a->module->nfunc; i++) {
		struct ptx_facts *f = &a->func[i];
		struct ptx_meeting m;

		if (a->module->func[i].is_entry ||
		    !(f->facts & (PTX_FACT_BARRIER | PTX_FACT_WARP_SYNC)))
			continue;
		if (ptx_meeting_points(&m, a, i) < 0)
			m.barrier_line = m.warp_line = a->module->func[i].span.line;
		if (m.barrier_line)
			f->facts |= PTX_FACT_MISSED_BARRIER;
		if (m.warp_line)
			f->facts |= PTX_FACT_MISSED_WARP;
		if (m.whole_warps)
			f->facts |= PTX_FACT_WHOLE_WARPS;
	}
}

uint32_t ptx_callee_facts(const struct ptx_analysis *a, const struct ptx_facts *f)
{
	uint32_t facts = 0;

	for (uint32_t i = 0; i < f->ncallee; i++)
		facts |= a->func[f->callee[i]].facts;
	for (uint32_t i = 0; f->facts & PTX_FACT_INDIRECT && i < a->module->nfunc; i++)
		if (a->func[i].address_taken)
			facts |= a->func[i].facts;
	return facts;
}

int ptx_analyse(struct ptx_analysis *a, const struct ptx_module *module)
{
	memset(a, 0, sizeof(*a));
	a->module = module;
	a->sm = parse_sm(module->target);
	a->func = calloc(module->nfunc + 1, sizeof(*a->func));
	if (!a->func || name_functions(a) < 0 || scan_variables(a) < 0)
		return -1;
	for (uint32_t i = 0; i < module->nfunc; i++) {
		if (ptx_scan_func(a, i) < 0)
			return -1;
		if (!module->func[i].is_entry)
			a->function_shared += a->func[i].shared_bytes;
	}
	ptx_propagate(a);
	find_partings(a);
	ptx_propagate(a);
	return 0;
}

void ptx_analysis_free(struct ptx_analysis *a)
{
	for (uint32_t i = 0; a->func && i < a->module->nfunc; i++)
		free(a->func[i].callee);
	free(a->func);
	free(a->body);
	free(a->shared_var);
	free(a->shared_stamp);
	ptx_symtab_free(&a->shared);
	ptx_symtab_free(&a->names);
	memset(a, 0, sizeof(*a));
}
