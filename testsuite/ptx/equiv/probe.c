/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See probe.h.  No branch: the body's flow, which the transformer judges, stays as it is. */
#define _GNU_SOURCE
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct probe) == 32, "the offsets below");

static const char code[] = "\n\t{\n"
			   "\t.reg .pred %gt_p, %gt_q;\n"
			   "\t.reg .b32 %gt_r<6>;\n"
			   "\t.reg .b64 %gt_d<3>;\n"
			   "\tmov.u32 %gt_r0, %tid.x;\n"
			   "\tmov.u32 %gt_r1, %tid.y;\n"
			   "\tor.b32 %gt_r0, %gt_r0, %gt_r1;\n"
			   "\tmov.u32 %gt_r1, %tid.z;\n"
			   "\tor.b32 %gt_r0, %gt_r0, %gt_r1;\n"
			   "\tsetp.eq.u32 %gt_p, %gt_r0, 0;\n"
			   "\tmov.u32 %gt_r0, %ctaid.z;\n"
			   "\tmov.u32 %gt_r1, %nctaid.y;\n"
			   "\tmov.u32 %gt_r2, %ctaid.y;\n"
			   "\tmad.lo.u32 %gt_r0, %gt_r0, %gt_r1, %gt_r2;\n"
			   "\tmov.u32 %gt_r1, %nctaid.x;\n"
			   "\tmov.u32 %gt_r2, %ctaid.x;\n"
			   "\tmad.lo.u32 %gt_r0, %gt_r0, %gt_r1, %gt_r2;\n"
			   "\tmov.u64 %gt_d0, " PROBE_NAME ";\n"
			   "\tmad.wide.u32 %gt_d1, %gt_r0, 4, %gt_d0;\n"
			   "\t@%gt_p red.global.add.u32 [%gt_d1+32], 1;\n"
			   "\tmov.u32 %gt_r3, 0;\n"
			   "\t@%gt_p atom.global.add.u32 %gt_r3, [%gt_d0], 1;\n"
			   "\tadd.u32 %gt_r3, %gt_r3, 1;\n"
			   "\tld.global.u32 %gt_r4, [%gt_d0+4];\n"
			   "\trem.u32 %gt_r3, %gt_r3, %gt_r4;\n"
			   "\tsetp.eq.and.u32 %gt_q, %gt_r3, 0, %gt_p;\n"
			   "\tld.global.u64 %gt_d2, [%gt_d0+8];\n"
			   "\tld.global.u32 %gt_r4, [%gt_d0+16];\n"
			   "\t@%gt_q st.volatile.u32 [%gt_d2], %gt_r4;\n"
			   "\t}\n";

static void put(FILE *to, const struct ptx_module *ast, uint32_t from, uint32_t end)
{
	fwrite(ast->text + from, 1, end - from, to);
}

/* Debugging sections name labels of all kernels; elsewhere the others can go. */
static int can_cut(const struct ptx_module *ast)
{
	return !memmem(ast->text, ast->len, ".section", 8);
}

char *probe_insert(const struct ptx_module *ast, const char *kernel, uint64_t tasks)
{
	size_t bytes = 0;
	char *text = NULL;
	FILE *to = open_memstream(&text, &bytes);
	uint32_t at = 0;
	int found = 0;

	if (!to)
		return NULL;
	for (uint32_t i = 0; i < ast->nfunc; i++) {
		const struct ptx_func *f = &ast->func[i];

		put(to, ast, at, f->span.begin);
		at = f->span.begin;
		if (i == 0)
			fprintf(to, ".visible .global .align 8 .b8 " PROBE_NAME "[%llu];\n",
				(unsigned long long)(sizeof(struct probe) + 4 * tasks));
		if (!f->is_entry || f->is_decl)
			continue;
		if (ptx_is(f->name, kernel)) {
			put(to, ast, at, f->body_begin);
			fputs(code, to);
			at = f->body_begin;
			found = 1;
		} else if (can_cut(ast)) {
			at = f->span.end;
		}
	}
	put(to, ast, at, ast->len);
	fclose(to);
	if (!found) {
		free(text);
		return NULL;
	}
	return text;
}
