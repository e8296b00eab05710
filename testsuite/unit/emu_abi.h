/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of the driver API's binary interface that our header must get
 * right, as one table; compiled once with our header and once with the vendor's.
 */
#ifndef GPUSHARE_TEST_EMU_ABI_H
#define GPUSHARE_TEST_EMU_ABI_H

#include <stddef.h>

struct abi_fact {
	const char *name;
	long long value;
};

#define V(x) { #x, (long long)(x) },
#define SIZE(t) { "sizeof " #t, (long long)sizeof(t) },
#define AT(t, m) { #t "." #m, (long long)offsetof(t, m) },

extern const struct abi_fact abi_ours[], abi_vendors[];

#endif
