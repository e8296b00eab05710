/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel while it is cut out of its cubin. */
#ifndef GPUSHARE_CUBIN_CUTTING_H
#define GPUSHARE_CUBIN_CUTTING_H

#include "device/cubin/buffer.h"
#include "device/cubin/image.h"

struct cubin_cutting {
	const struct cubin_elf *from;
	const struct cubin_parts *kernel;
	const char *name;
	struct cubin_elf *to;
	uint32_t *section; /* its new number, by the old one; 0: left behind */
	uint32_t *symbol;
	uint8_t *taken; /* 1 for each symbol of the module's that it takes along; NULL: it takes
			   none */
	enum cubin_reason *reason;
	struct gs_error *err;
};

#define CUBIN_CUT_REFUSE(x, why, ...) \
	(*(x)->reason = CUBIN_REASON_##why, gs_fail((x)->err, __VA_ARGS__))

/* The contents of section `to` of the new model become the buffer's.  0, or -1: no memory. */
int cubin_cut_give(struct cubin_cutting *x, uint32_t to, struct cubin_buffer *b);
/* Those of section i of the old one, with new numbers.  0, or -1 with *x->reason. */
int cubin_cut_contents(struct cubin_cutting *x, uint32_t i);

#endif
