/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The module of modules.c and of the library that it opens. */
#ifndef TESTSUITE_E2E_MODULES_H
#define TESTSUITE_E2E_MODULES_H

#define KERNEL(name, factor) \
	".visible .entry " name "(.param .u64 p, .param .u32 spin)\n" \
	"{\n" \
	"	.reg .pred %p1;\n" \
	"	.reg .b32 %r<8>;\n" \
	"	.reg .b64 %rd<4>;\n" \
	"	ld.param.u64 %rd1, [p];\n" \
	"	ld.param.u32 %r1, [spin];\n" \
	"	mov.u32 %r2, %ctaid.x;\n" \
	"	mov.u32 %r3, %ntid.x;\n" \
	"	mov.u32 %r4, %tid.x;\n" \
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n" \
	"	cvta.to.global.u64 %rd2, %rd1;\n" \
	"	mul.wide.u32 %rd3, %r5, 4;\n" \
	"	add.s64 %rd2, %rd2, %rd3;\n" \
	"	mov.u32 %r6, %r5;\n" \
	"	mov.u32 %r7, 0;\n" \
	"AGAIN:\n" \
	"	mad.lo.s32 %r6, %r6, " factor ", 1;\n" \
	"	add.s32 %r7, %r7, 1;\n" \
	"	setp.lt.u32 %p1, %r7, %r1;\n" \
	"	@%p1 bra AGAIN;\n" \
	"	st.global.u32 [%rd2], %r6;\n" \
	"	ret;\n" \
	"}\n"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n" KERNEL("threes", "3")
	KERNEL("fives", "5");

#endif
