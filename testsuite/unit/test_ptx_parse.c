/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules, variables, functions, statements and operands as the parser sees them. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "device/ptx/ast.h"

#define HEAD ".version 8.3\n.target sm_90a, debug\n.address_size 64\n"

static struct ptx_module *parse(const char *text)
{
	struct gs_error err = { "" };
	struct ptx_module *m = ptx_parse(text, strlen(text), &err);

	if (!m)
		print_error("%s\n", err.text);
	assert_non_null(m);
	return m;
}

static void fails(const char *text, const char *why)
{
	struct gs_error err = { "" };

	assert_null(ptx_parse(text, strlen(text), &err));
	if (!strstr(err.text, why))
		print_error("'%s' is not in '%s'\n", why, err.text);
	assert_non_null(strstr(err.text, why));
}

/* The n-th instruction of the module's only body. */
static const struct ptx_insn *insn(const struct ptx_module *m, uint32_t n)
{
	const struct ptx_func *f = &m->func[m->nfunc - 1];

	for (uint32_t i = 0; i < f->nstmt; i++)
		if (f->stmt[i].kind == PTX_STMT_INSN && n-- == 0)
			return &f->stmt[i].insn;
	fail_msg("no such instruction");
	return NULL;
}

static void module_head(void **state)
{
	struct ptx_module *m =
		parse("// c\n" HEAD ".file 1 \"a.cu\", 1, 2\n.pragma \"x\";\n"
		      "@@DWARF anything {\n.section .debug_str { a: .b8 1,2 .b64 a+4 }\n");

	(void)state;
	assert_int_equal(m->version_major, 8);
	assert_int_equal(m->version_minor, 3);
	assert_true(ptx_is(m->target, "sm_90a, debug"));
	assert_int_equal(m->address_size, 64);
	assert_int_equal(m->nvar + m->nfunc, 0);
	ptx_module_free(m);
	ptx_module_free(NULL);
}

static void nul_at_the_end(void **state)
{
	struct gs_error err;
	struct ptx_module *m = ptx_parse(HEAD "\0garbage {", sizeof(HEAD "\0garbage {"), &err);

	(void)state;
	assert_non_null(m);
	ptx_module_free(m);
}

static void variables(void **state)
{
	struct ptx_module *m = parse(
		HEAD ".visible .const .v2 .f32 v[2] = {1.0, .5, 0f3F800000, -2};\n"
		     ".global .u32 g = 2*(3+4)-1, h;\n"
		     ".global .u8 m[2][3] = {{1},{2,3}};\n"
		     ".global .b8 s[] = \"hi\\n\";\n"
		     ".global .align 8 .b8 x[16] = {0xFF(g), 0xFF00(generic(g)+4), 1, -1};\n"
		     ".weak .global .u64 p[2] = {generic(g)+8, h};\n"
		     ".extern .shared .align 16 .b8 dyn[];\n"
		     ".global .attribute(.managed) .f64 d = 0.1;\n"
		     ".global .texref t;\n"
		     ".global .samplerref sm = { addr_mode_0 = wrap, filter_mode = linear };\n");
	static const uint8_t rows[] = { 1, 0, 0, 2, 3 };
	float f[4];
	double d;

	(void)state;
	assert_int_equal(m->nvar, 11);
	assert_int_equal(m->var[0].linkage, PTX_LINK_VISIBLE);
	assert_int_equal(ptx_var_size(&m->var[0]), 16);
	assert_int_equal(m->var[0].align, 8);
	memcpy(f, m->var[0].init, 16);
	assert_true(f[0] == 1 && f[1] == 0.5f && f[2] == 1 && f[3] == -2);
	assert_int_equal(m->var[1].init[0], 13);
	assert_true(ptx_is(m->var[2].name, "h") && !m->var[2].init);
	assert_int_equal(m->var[3].elements, 6);
	assert_int_equal(m->var[3].init_len, sizeof(rows));
	assert_memory_equal(m->var[3].init, rows, sizeof(rows));
	assert_int_equal(m->var[4].elements, 3);
	assert_memory_equal(m->var[4].init, "hi\n", 3);
	assert_int_equal(m->var[5].nrelocs, 2);
	assert_true(m->var[5].relocs[1].mask == 0xff00 && m->var[5].relocs[1].offset == 1 &&
		    m->var[5].relocs[1].generic && m->var[5].relocs[1].addend == 4);
	assert_int_equal(m->var[5].init[3], 0xff);
	assert_int_equal(m->var[6].linkage, PTX_LINK_WEAK);
	assert_true(m->var[6].relocs[0].generic && m->var[6].relocs[0].addend == 8);
	assert_true(!m->var[6].relocs[1].generic && m->var[6].relocs[1].offset == 8 &&
		    ptx_is(m->var[6].relocs[1].symbol, "h"));
	assert_true(m->var[7].is_array && m->var[7].elements == 0 && ptx_var_size(&m->var[7]) == 0);
	memcpy(&d, m->var[8].init, 8);
	assert_true(d == 0.1);
	assert_int_equal(m->var[9].type, PTX_T_TEXREF);
	ptx_module_free(m);
}

static void function_heads(void **state)
{
	struct ptx_module *m = parse(
		HEAD
		".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
		".visible .func (.reg .u32 rr) foo (.reg .u32 aa) .noreturn { ret; }\n"
		".entry bare { exit; }\n"
		".weak .entry k(.param .u64 .ptr .global .align 16 p, .param .align 16 .b8 q[32])\n"
		".maxntid 16, 8 .reqntid 32 .minnctapersm 2 .maxnreg 64 .reqnctapercluster 2, 1, 1\n"
		".pragma \"nounroll\"; { }\n");

	(void)state;
	assert_int_equal(m->nfunc, 4);
	assert_true(m->func[0].is_decl && !m->func[0].is_entry && m->func[0].nparam == 2 &&
		    m->func[0].nret == 1);
	assert_true(m->func[1].noreturn && m->func[1].ret[0].space == PTX_SPACE_REG);
	assert_true(m->func[2].is_entry && m->func[2].params_begin == m->func[2].params_end);
	assert_int_equal(m->func[3].linkage, PTX_LINK_WEAK);
	assert_int_equal(m->func[3].bounds.maxntid[0] * 10000 + m->func[3].bounds.maxntid[1] * 100 +
				 m->func[3].bounds.maxntid[2],
			 160801);
	assert_int_equal(m->func[3].bounds.reqntid[0], 32);
	assert_int_equal(m->func[3].bounds.minnctapersm, 2);
	assert_int_equal(m->func[3].bounds.maxnreg, 64);
	assert_true(m->func[3].bounds.has_cluster);
	assert_true(m->func[3].param[0].ptr_param && m->func[3].param[0].align == 8);
	assert_true(m->func[3].param[1].align == 16 && ptx_var_size(&m->func[3].param[1]) == 32);
	assert_int_equal(m->text[m->func[3].span.end - 1], '}');
	assert_int_equal(m->text[m->func[3].params_end], ')');
	assert_int_equal(m->text[m->func[3].body_end], '}');
	ptx_module_free(m);
}

#define BODY(text) \
	HEAD ".extern .func (.param .b32 rv) foo (.param .b32 a);\n.global .u32 g[4];\n" \
	     ".entry k(.param .u64 p) {\n.reg .pred p1, q1; .reg .u32 r1, %r<10>; .reg .v4 .f32 vv; .reg .b64 %rd<4>;\n" text \
	     "\n}\n"

static void operands(void **state)
{
	struct ptx_module *m = parse(BODY(
		"setp.lt.and.u32 p1|q1, r1, %ctaid.x, !q1;"
		"ld.global.v4.f32 {vv.x, _, vv.y, vv.z}, [%rd1+-4];"
		"mov.u64 %rd2, g+8;"
		"ld.global.u32 r1, g[1];"
		"tex.2d.v4.f32.f32 {%r1,%r2,%r3,%r4}, [tx, smp, {%r1,%r2}];"
		"add.u32 r1, WARP_SZ, -5;"
		"mov.f32 r1, 0f3F800000; mov.f64 %rd1, 1e-3;"
		"mov.u32 %r10, %r9; neg.f32 %r1, -%r2; ld.param.u64 %rd1, [p]; st.shared.u32 [16], r1;"));
	const struct ptx_insn *i = insn(m, 0);

	(void)state;
	assert_true(ptx_is(i->opcode, "setp.lt.and.u32") && i->nopd == 4);
	assert_true(i->opd[0].kind == PTX_OPD_PAIR && i->opd[0].sub[1].kind == PTX_OPD_REG);
	assert_int_equal(i->opd[1].kind, PTX_OPD_REG);
	assert_true(i->opd[2].kind == PTX_OPD_SREG && ptx_is(i->opd[2].name, "%ctaid") &&
		    ptx_is(ptx_comp(&i->opd[2]), ".x"));
	assert_true(i->opd[3].negated);
	i = insn(m, 1);
	assert_true(i->opd[0].kind == PTX_OPD_VEC && i->opd[0].nsub == 4 &&
		    i->opd[0].sub[1].kind == PTX_OPD_SINK);
	assert_true(ptx_is(ptx_comp(&i->opd[0].sub[3]), ".z"));
	assert_true(i->opd[1].kind == PTX_OPD_ADDR && i->opd[1].bits == (uint64_t)-4);
	i = insn(m, 2);
	assert_true(i->opd[1].kind == PTX_OPD_SYM && i->opd[1].bits == 8);
	i = insn(m, 3);
	assert_true(i->opd[1].kind == PTX_OPD_ADDR && i->opd[1].nsub == 2 &&
		    i->opd[1].sub[1].bits == 1);
	i = insn(m, 4);
	assert_true(i->opd[1].nsub == 3 && i->opd[1].sub[2].kind == PTX_OPD_VEC);
	i = insn(m, 5);
	assert_true(i->opd[1].kind == PTX_OPD_INT && i->opd[1].bits == 32 &&
		    ptx_is(i->opd[1].name, "WARP_SZ"));
	assert_true(i->opd[2].bits == (uint64_t)-5);
	assert_true(insn(m, 6)->opd[1].single && insn(m, 6)->opd[1].bits == 0x3f800000);
	assert_true(insn(m, 7)->opd[1].kind == PTX_OPD_FLOAT && !insn(m, 7)->opd[1].single);
	/* %r10 is beyond %r<10>: nobody declared it */
	assert_int_equal(insn(m, 8)->opd[0].kind, PTX_OPD_SREG);
	assert_int_equal(insn(m, 8)->opd[1].kind, PTX_OPD_REG);
	assert_true(insn(m, 9)->opd[1].negated && insn(m, 9)->opd[1].kind == PTX_OPD_REG);
	assert_int_equal(insn(m, 10)->opd[1].sub[0].kind, PTX_OPD_SYM);
	assert_true(insn(m, 11)->opd[0].sub[0].kind == PTX_OPD_INT &&
		    insn(m, 11)->opd[0].sub[0].bits == 16);
	ptx_module_free(m);
}

static void calls(void **state)
{
	struct ptx_module *m = parse(BODY(
		"{ .param .b32 a0; call.uni (rv), foo, (a0, 3, %r1); call foo;"
		"call (rv), %rd1, (a0), proto; proto: .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn; }"
		"ts: .branchtargets L1, L2; brx.idx %r1, ts; L1 : L2: @!p1 bra L1; @q1 exit; trap;"));
	const struct ptx_func *f = &m->func[m->nfunc - 1];
	unsigned kinds[PTX_STMT_DIRECTIVE + 1] = { 0 };
	const struct ptx_insn *i = insn(m, 0);

	(void)state;
	assert_true(i->nopd == 3 && i->opd[0].kind == PTX_OPD_LIST && i->opd[2].nsub == 3);
	assert_int_equal(insn(m, 1)->nopd, 1);
	assert_true(insn(m, 2)->nopd == 4 && insn(m, 2)->opd[1].kind == PTX_OPD_REG);
	for (uint32_t k = 0; k < f->nstmt; k++)
		kinds[f->stmt[k].kind]++;
	assert_int_equal(kinds[PTX_STMT_OPEN], 1);
	assert_int_equal(kinds[PTX_STMT_CLOSE], 1);
	assert_int_equal(kinds[PTX_STMT_LABEL], 2);
	assert_int_equal(kinds[PTX_STMT_BRANCHTARGETS], 1);
	assert_int_equal(kinds[PTX_STMT_CALLPROTOTYPE], 1);
	i = insn(m, 4);
	assert_true(ptx_is(i->guard, "p1") && i->guard_negated && i->opd[0].kind == PTX_OPD_SYM);
	ptx_module_free(m);
}

static void scopes_hide_names(void **state)
{
	struct ptx_module *m = parse(BODY(
		"mov.u32 r1, g; { .reg .u32 g; mov.u32 r1, g; { mov.u32 r1, g; } } mov.u32 r1, g;"));
	static const enum ptx_operand_kind want[] = { PTX_OPD_SYM, PTX_OPD_REG, PTX_OPD_REG,
						      PTX_OPD_SYM };

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(insn(m, i)->opd[1].kind, want[i]);
	assert_int_equal(insn(m, 1)->opd[1].scope, 1);
	assert_int_equal(insn(m, 2)->opd[1].scope, 1);
	assert_int_equal(insn(m, 2)->opd[0].scope, 0);
	ptx_module_free(m);
	/* a name of its own inside a range */
	m = parse(BODY(
		"mov.u32 %r1, %r2; { .reg .u32 %r1; @p1 mov.u32 %r1, %r2; } { .reg .u32 %r1; mov.u32 %r1, 1; }"));
	assert_int_equal(insn(m, 0)->opd[0].scope, 0);
	assert_int_equal(insn(m, 1)->opd[0].scope, 1);
	assert_int_equal(insn(m, 1)->opd[1].scope + insn(m, 1)->guard_scope, 0);
	assert_int_equal(insn(m, 2)->opd[0].scope, 2);
	ptx_module_free(m);
}

static void spans_cover_the_text(void **state)
{
	struct ptx_module *m = parse(BODY(
		"\n  @p1 add.u32 r1, r1, %r2 ; // c\n.loc 1 2 3, function_name $L, inlined_at 1 2 3\n"
		"ret;"));
	const struct ptx_func *f = &m->func[m->nfunc - 1];
	const struct ptx_stmt *s = NULL;

	(void)state;
	for (uint32_t i = 0; i < f->nstmt && !s; i++)
		if (f->stmt[i].kind == PTX_STMT_INSN)
			s = &f->stmt[i];
	assert_non_null(s);
	assert_memory_equal(m->text + s->span.begin, "@p1 add.u32 r1, r1, %r2 ;",
			    s->span.end - s->span.begin);
	assert_int_equal(s->span.line, 9);
	assert_memory_equal(m->text + s->insn.opd[2].span.begin, "%r2", 3);
	ptx_module_free(m);
}

static void errors_name_their_line(void **state)
{
	char deep[4096] = HEAD ".entry k() {";

	(void)state;
	fails("x", "line 1: a directive was expected");
	fails(HEAD ".entry k() {\n ret;\n", "line 6: '}' expected");
	fails(HEAD ".entry k() { ld.u32 %r, [%rd; }", "line 4: ']' expected before ';'");
	fails(HEAD ".global .u32 x = 1/0;", "line 4: a division by zero");
	fails(HEAD ".global .u32 x[2] = {1,2,3};", "more initial values");
	fails(HEAD ".global .u8 x[2][1000000000] = {{1},{2}};", "too sparse");
	fails(HEAD ".global .u8 x[99999999999][99999999999];", "larger than any memory");
	fails(HEAD ".global .align 3 .u8 x;", "no power of two");
	fails(HEAD ".global x;", "without a type");
	fails(HEAD ".reg .u32 %r<0>;", "no registers");
	fails(HEAD ".entry k() { mov.f32 %f, 0f3F80; }", "wrong length");
	fails(HEAD ".entry k() { mov.u64 %r, 99999999999999999999; }", "a number that is none");
	fails(HEAD ".entry k() { mov.u32 %r, 09; }", "a number that is none");
	fails(HEAD ".visible 7;", "a linkage directive");
	fails(HEAD ".section .debug {", "expected");
	for (int i = 0; i < 100; i++)
		strcat(deep, "{");
	fails(deep, "too deeply");
	strcpy(deep, HEAD ".global .u32 x = ");
	for (int i = 0; i < 100; i++)
		strcat(deep, "(");
	fails(deep, "too deeply");
	strcpy(deep, HEAD ".entry k() { mov.b32 ");
	for (int i = 0; i < 100; i++)
		strcat(deep, "{");
	fails(deep, "too deeply");
}

/* Every prefix and every text with a byte missing must end in a module or a reason. */
static void cut_texts(void **state)
{
	static const char text[] = BODY(
		"{ .reg .pred a; } @p1 call (rv), foo, (r1); L: bra L; "
		"mov.b64 {%r1, %r2}, %rd1; ts: .branchtargets L; brx.idx r1, ts;") ".global .u8 m[2][3] = {{1},{0x2,3}}; .global .u64 q = generic(m)+1;";
	size_t len = sizeof(text) - 1;
	struct gs_error err;

	(void)state;
	for (size_t i = 0; i < len; i++) {
		char *copy = malloc(len);

		assert_non_null(copy);
		memcpy(copy, text, i);
		ptx_module_free(ptx_parse(copy, i, &err));
		memcpy(copy + i, text + i + 1, len - i - 1);
		ptx_module_free(ptx_parse(copy, len - 1, &err));
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(module_head),
		cmocka_unit_test(nul_at_the_end),
		cmocka_unit_test(variables),
		cmocka_unit_test(function_heads),
		cmocka_unit_test(operands),
		cmocka_unit_test(calls),
		cmocka_unit_test(scopes_hide_names),
		cmocka_unit_test(spans_cover_the_text),
		cmocka_unit_test(errors_name_their_line),
		cmocka_unit_test(cut_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
