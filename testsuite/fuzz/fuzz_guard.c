/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: a guard in front of each kernel of any bytes as a cubin.  What
 * comes out has the one kernel, one parameter more, and the guard's code.
 */
#include <stdlib.h>
#include <string.h>

#include "device/cubin/cubin.h"
#include "device/ptx/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

static void check(const struct cubin_kernel *was, const struct cubin_guarded *g)
{
	struct gs_error err = { "" };
	struct cubin *c = cubin_open(g->image, g->size, &err);
	struct cubin_kernel k;

	must(c && cubin_kernels(c) == 1 && cubin_kernel(c, 0, &k, &err) == 0);
	must(strcmp(k.name, was->name) == 0);
	must(k.params == was->params + 1 && k.param_bytes == g->param_bytes);
	must(g->param_bytes == g->param_offset + GS_GUARD_PARAM_BYTES && g->param_bytes <= 4096);
	must(k.code_bytes == was->code_bytes + g->guard_bytes);
	must(k.registers >= was->registers && k.barriers >= was->barriers);
	cubin_close(c);
}

static void guard(const uint8_t *data, size_t size, const struct cubin_kernel *k, int how)
{
	struct gs_error err = { "" };
	struct cubin_guarded g;
	int rc = cubin_guard_kernel(data, size, k->name,
				    how & 1 ? CUBIN_GUARD_MAXT : CUBIN_GUARD_MAXB, how >> 1, &g,
				    &err);

	must((rc == 1) == (g.image != NULL));
	must(rc == 1 || err.text[0]);
	must(rc != 0 || g.reason != CUBIN_REASON_NONE);
	if (rc != 1)
		return;
	check(k, &g);
	free(g.image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cubin *c = cubin_open(data, size, NULL);
	struct cubin_kernel k;

	for (uint32_t i = 0; c && i < cubin_kernels(c) && i < 64; i++)
		if (cubin_kernel(c, i, &k, NULL) == 0 && k.reason == CUBIN_REASON_NONE &&
		    cubin_find(c, k.name) == (int64_t)i)
			guard(data, size, &k, (int)(i & 3));
	cubin_close(c);
	return 0;
}
