/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control-flow graph of a body; see cfg.h. */
#define _GNU_SOURCE
#include "device/ptx/cfg.h"
#include "device/ptx/opcode.h"
#include "device/ptx/postdom.h"

#include <stdlib.h>
#include <string.h>

struct builder {
	struct ptx_cfg *cfg;
	const struct ptx_analysis *a;
	const struct ptx_func *f;
	struct ptx_symtab labels;
	uint32_t *label_stmt; /* by label number */
	uint32_t nlabel, edge_cap;
	uint8_t *leader; /* by statement */
};

static int ends_block(const struct builder *b, const struct ptx_stmt *s)
{
	if (s->kind != PTX_STMT_INSN)
		return 0;
	switch (s->insn.op) {
	case PTX_OP_BRA:
	case PTX_OP_BRX:
	case PTX_OP_RET:
	case PTX_OP_EXIT:
	case PTX_OP_TRAP:
		return 1;
	case PTX_OP_CALL:
		return ptx_call_never_returns(b->a, &s->insn);
	default:
		return 0;
	}
}

/* Labels of code and of .branchtargets lists alike. */
static int find_labels(struct builder *b)
{
	b->label_stmt = malloc((b->f->nstmt + 1) * sizeof(*b->label_stmt));
	if (!b->label_stmt)
		return -1;
	for (uint32_t i = 0; i < b->f->nstmt; i++) {
		const struct ptx_stmt *s = &b->f->stmt[i];
		uint32_t id;

		if (s->kind != PTX_STMT_LABEL && s->kind != PTX_STMT_BRANCHTARGETS)
			continue;
		id = ptx_symtab_put(&b->labels,
				    s->kind == PTX_STMT_LABEL ? s->label : s->targets.label);
		if (id == PTX_SYM_NONE)
			return -1;
		if (id == b->nlabel)
			b->label_stmt[b->nlabel++] = i;
	}
	return 0;
}

static uint32_t stmt_of(const struct builder *b, struct ptx_slice label)
{
	uint32_t id = ptx_symtab_get(&b->labels, label);

	return id < b->nlabel ? b->label_stmt[id] : PTX_BLOCK_NONE;
}

static int find_blocks(struct builder *b)
{
	struct ptx_cfg *cfg = b->cfg;
	uint32_t n = 0, nstmt = b->f->nstmt;

	cfg->block_of = malloc((nstmt + 1) * sizeof(*cfg->block_of));
	b->leader = calloc(nstmt + 1, 1);
	if (!cfg->block_of || !b->leader)
		return -1;
	b->leader[0] = 1;
	for (uint32_t i = 0; i < nstmt; i++) {
		if (b->f->stmt[i].kind == PTX_STMT_LABEL)
			b->leader[i] = 1;
		if (ends_block(b, &b->f->stmt[i]))
			b->leader[i + 1] = 1;
	}
	for (uint32_t i = 0; i < nstmt; i++)
		n += b->leader[i];
	cfg->block = calloc((size_t)n + 1, sizeof(*cfg->block));
	if (!cfg->block)
		return -1;
	cfg->nblock = n + 1;
	cfg->exit_block = n;
	n = 0;
	for (uint32_t i = 0; i < nstmt; i++) {
		if (b->leader[i])
			cfg->block[n++].begin = i;
		cfg->block[n - 1].end = i + 1;
		cfg->block_of[i] = n - 1;
	}
	return 0;
}

static int add_edge(struct builder *b, struct ptx_block *from, uint32_t to)
{
	struct ptx_cfg *cfg = b->cfg;

	if (cfg->nedge == b->edge_cap) {
		uint32_t cap = b->edge_cap ? b->edge_cap * 2 : 64;
		uint32_t *grown = realloc(cfg->edge, cap * sizeof(*grown));

		if (!grown)
			return -1;
		cfg->edge = grown;
		b->edge_cap = cap;
	}
	cfg->edge[cfg->nedge++] = to;
	cfg->block[to].npred++;
	from->nsucc++;
	return 0;
}

static int add_label_edge(struct builder *b, struct ptx_block *from, struct ptx_slice label)
{
	uint32_t stmt = stmt_of(b, label);

	if (stmt == PTX_BLOCK_NONE || b->f->stmt[stmt].kind != PTX_STMT_LABEL)
		return -1;
	return add_edge(b, from, b->cfg->block_of[stmt]);
}

/* brx.idx index, list: to every label of the list. */
static int add_list_edges(struct builder *b, struct ptx_block *from, const struct ptx_insn *insn)
{
	uint32_t stmt = insn->nopd > 1 ? stmt_of(b, insn->opd[1].name) : PTX_BLOCK_NONE;
	const struct ptx_stmt *list;

	if (stmt == PTX_BLOCK_NONE || b->f->stmt[stmt].kind != PTX_STMT_BRANCHTARGETS)
		return -1;
	list = &b->f->stmt[stmt];
	for (uint32_t i = 0; i < list->targets.n; i++)
		if (add_label_edge(b, from, list->targets.target[i]) < 0)
			return -1;
	return 0;
}

static int add_edges(struct builder *b, uint32_t i)
{
	struct ptx_block *block = &b->cfg->block[i];
	const struct ptx_stmt *last = &b->f->stmt[block->end - 1];
	int rc = 0;

	block->succ = b->cfg->nedge;
	block->branch = PTX_BLOCK_NONE;
	if (ends_block(b, last)) {
		enum ptx_op op = (enum ptx_op)last->insn.op;

		if (op == PTX_OP_BRX)
			rc = add_list_edges(b, block, &last->insn);
		else if (op == PTX_OP_BRA)
			rc = last->insn.nopd ? add_label_edge(b, block, last->insn.opd[0].name) :
					       -1;
		else if (op == PTX_OP_RET || op == PTX_OP_EXIT)
			rc = add_edge(b, block, b->cfg->exit_block);
		if (last->insn.guard.len || op == PTX_OP_BRX)
			block->branch = block->end - 1;
		if (rc < 0 || !last->insn.guard.len)
			return rc;
	}
	return add_edge(b, block, i + 1); /* the next one, or the exit behind the last */
}

static int find_preds(struct ptx_cfg *cfg)
{
	uint32_t at = 0;

	cfg->back = malloc((cfg->nedge + 1) * sizeof(*cfg->back));
	if (!cfg->back)
		return -1;
	for (uint32_t i = 0; i < cfg->nblock; i++) {
		cfg->block[i].pred = at;
		at += cfg->block[i].npred;
		cfg->block[i].npred = 0;
	}
	for (uint32_t i = 0; i < cfg->nblock; i++) {
		const struct ptx_block *b = &cfg->block[i];

		for (uint32_t e = b->succ; e < b->succ + b->nsucc; e++) {
			struct ptx_block *to = &cfg->block[cfg->edge[e]];

			cfg->back[to->pred + to->npred++] = i;
		}
	}
	return 0;
}

static int build(struct builder *b)
{
	if (find_labels(b) < 0 || find_blocks(b) < 0)
		return -1;
	for (uint32_t i = 0; i < b->cfg->exit_block; i++)
		if (add_edges(b, i) < 0)
			return -1;
	b->cfg->block[b->cfg->exit_block].branch = PTX_BLOCK_NONE;
	if (find_preds(b->cfg) < 0)
		return -1;
	return ptx_find_postdominators(b->cfg);
}

int ptx_cfg_build(struct ptx_cfg *cfg, const struct ptx_analysis *a, const struct ptx_func *f)
{
	struct builder b = { .cfg = cfg, .a = a, .f = f };
	int rc;

	memset(cfg, 0, sizeof(*cfg));
	rc = build(&b);
	ptx_symtab_free(&b.labels);
	free(b.label_stmt);
	free(b.leader);
	if (rc < 0)
		ptx_cfg_free(cfg);
	return rc;
}

void ptx_cfg_free(struct ptx_cfg *cfg)
{
	free(cfg->block);
	free(cfg->edge);
	free(cfg->back);
	free(cfg->block_of);
	memset(cfg, 0, sizeof(*cfg));
}
