/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Branches, calls, returns; barriers and what the lanes of a warp do together. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/exec/decode.h"

static const struct ptx_operand *operand(const struct ptx_insn *in, uint32_t i)
{
	return i < in->nopd ? &in->opd[i] : NULL;
}

static int branch(struct decoder *d, const struct ptx_insn *in)
{
	struct emu_op *op = decode_emit(d, EMU_C_BRA, emu_h_nop);

	if (!op || in->nopd != 1)
		return decode_unknown(d, in);
	return decode_add_fixup(d, d->program->nop - 1, in->opd[0].name, 0, UINT32_MAX);
}

static int branch_indexed(struct decoder *d, const struct ptx_insn *in)
{
	struct emu_program *p = d->program;
	const struct ptx_stmt *st;
	struct emu_table *t;
	struct emu_op *op;
	struct sym *s;
	int32_t row;
	int index;

	if (in->nopd != 2)
		return decode_unknown(d, in);
	s = decode_lookup(d, in->opd[1].name, &index);
	if (!s || s->kind != SYM_TABLE)
		return decode_fail(d, "no .branchtargets %.*s", (int)in->opd[1].name.len,
				   in->opd[1].name.s);
	st = s->stmt;
	row = decode_source(d, &in->opd[0], EMU_K_U32, PTX_T_U32);
	p->table = emu_grow(p->table, &d->room.table, p->ntable + 1, sizeof(*p->table));
	op = decode_emit(d, EMU_C_BRX, emu_h_nop);
	if (row == EMU_NO_ROW || !p->table || !op)
		return -1;
	t = &p->table[p->ntable];
	t->n = st->targets.n;
	t->pc = calloc(t->n ? t->n : 1, sizeof(*t->pc));
	if (!t->pc)
		return decode_fail(d, "out of memory");
	op->s[0] = row;
	op->target = p->ntable++;
	for (uint32_t i = 0; i < st->targets.n; i++)
		if (decode_add_fixup(d, 0, st->targets.target[i], p->ntable - 1, i))
			return -1;
	return 0;
}

static const struct {
	const char *name;
	emu_handler *fn;
} builtins[] = {
	{ "vprintf", emu_h_vprintf },
	{ "__assertfail", emu_h_assertfail },
	{ "malloc", emu_h_malloc },
	{ "free", emu_h_free },
};

/* A .param variable of the caller: its offset in the local frame, or a failure. */
static int local_param(struct decoder *d, const struct ptx_operand *o, struct sym **out)
{
	int index;
	struct sym *s = o->kind == PTX_OPD_REG || o->kind == PTX_OPD_SYM ?
				decode_lookup(d, o->name, &index) :
				NULL;

	*out = s && s->kind == SYM_LOCAL ? s : NULL;
	return *out != NULL;
}

static int builtin(struct decoder *d, emu_handler *fn, const struct ptx_operand *ret,
		   const struct ptx_operand *args)
{
	struct emu_op *op = decode_emit(d, EMU_C_ALU, fn);
	struct sym *s;

	if (!op)
		return -1;
	op->target = UINT32_MAX;
	for (uint32_t i = 0; args && i < args->nsub && i < 4; i++) {
		if (!local_param(d, &args->sub[i], &s))
			return decode_fail(d, "argument of a system call");
		op->extra[i] = (int32_t)s->value;
	}
	if (ret && ret->nsub && local_param(d, &ret->sub[0], &s))
		op->target = (uint32_t)s->value;
	return 0;
}

/* Fill one side of a call. */
static int arguments(struct decoder *d, const struct ptx_operand *list, const struct emu_func *f,
		     struct emu_call *c, int out)
{
	uint32_t n = list ? list->nsub : 0, nl = 0, nr = 0;
	struct emu_arg *arg = calloc(n ? n : 1, sizeof(*arg));
	struct emu_reg_arg *reg = calloc(n ? n : 1, sizeof(*reg));
	const struct ptx_func *ast = f ? f->ast : NULL;

	if (out) {
		c->out = arg;
		c->rout = reg;
	} else {
		c->in = arg;
		c->rin = reg;
	}
	if (!arg || !reg)
		return decode_fail(d, "out of memory");
	if (ast && n != (out ? ast->nret : ast->nparam))
		return decode_fail(d, "call with %u arguments of a function that has %u", n,
				   out ? ast->nret : ast->nparam);
	for (uint32_t i = 0; i < n; i++) {
		const struct ptx_var *formal = ast ? (out ? &ast->ret[i] : &ast->param[i]) : NULL;
		struct sym *s;

		if (local_param(d, &list->sub[i], &s)) {
			int32_t callee = f ? (out ? f->ret_at[i] : f->param_at[i]) : 0;
			uint32_t size = (uint32_t)s->size;

			if (formal && ptx_var_size(formal) && ptx_var_size(formal) < size)
				size = (uint32_t)ptx_var_size(formal);
			arg[nl].from = out ? callee : (int32_t)s->value;
			arg[nl].to = out ? (int32_t)s->value : callee;
			arg[nl++].size = size;
		} else if (formal && formal->space == PTX_SPACE_REG) {
			enum emu_kind kind = decode_type_kind(formal->type);
			int32_t fix = EMU_NO_ROW, row,
				callee = out ? f->ret_row[i] : f->param_row[i];

			row = out ? decode_dest(d, &list->sub[i], kind, &fix) :
				    decode_source(d, &list->sub[i], kind, formal->type);
			if (row == EMU_NO_ROW || fix != EMU_NO_ROW || callee == EMU_NO_ROW)
				return decode_fail(d, "register argument of another width");
			reg[nr].from = out ? callee : row;
			reg[nr].to = out ? row : callee;
			reg[nr++].bytes = kind == EMU_K_PRED ? 4 : kind == EMU_K_U64 ? 256 : 128;
			if (kind == EMU_K_PRED)
				return decode_fail(d, "predicate argument");
		} else {
			return decode_fail(d, "argument %u of a call", i + 1);
		}
	}
	if (out) {
		c->nout = nl;
		c->nrout = nr;
	} else {
		c->nin = nl;
		c->nrin = nr;
	}
	return 0;
}

static int decode_call(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	struct emu_program *p = d->program;
	uint32_t at = 0, fi = 0, k;
	const struct ptx_operand *ret = NULL, *target, *args = NULL, *o;
	const struct emu_func *f = NULL;
	struct emu_call *c;
	struct emu_op *op;
	enum ptx_type type;
	int32_t row;

	if (m->ntoken)
		return decode_unknown(d, in);
	o = operand(in, 0);
	if (o && o->kind == PTX_OPD_LIST) {
		ret = o;
		at++;
	}
	target = operand(in, at++);
	o = operand(in, at);
	if (o && o->kind == PTX_OPD_LIST)
		args = o;
	if (!target)
		return decode_unknown(d, in);
	row = decode_register(d, target, &type);
	if (row == EMU_NO_ROW) {
		const struct ptx_func *callee = decode_find_func(d->module, target->name, &fi);

		if (!callee || callee->is_decl) {
			for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
				if (ptx_is(target->name, builtins[i].name))
					return builtin(d, builtins[i].fn, ret, args);
			return decode_fail(d, "call of %.*s, which this module does not define",
					   (int)target->name.len, target->name.s);
		}
		for (k = 0; k < p->nfunc; k++)
			if (p->func[k].ast == callee)
				break;
		if (k == p->nfunc)
			return decode_fail(d, "call of an unreachable function");
		f = &p->func[k];
		fi = k;
	}
	p->call = emu_grow(p->call, &d->room.call, p->ncall + 1, sizeof(*p->call));
	if (!p->call)
		return decode_fail(d, "out of memory");
	c = &p->call[p->ncall++];
	memset(c, 0, sizeof(*c));
	c->func = fi;
	if (arguments(d, args, f, c, 0) || arguments(d, ret, f, c, 1))
		return -1;
	op = decode_emit(d, f ? EMU_C_CALL : EMU_C_CALL_INDIRECT, emu_h_nop);
	if (!op)
		return -1;
	op->target = p->ncall - 1;
	op->s[0] = row;
	return 0;
}

/* bar{.cta}.sync|arrive|red... a{, b}; barrier likewise. */
static int barrier(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	int sub, negated = 0, warp;
	int32_t dst = EMU_NO_ROW, fix = EMU_NO_ROW, id, count = EMU_NO_ROW, pred = EMU_NO_ROW;
	enum emu_kind kind = EMU_K_NONE;
	const struct ptx_operand *o = in->opd;
	uint32_t n = in->nopd;
	struct emu_op *op;

	warp = decode_has(m, "warp");
	decode_has(m, "cta");
	decode_has(m, "aligned");
	if (decode_has(m, "cluster")) /* a cluster is one block here */
		return m->ntoken ?
			       (m->ntoken = 0, decode_emit(d, EMU_C_ALU, emu_h_fence) ? 0 : -1) :
			       decode_unknown(d, in);
	sub = decode_has(m, "sync")   ? 0 :
	      decode_has(m, "arrive") ? 1 :
	      decode_has(m, "red")    ? 2 :
					-1;
	if (sub == 2)
		sub = decode_has(m, "popc") ? 2 :
		      decode_has(m, "and")  ? 3 :
		      decode_has(m, "or")   ? 4 :
					      -1;
	if (sub < 0 || m->ntoken || !n)
		return decode_unknown(d, in);
	if (warp) {
		id = decode_source(d, &o[0], EMU_K_U32, PTX_T_U32);
		op = decode_emit(d, EMU_C_BARWARP, emu_h_nop);
		if (id == EMU_NO_ROW || !op)
			return -1;
		op->s[3] = id;
		return 0;
	}
	if (sub >= 2) {
		kind = sub == 2 ? EMU_K_U32 : EMU_K_PRED;
		dst = decode_dest(d, &o[0], kind, &fix);
		pred = decode_predicate(d, &o[n - 1], &negated);
		if (dst == EMU_NO_ROW || fix != EMU_NO_ROW || pred == EMU_NO_ROW)
			return decode_fail(d, "operands of a barrier reduction");
		o++;
		n -= 2;
	}
	id = n ? decode_source(d, &o[0], EMU_K_U32, PTX_T_U32) : EMU_NO_ROW;
	if (n > 1)
		count = decode_source(d, &o[1], EMU_K_U32, PTX_T_U32);
	if (id == EMU_NO_ROW || (n > 1 && count == EMU_NO_ROW))
		return -1;
	op = decode_emit(d, EMU_C_BAR, emu_h_nop);
	if (!op)
		return -1;
	op->sub = (uint8_t)sub;
	op->d = dst;
	op->s[0] = id;
	op->s[1] = count;
	op->s[2] = pred;
	op->mode.flags = negated ? EMU_F_SAT : 0;
	return 0;
}

int decode_control(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	struct emu_op *op;

	if (strcmp(m->base, "bra") == 0)
		return m->ntoken ? decode_unknown(d, in) : branch(d, in);
	if (strcmp(m->base, "brx") == 0)
		return decode_has(m, "idx") && !m->ntoken ? branch_indexed(d, in) :
							    decode_unknown(d, in);
	if (strcmp(m->base, "call") == 0)
		return decode_call(d, in, m);
	if (strcmp(m->base, "ret") == 0) {
		op = decode_emit(d, EMU_C_RET, emu_h_nop);
		if (op)
			op->target = d->func_index;
		return op ? 0 : -1;
	}
	if (strcmp(m->base, "exit") == 0)
		return decode_emit(d, EMU_C_EXIT, emu_h_nop) ? 0 : -1;
	if (strcmp(m->base, "trap") == 0)
		return decode_emit(d, EMU_C_TRAP, emu_h_nop) ? 0 : -1;
	if (strcmp(m->base, "brkpt") == 0)
		return decode_emit(d, EMU_C_ALU, emu_h_nop) ? 0 : -1;
	if (strcmp(m->base, "bar") == 0 || strcmp(m->base, "barrier") == 0)
		return barrier(d, in, m);
	return 1;
}

static const struct ptx_operand *pair(const struct ptx_operand *o,
				      const struct ptx_operand **second)
{
	*second = NULL;
	if (o->kind == PTX_OPD_PAIR && o->nsub == 2) {
		*second = &o->sub[1];
		return &o->sub[0];
	}
	return o;
}

/* The shape shared by shfl, vote, match, redux and elect: d{|p}, sources..., {membermask}. */
static int together(struct decoder *d, const struct ptx_insn *in, emu_handler *fn, int sub,
		    enum emu_kind dk, enum ptx_type type, uint32_t nsrc, int has_mask)
{
	const struct ptx_operand *second, *first = pair(&in->opd[0], &second);
	int32_t dst = EMU_NO_ROW, fix = EMU_NO_ROW, fix2, p = EMU_NO_ROW,
		s[4] = { EMU_NO_ROW, EMU_NO_ROW, EMU_NO_ROW, EMU_NO_ROW };
	enum emu_kind sk = type == PTX_T_PRED ? EMU_K_PRED : decode_type_kind(type);
	int negated = 0;
	struct emu_op *op;

	if (in->nopd < 1 + nsrc + (uint32_t)(has_mask != 0))
		return decode_unknown(d, in);
	for (uint32_t i = 0; i < nsrc; i++) {
		if (i == 0 && sk == EMU_K_PRED)
			s[i] = decode_predicate(d, &in->opd[1], &negated);
		else
			s[i] = decode_source(d, &in->opd[1 + i], i ? EMU_K_U32 : sk,
					     i ? PTX_T_U32 : type);
		if (s[i] == EMU_NO_ROW)
			return -1;
	}
	if (has_mask) {
		s[3] = decode_source(d, &in->opd[1 + nsrc], EMU_K_U32, PTX_T_U32);
		if (s[3] == EMU_NO_ROW)
			return -1;
	}
	if (first->kind != PTX_OPD_SINK || dk == EMU_K_PRED) {
		dst = decode_dest(d, first, dk, &fix);
		if (dst == EMU_NO_ROW)
			return -1;
	} else {
		dst = decode_temp(d);
	}
	if (second && second->kind != PTX_OPD_SINK) {
		p = decode_dest(d, second, EMU_K_PRED, &fix2);
		if (p == EMU_NO_ROW)
			return -1;
	}
	op = decode_emit(d, EMU_C_WARPSYNC, fn);
	if (!op)
		return -1;
	memcpy(op->s, s, sizeof(s));
	op->d = dst;
	op->extra[0] = p;
	op->sub = (uint8_t)sub;
	op->type = (uint8_t)type;
	op->is_signed = (uint8_t)ptx_is_signed(type);
	op->wide = sk == EMU_K_U64;
	op->mode.flags = negated ? EMU_F_SAT : 0;
	return decode_fix(d, dst, dk, fix);
}

int decode_sync(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	static const struct {
		const char *name;
		enum emu_shfl mode;
	} shfls[] = {
		{ "up", EMU_SH_UP },
		{ "down", EMU_SH_DOWN },
		{ "bfly", EMU_SH_BFLY },
		{ "idx", EMU_SH_IDX },
	};
	static const struct {
		const char *name;
		enum emu_vote mode;
	} votes[] = {
		{ "all", EMU_V_ALL },
		{ "any", EMU_V_ANY },
		{ "uni", EMU_V_UNI },
		{ "ballot", EMU_V_BALLOT },
	};
	static const struct {
		const char *name;
		enum emu_atom op;
	} redux[] = {
		{ "add", EMU_A_ADD }, { "and", EMU_A_AND }, { "or", EMU_A_OR },
		{ "xor", EMU_A_XOR }, { "min", EMU_A_MIN }, { "max", EMU_A_MAX },
	};
	int sync = decode_has(m, "sync"), sub = -1;

	decode_has(m, "aligned");
	if (strcmp(m->base, "activemask") == 0) {
		int32_t fix,
			row = in->nopd ? decode_dest(d, &in->opd[0], EMU_K_U32, &fix) : EMU_NO_ROW;
		struct emu_op *op = decode_emit(d, EMU_C_ALU, emu_h_activemask);

		if (row == EMU_NO_ROW || !op)
			return -1;
		op->d = row;
		return decode_fix(d, row, EMU_K_U32, fix);
	}
	if (strcmp(m->base, "shfl") == 0) {
		for (size_t i = 0; i < 4; i++)
			if (decode_has(m, shfls[i].name))
				sub = (int)shfls[i].mode;
		if (sub < 0 || m->ntoken || m->ntype != 1)
			return decode_unknown(d, in);
		return together(d, in, emu_h_shfl, sub, EMU_K_U32, PTX_T_B32, 3, sync);
	}
	if (strcmp(m->base, "vote") == 0) {
		if (m->ntoken && strcmp(m->token[0], "uni") != 0) {
			for (size_t i = 0; i < 4; i++)
				if (decode_has(m, votes[i].name))
					sub = (int)votes[i].mode;
		} else {
			sub = EMU_V_UNI; /* .uni is taken as a hint by decode_mods */
		}
		if (m->ntoken)
			return decode_unknown(d, in);
		return together(d, in, emu_h_vote, sub,
				sub == EMU_V_BALLOT ? EMU_K_U32 : EMU_K_PRED, PTX_T_PRED, 1, sync);
	}
	if (strcmp(m->base, "match") == 0) {
		sub = decode_has(m, "all") ? 1 : decode_has(m, "any") ? 0 : -1;
		if (sub < 0 || m->ntoken || m->ntype != 1)
			return decode_unknown(d, in);
		return together(d, in, emu_h_match, sub, EMU_K_U32, m->type[0], 1, sync);
	}
	if (strcmp(m->base, "redux") == 0) {
		for (size_t i = 0; i < 6; i++)
			if (decode_has(m, redux[i].name))
				sub = (int)redux[i].op;
		if (sub < 0 || m->ntoken || m->ntype != 1 || decode_is_float(m->type[0]))
			return decode_unknown(d, in);
		return together(d, in, emu_h_redux, sub, EMU_K_U32, m->type[0], 1, sync);
	}
	if (strcmp(m->base, "elect") == 0)
		return together(d, in, emu_h_elect, 0, EMU_K_U32, PTX_T_B32, 0, 1);
	return 1;
}
