/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel's attributes once a guard stands in front of it. */
#ifndef GPUSHARE_CUBIN_GUARD_INFO_H
#define GPUSHARE_CUBIN_GUARD_INFO_H

#include "device/cubin/cubin.h"
#include "device/cubin/elf.h"
#include "device/cubin/template.h"

struct cubin_guarding {
	struct cubin_elf *e;
	const char *name;
	const struct cubin_template *t;
	uint32_t symbol, text, info, params; /* of the kernel */
	uint32_t params_symbol;              /* of the section of parameters */
	uint32_t param, param_at;            /* the guard's parameter: its ordinal and its offset */
	enum cubin_reason *reason;
	struct gs_error *err;
};

#define CUBIN_GUARD_REFUSE(g, why, ...) \
	(*(g)->reason = CUBIN_REASON_##why, gs_fail((g)->err, __VA_ARGS__))

/* Writes the section of the kernel's attributes anew.  0, or -1 with *reason. */
int cubin_guard_info(struct cubin_guarding *g);
/* The same for the module's: the kernel's registers are at least the guard's. */
int cubin_guard_module_info(struct cubin_guarding *g, uint32_t *registers);

#endif
