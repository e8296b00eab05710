/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See random.h.  Where threads of a block may have parted, nothing waits for
 * the whole block; where lanes of a warp may have left, nothing names them.
 * Shared memory is one word for each thread, written by its owner only and
 * read between two barriers.
 */
#define _GNU_SOURCE
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who takes the present path together. */
enum together { BLOCK, WARP, LANES };

struct gen {
	FILE *to;
	uint64_t state;
	unsigned labels, preds, temps, depth, budget, loops;
	enum together path;
	enum together
		left; /* who may have ended: BLOCK nobody, WARP whole warps, LANES single lanes */
	int may_leave, lanes_may_leave, full_warps;
};

static uint32_t draw(struct gen *g, uint32_t below)
{
	g->state = g->state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(g->state >> 33) % below;
}

#define EMIT(...) fprintf(g->to, __VA_ARGS__)
#define V draw(g, 6) /* a register of the thread's */
#define U draw(g, 3) /* ... that is the same in the whole block */

static void block(struct gen *g);

static void arithmetic(struct gen *g)
{
	static const char *const ops[] = { "add.u32", "xor.b32", "mul.lo.u32",
					   "sub.u32", "or.b32",  "max.s32" };

	if (draw(g, 4) == 0 && g->path == BLOCK)
		EMIT("\t%s %%u%u, %%u%u, %%u%u;\n", ops[draw(g, 6)], U, U, U);
	else if (draw(g, 3) == 0)
		EMIT("\tmad.lo.u32 %%v%u, %%v%u, %u, %%u%u;\n", V, V, 3 + 2 * draw(g, 9), U);
	else
		EMIT("\t%s %%v%u, %%v%u, %%v%u;\n", ops[draw(g, 6)], V, V, V);
}

static void index_read(struct gen *g)
{
	static const char *const names[] = { "ctaid", "nctaid" };

	unsigned t = g->temps++;

	EMIT("\tmov.%s %%w%u, %%%s.%c;\n", draw(g, 2) ? "u32" : "b32", t, names[draw(g, 2)],
	     "xyz"[draw(g, 3)]);
	if (g->path == BLOCK)
		EMIT("\tadd.u32 %%u%u, %%w%u, %u;\n", U, t, draw(g, 5));
	else
		EMIT("\tadd.u32 %%v%u, %%w%u, %u;\n", V, t, draw(g, 5));
}

static void memory(struct gen *g)
{
	EMIT("\tand.b32 %%t0, %%v%u, 4095;\n\tmul.wide.u32 %%rd4, %%t0, 4;\n", V);
	if (draw(g, 3))
		EMIT("\tadd.u64 %%rd4, %%rd4, %%rd2;\n\tld.global.u32 %%v%u, [%%rd4];\n", V);
	else
		EMIT("\tadd.u64 %%rd4, %%rd4, %%rd3;\n\tred.global.add.u32 [%%rd4], %%v%u;\n", V);
}

static void shared(struct gen *g)
{
	unsigned far = 1 + draw(g, 40);

	EMIT("\tst.shared.u32 [%%own], %%v%u;\n\tbar.sync %u;\n", V, draw(g, 3));
	EMIT("\tadd.u32 %%t0, %%me, %u;\n\trem.u32 %%t0, %%t0, %%all;\n\tshl.b32 %%t0, %%t0, 2;\n"
	     "\tadd.u32 %%t0, %%t0, %%line;\n\tld.shared.u32 %%v%u, [%%t0];\n",
	     far, V);
	EMIT("\t%s %u;\n", draw(g, 2) ? "barrier.sync" : "bar.sync", draw(g, 3));
}

static void reduction(struct gen *g)
{
	unsigned p = g->preds++;

	EMIT("\tsetp.gt.s32 %%p%u, %%v%u, %u;\n", p, V, draw(g, 90));
	switch (draw(g, 3)) {
	case 0:
		EMIT("\tbar.red.popc.u32 %%v%u, %u, %%p%u;\n", V, draw(g, 3), p);
		return;
	case 1:
		EMIT("\tbar.red.or.pred %%p%u, %u, %%p%u;\n", p, draw(g, 3), p);
		break;
	default:
		EMIT("\tbar.red.and.pred %%p%u, %u, !%%p%u;\n", p, draw(g, 3), p);
	}
	EMIT("\tselp.u32 %%t0, 77, 11, %%p%u;\n\tadd.u32 %%v%u, %%v%u, %%t0;\n", p, V, V);
}

static void warp(struct gen *g)
{
	if (draw(g, 2)) {
		EMIT("\tshfl.sync.bfly.b32 %%v%u, %%v%u, %u, 31, 0xffffffff;\n", V, V,
		     1 + draw(g, 30));
	} else {
		unsigned p = g->preds++;

		EMIT("\tsetp.lt.s32 %%p%u, %%v%u, 40;\n\tvote.sync.ballot.b32 %%v%u, %%p%u, 0xffffffff;\n",
		     p, V, V, p);
	}
}

/* A predicate that the block, the warp or each lane decides. */
static unsigned condition(struct gen *g, enum together by)
{
	unsigned p = g->preds++,
		 t = g->temps++; /* one register, one meaning: so compilers write it */

	if (by == BLOCK)
		EMIT("\tand.b32 %%w%u, %%u%u, %u;\n\tsetp.eq.u32 %%p%u, %%w%u, 0;\n", t, U,
		     1 + draw(g, 3), p, t);
	else if (by == WARP)
		EMIT("\tshr.u32 %%w%u, %%me, 5;\n\tsetp.eq.u32 %%p%u, %%w%u, %u;\n", t, p, t,
		     draw(g, 3));
	else
		EMIT("\tand.b32 %%w%u, %%v%u, %u;\n\tsetp.eq.u32 %%p%u, %%w%u, 0;\n", t, V,
		     1 + draw(g, 7), p, t);
	return p;
}

static enum together worse(enum together a, enum together b)
{
	return a > b ? a : b;
}

static void branch(struct gen *g)
{
	enum together before = g->path, by = (enum together)draw(g, 3);
	unsigned p = condition(g, by), other = g->labels++, join = g->labels++;

	g->path = worse(before, by);
	EMIT("\t@%s%%p%u bra L%u;\n", draw(g, 2) ? "!" : "", p, other);
	block(g);
	EMIT("\tbra%s L%u;\nL%u:\n", g->path == BLOCK && draw(g, 2) ? ".uni" : "", join, other);
	if (draw(g, 2))
		block(g);
	EMIT("L%u:\n", join);
	g->path = before;
}

static void loop(struct gen *g)
{
	enum together before = g->path, by = draw(g, 3) ? BLOCK : LANES;
	unsigned top = g->labels++, p = g->preds++, n = g->loops++;

	if (by == BLOCK)
		EMIT("\tand.b32 %%c%u, %%u%u, 1;\n\tadd.u32 %%c%u, %%c%u, 1;\n", n, U, n, n);
	else
		EMIT("\tand.b32 %%c%u, %%v%u, 3;\n\tadd.u32 %%c%u, %%c%u, 1;\n", n, V, n, n);
	g->path = worse(before, by);
	EMIT("L%u:\n", top);
	/* who leaves in the second round has left before the first ends, as the text goes */
	block(g);
	EMIT("\tsub.u32 %%c%u, %%c%u, 1;\n\tsetp.ne.u32 %%p%u, %%c%u, 0;\n\t@%%p%u bra L%u;\n", n,
	     n, p, n, p, top);
	g->path = before;
}

/* Ways to end the thread; in a loop nothing may follow that counts on all. */
static void leave(struct gen *g)
{
	static const char *const ways[] = { "ret", "exit" };
	enum together by = (enum together)draw(g, 3);
	unsigned p;

	if (!g->may_leave)
		by = BLOCK;
	if (by == LANES && !g->lanes_may_leave)
		by = WARP;
	if (worse(by, g->path) != BLOCK &&
	    g->depth) /* a barrier in the same loop would come before and after it */
		return;
	p = condition(g, by);
	EMIT("\t@%%p%u st.global.u32 [%%rd1], %%v%u;\n", p, V);
	EMIT("\t@%%p%u %s;\n", p, ways[draw(g, 2)]);
	g->left = worse(g->left, worse(by, g->path));
}

static void call(struct gen *g)
{
	unsigned which = draw(g, 3);

	if (which == 2 && (g->path != BLOCK || g->left != BLOCK))
		which = 0;
	EMIT("\tcall (%%t1), helper%u, (%%v%u, %%u%u);\n\txor.b32 %%v%u, %%v%u, %%t1;\n", which, V,
	     U, V, V);
}

static void branch_by_index(struct gen *g)
{
	enum together before = g->path;
	unsigned a = g->labels++, b = g->labels++, c = g->labels++, join = g->labels++,
		 uniform = draw(g, 2), t = g->temps++;

	EMIT("\trem.u32 %%w%u, %%%c%u, 3;\n", t, uniform ? 'u' : 'v', uniform ? U : V);
	EMIT("B%u: .branchtargets L%u, L%u, L%u;\n\tbrx.idx %%w%u, B%u;\n", a, a, b, c, t, a);
	g->path = worse(before, uniform ? BLOCK : LANES);
	EMIT("L%u:\n", a);
	block(g);
	EMIT("\tbra L%u;\nL%u:\n\tadd.u32 %%v%u, %%v%u, 5;\n\tbra L%u;\nL%u:\n", join, b, V, V,
	     join, c);
	block(g);
	EMIT("L%u:\n", join);
	g->path = before;
}

static void statement(struct gen *g)
{
	int all = g->path == BLOCK && (g->left != LANES || g->lanes_may_leave);

	switch (draw(g, 14)) {
	case 0:
	case 1:
	case 2:
		arithmetic(g);
		break;
	case 3:
		index_read(g);
		break;
	case 4:
		memory(g);
		break;
	case 5:
	case 6:
		if (all)
			shared(g);
		else
			arithmetic(g);
		break;
	case 7:
		if (all)
			reduction(g);
		else
			memory(g);
		break;
	case 8:
		if (g->path == BLOCK && g->left != LANES && g->full_warps)
			warp(g);
		else
			arithmetic(g);
		break;
	case 9:
	case 10:
		if (g->depth < 3) {
			g->depth++;
			branch(g);
			g->depth--;
		}
		break;
	case 11:
		if (g->depth < 2) {
			g->depth++;
			loop(g);
			g->depth--;
		}
		break;
	case 12:
		if (draw(g, 2))
			leave(g);
		else
			call(g);
		break;
	default:
		if (g->depth < 2) {
			g->depth++;
			branch_by_index(g);
			g->depth--;
		}
		break;
	}
}

static void block(struct gen *g)
{
	for (unsigned n = 1 + draw(g, 4); n && g->budget; n--) {
		g->budget--;
		statement(g);
	}
}

static const char head[] =
	".version 7.8\n.target sm_75\n.address_size 64\n"
	".func (.reg .b32 r) helper0(.reg .b32 v, .reg .b32 u)\n{\n\tmad.lo.u32 r, v, 3, u;\n\tret;\n}\n"
	".func (.reg .b32 r) helper1(.reg .b32 v, .reg .b32 u)\n{\n\t.reg .b32 %a;\n\t.reg .pred %p;\n"
	"\tmov.u32 %a, %ctaid.x;\n\tmov.u32 r, %nctaid.y;\n\tmad.lo.u32 r, r, %a, v;\n\tsetp.lt.u32 %p, u, 3;\n"
	"\t@%p ret;\n\tmov.u32 %a, %ctaid.z;\n\tadd.u32 r, r, %a;\n\tret;\n}\n"
	".func (.reg .b32 r) helper2(.reg .b32 v, .reg .b32 u)\n{\n\t.reg .pred %p;\n"
	"\tsetp.gt.u32 %p, v, u;\n\tbar.red.popc.u32 r, 0, %p;\n\tret;\n}\n"
	".visible .entry random(\n\t.param .u64 out,\n\t.param .u64 in,\n\t.param .u64 sums\n)\n{\n"
	"\t.reg .pred %p<300>;\n\t.reg .b32 %v<6>, %u<3>, %t<3>, %c<100>, %w<300>, %me, %all, %own, %line;\n"
	"\t.reg .b64 %rd<6>;\n\t.shared .align 4 .b8 words[4096];\n"
	"\tld.param.u64 %rd1, [out];\n\tld.param.u64 %rd2, [in];\n\tld.param.u64 %rd3, [sums];\n";

/* The thread's number in the block and the grid, a slot of its own, values to begin with. */
static const char begin[] =
	"\tmov.u32 %u0, %ctaid.z;\n\tmov.u32 %w298, %nctaid.y;\n\tmov.u32 %u1, %ctaid.y;\n\tmad.lo.u32 %u0, %u0, %w298, %u1;\n"
	"\tmov.u32 %w299, %nctaid.x;\n\tmov.u32 %u2, %ctaid.x;\n\tmad.lo.u32 %u0, %u0, %w299, %u2;\n"
	"\tmad.lo.u32 %v0, %u0, %all, %me;\n\tmul.wide.u32 %rd4, %v0, 4;\n\tadd.u64 %rd1, %rd1, %rd4;\n"
	"\tand.b32 %t0, %v0, 4095;\n\tmul.wide.u32 %rd4, %t0, 4;\n\tadd.u64 %rd4, %rd4, %rd2;\n\tld.global.u32 %v1, [%rd4];\n"
	"\tmov.u32 %v2, %me;\n\tadd.u32 %v3, %v1, %u2;\n\tmov.u32 %v4, 9;\n\tsub.u32 %v5, %v1, %me;\n"
	"\tmov.u32 %line, words;\n\tshl.b32 %t0, %me, 2;\n\tadd.u32 %own, %line, %t0;\n"
	"\tst.shared.u32 [%own], %v1;\n\tbar.sync 0;\n";

static const char end[] =
	"\tmul.lo.u32 %v0, %v0, 31;\n\tadd.u32 %v0, %v0, %v1;\n\txor.b32 %v0, %v0, %v2;\n\tadd.u32 %v0, %v0, %v3;\n"
	"\tmad.lo.u32 %v0, %v4, 7, %v0;\n\tadd.u32 %v0, %v0, %v5;\n\tadd.u32 %v0, %v0, %u0;\n\tadd.u32 %v0, %v0, %u1;\n"
	"\tst.global.u32 [%rd1], %v0;\n\tret;\n}\n";

static struct gen open_gen(uint32_t seed)
{
	struct gen g = { .state = seed * 0x9e3779b97f4a7c15ull + 1, .budget = 40 };

	for (int i = 0; i < 4; i++)
		draw(&g, 2);
	g.may_leave = draw(&g, 3) == 0;
	g.lanes_may_leave = draw(&g, 3) == 0;
	return g;
}

struct test_case random_case(uint32_t seed)
{
	static const unsigned rows[] = { 32, 64, 96, 128, 33, 80 }, grids[][3] = {
		{ 13, 1, 1 }, { 3, 4, 1 }, { 2, 3, 2 }, { 1, 7, 1 }, { 20, 1, 1 }, { 1, 1, 9 },
	};
	static char file[40];
	struct gen g = open_gen(seed);
	struct test_case c = {
		.file = file, .kernel = "random", .args = "Z I Z", .kind = CASE_RANDOM
	};

	snprintf(file, sizeof(file), "random/%u", seed);
	memcpy(c.grid, grids[draw(&g, 6)], sizeof(c.grid));
	c.block[0] = rows[draw(&g, 6)];
	c.block[1] = c.block[2] = 1;
	if (c.block[0] == 64 && draw(&g, 2)) { /* the same threads in two dimensions */
		c.block[0] = 16;
		c.block[1] = 4;
	}
	return c;
}

char *random_text(uint32_t seed)
{
	struct test_case c = random_case(seed);
	struct gen gen = open_gen(seed * 31 + 7), *g = &gen;
	char *text = NULL;
	size_t bytes = 0;

	g->full_warps = c.block[0] * c.block[1] % 32 == 0;
	g->to = open_memstream(&text, &bytes);
	if (!g->to)
		return NULL;
	fputs(head, g->to);
	if (c.block[1] > 1)
		fputs("\tmov.u32 %me, %tid.y;\n\tmov.u32 %all, %ntid.x;\n\tmov.u32 %t0, %tid.x;\n"
		      "\tmad.lo.u32 %me, %me, %all, %t0;\n\tmov.u32 %t0, %ntid.y;\n\tmul.lo.u32 %all, %all, %t0;\n",
		      g->to);
	else
		fputs("\tmov.u32 %me, %tid.x;\n\tmov.u32 %all, %ntid.x;\n", g->to);
	fputs(begin, g->to);
	while (g->budget)
		block(g);
	fputs(end, g->to);
	fclose(g->to);
	return text;
}
