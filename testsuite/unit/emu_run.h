/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For a test of the emulated device: what a kernel "k" leaves in the words that it is given. */
#ifndef TESTSUITE_UNIT_EMU_RUN_H
#define TESTSUITE_UNIT_EMU_RUN_H

#include "emu_util.h"

static CUdeviceptr out; /* the test allocates it, of the size of got */
static uint32_t got[4096];

static void run(const char *ptx, unsigned int blocks, unsigned int threads)
{
	void *params[] = { &out };
	CUfunction f;
	CUmodule m;

	OK(cuMemsetD8(out, 0, sizeof(got)));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&f, m, "k"));
	OK(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(got, out, sizeof(got)));
	OK(cuModuleUnload(m));
}

#endif
