/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a C expression may be worth: a number, or nothing that is known.  Pure. */
#ifndef GPUSHARE_MEM_VALUE_H
#define GPUSHARE_MEM_VALUE_H

#include <stdint.h>

/* A number, or why there is none. */
struct mem_value {
	int known;
	int real; /* d counts, not i */
	__int128 i;
	double d;
	char why[96];
};

struct mem_value mem_unknown(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
struct mem_value mem_whole(__int128 i);
struct mem_value mem_real(double d);
double mem_as_real(const struct mem_value *v);

/* What C's binary operator makes of two values. */
struct mem_value mem_value_apply(const char *op, const struct mem_value *a,
				 const struct mem_value *b);

/* Whole bytes of a value: 0 and *bytes, or -1 with the reason in value->why. */
int mem_value_bytes(struct mem_value *value, uint64_t *bytes);

#endif
