/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See guard_end.h. */
#define _GNU_SOURCE
#include "device/ptx/guard_end.h"

#include "device/ptx/guard.h"
#include "device/ptx/slot_layout.h"

_Static_assert(PTX_SLOT_STATE == 0 && PTX_SLOT_STARTED == 4 && PTX_SLOT_DONE == 8 &&
		       PTX_STATE_READY == 1 && PTX_STATE_RUNNING == 3 && PTX_STATE_TOEVICT == 4 &&
		       PTX_STATE_DONE == 5,
	       "the numbers below");
_Static_assert(GS_GUARD_UPPER_AT == 4 && GS_GUARD_LEAVE_UPPER == 0x80000000 &&
		       GS_GUARD_SEEN_AT == 128 && GS_GUARD_SEEN_STRIDE == 128,
	       "the numbers below");

/* State, started and the count go to the slot in one store, so no fence is needed between them. */
const char ptx_guard_module[] =
	".version 6.3\n.target sm_70\n.address_size 64\n\n"
	".visible .entry " PTX_GUARD_END "(.param .u64 word, .param .u64 slot, .param .u64 done,\n"
	"\t.param .u64 total, .param .u32 unit, .param .u32 group)\n{\n"
	"\t.reg .pred %p, %q;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %d<8>;\n"
	"\tld.param.u64 %d0, [word];\n"
	"\tld.param.u32 %r0, [group];\n"
	"\tmov.u32 %r1, %tid.x;\n"
	"\tsetp.eq.u32 %p, %r0, 0;\n"
	"\t@%p bra $one;\n"
	"\tmul.wide.u32 %d1, %r1, 128;\n"
	"\tadd.u64 %d1, %d1, %d0;\n"
	"\tmov.u64 %d2, 0;\n"
	"\tst.global.u64 [%d1+128], %d2;\n"
	"\tmembar.gl;\n"
	"\tbar.sync 0;\n"
	"$one:\n"
	"\tsetp.ne.u32 %p, %r1, 0;\n"
	"\t@%p exit;\n"
	"\tld.param.u64 %d1, [slot];\n"
	"\tld.param.u64 %d2, [done];\n"
	"\tld.param.u64 %d3, [total];\n"
	"\tld.param.u32 %r1, [unit];\n"
	"\tld.relaxed.sys.global.u32 %r2, [%d0];\n"
	"\tld.relaxed.sys.global.u32 %r3, [%d2];\n"
	"\tcvt.u64.u32 %d4, %r2;\n"
	"\tshl.b64 %d4, %d4, %r0;\n"
	"\tcvt.u64.u32 %d5, %r1;\n"
	"\tmul.lo.u64 %d4, %d4, %d5;\n"
	"\tmin.u64 %d4, %d4, %d3;\n"
	"\tsetp.lt.u64 %p, %d4, %d3;\n"
	"\tmembar.sys;\n"
	"\t@%p bra $left;\n"
	"\tmov.u64 %d5, 0;\n"
	"\tst.relaxed.sys.global.u64 [%d0], %d5;\n"
	"\tadd.u32 %r3, %r3, 1;\n"
	"\tst.relaxed.sys.global.u32 [%d2], %r3;\n"
	"\tmembar.gl;\n"
	"$left:\n"
	"\tselp.u32 %r4, 1, 5, %p;\n"
	"\tmov.u32 %r5, 1;\n"
	"\tmov.b64 {%r6, %r7}, %d4;\n"
	"\tst.relaxed.sys.global.v4.u32 [%d1], {%r4, %r5, %r6, %r7};\n"
	"\tret;\n}\n\n"
	".visible .entry " PTX_GUARD_WATCH
	"(.param .u64 word, .param .u64 slot, .param .u64 done,\n"
	"\t.param .u32 end)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b32 %r<4>;\n\t.reg .b64 %d<3>;\n"
	"\tld.param.u64 %d0, [word];\n"
	"\tld.param.u64 %d1, [slot];\n"
	"\tld.param.u64 %d2, [done];\n"
	"\tld.param.u32 %r0, [end];\n"
	"$look:\n"
	"\tld.relaxed.sys.global.u32 %r1, [%d1];\n"
	"\tld.relaxed.sys.global.u32 %r2, [%d2];\n"
	"\tsub.u32 %r2, %r2, %r0;\n"
	"\tsetp.ge.s32 %p, %r2, 0;\n"
	"\t@%p exit;\n"
	"\tsetp.eq.u32 %p, %r1, 4;\n"
	"\t@%p bra $tell;\n"
	"\tsetp.ne.u32 %p, %r1, 3;\n"
	"\t@%p exit;\n"
	"\tnanosleep.u32 100;\n"
	"\tbra $look;\n"
	"$tell:\n"
	"\tmov.u32 %r3, 0x80000000;\n"
	"\tst.relaxed.sys.global.u32 [%d0+4], %r3;\n"
	"\tret;\n}\n";
