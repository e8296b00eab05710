/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What scan.c and calls.c share while they scan one function. */
#ifndef GPUSHARE_PTX_SCAN_H
#define GPUSHARE_PTX_SCAN_H

#include "device/ptx/facts.h"

struct ptx_scan {
	struct ptx_analysis *a;
	const struct ptx_func *func;
	struct ptx_facts *f;
	uint32_t callee_cap;
	int no_memory;
};

void ptx_scan_insn(struct ptx_scan *s, const struct ptx_stmt *stmt);
void ptx_scan_call(struct ptx_scan *s, const struct ptx_stmt *stmt);
/* A symbol as an operand: a function's address may be taken. */
void ptx_scan_symbol(struct ptx_scan *s, const struct ptx_operand *o);

/* A whole function's own facts; -1 when memory is short. */
int ptx_scan_func(struct ptx_analysis *a, uint32_t i);
/* A name whose address is used as a value: if a function's, it may be called through a pointer. */
void ptx_take_address(struct ptx_analysis *a, struct ptx_slice name);
/* Callees' facts and reasons to their callers, until nothing changes. */
void ptx_propagate(struct ptx_analysis *a);

#endif
