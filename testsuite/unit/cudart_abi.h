/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The facts of the Runtime API's binary interface that our header must get right; see emu_abi.h. */
#ifndef GPUSHARE_TEST_CUDART_ABI_H
#define GPUSHARE_TEST_CUDART_ABI_H

#include <stddef.h>

struct abi_fact {
	const char *name;
	long long value;
};

#define V(x) { #x, (long long)(x) },
#define SIZE(t) { "sizeof " #t, (long long)sizeof(t) },
#define AT(t, m) { #t "." #m, (long long)offsetof(t, m) },
#define PROP(m) AT(struct cudaDeviceProp, m)

extern const struct abi_fact abi_ours[], abi_vendors[];

#endif
