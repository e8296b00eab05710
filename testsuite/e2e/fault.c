/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fault: a kernel that writes where nothing is; says what the program gets for it, from the next
 * call as well. */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define BLOCKS 4096u

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry fault(.param .u64 p)\n"
			  "{\n"
			  "	.reg .pred %p1;\n"
			  "	.reg .b32 %r<4>;\n"
			  "	.reg .b64 %rd<2>;\n"
			  "	ld.param.u64 %rd1, [p];\n"
			  "	mov.u32 %r1, %ctaid.x;\n"
			  "	mov.u32 %r2, 20000;\n"
			  "AGAIN:\n"
			  "	sub.u32 %r2, %r2, 1;\n"
			  "	setp.ne.u32 %p1, %r2, 0;\n"
			  "	@%p1 bra AGAIN;\n"
			  "	setp.ne.u32 %p1, %r1, 2000;\n"
			  "	@%p1 bra OVER;\n"
			  "	st.global.u32 [%rd1], %r1;\n"
			  "OVER:\n"
			  "	ret;\n"
			  "}\n";

int main(void)
{
	CUdeviceptr nowhere = 16, d;
	void *params[] = { &nowhere };
	CUmodule module;
	CUfunction kernel;
	CUresult first, next;

	kernel = start_with(ptx, "fault", &module);
	CHECK(cuMemAlloc(&d, 1 << 20));
	CHECK(cuLaunchKernel(kernel, BLOCKS, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	first = cuCtxSynchronize();
	next = cuLaunchKernel(kernel, BLOCKS, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
	printf("fault: %d, then %d\n", (int)first, (int)next);
	expect(first == CUDA_ERROR_ILLEGAL_ADDRESS && next == CUDA_ERROR_ILLEGAL_ADDRESS,
	       "it gets the driver's own error");
	return failures != 0;
}
