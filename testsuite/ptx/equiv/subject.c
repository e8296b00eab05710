/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See subject.h. */
#define _GNU_SOURCE
#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "random.h"

static void *must(void *p, const struct test_case *c, const char *what)
{
	if (!p)
		fail(c, "%s", what);
	return p;
}

char *rig_read(const struct rig *rig, const char *name)
{
	char path[4096];
	FILE *f;
	long n;
	char *text;

	if (strncmp(name, "random/", 7) == 0 &&
	    (text = random_text((uint32_t)strtoul(name + 7, NULL, 10))))
		return text;
	snprintf(path, sizeof(path), "%s/%s.ptx", rig->folder, name);
	f = fopen(path, "r");
	if (!f || fseek(f, 0, SEEK_END) < 0 || (n = ftell(f)) < 0 ||
	    !(text = calloc(1, (size_t)n + 1))) {
		fprintf(stderr, "FAIL: %s cannot be read\n", path);
		exit(1);
	}
	rewind(f);
	if (fread(text, 1, (size_t)n, f) != (size_t)n)
		exit(1);
	fclose(f);
	return text;
}

/* The probe's variable is one word for the probe and one for each block-task. */
static void set_probe(const struct subject *s, uint32_t every, enum ptx_transform_kind transform)
{
	uint64_t at, board = s->rig->board.device;
	size_t bytes;
	struct probe *p;

	if (!s->probed)
		return;
	DO(s->rig->drv.module_global(&at, &bytes, s->l.module, PROBE_NAME));
	p = must(calloc(1, bytes), s->c, "no memory");
	p->every = every ? every : UINT32_MAX;
	if (transform == PTX_TRANSFORM_GUARDED) {
		p->limit = board + offsetof(struct shared_words, guard) + GS_GUARD_UPPER_AT;
		p->value = GS_GUARD_LEAVE_UPPER;
	} else {
		p->limit = board + offsetof(struct shared_words, ctl.limit);
	}
	DO(s->rig->drv.to_device(at, p, bytes));
	free(p);
}

/* Every block-task exactly once. */
static void check_probe(const struct subject *s)
{
	uint64_t at, all = case_tasks(s->c);
	size_t bytes;
	struct probe *p;

	if (!s->probed)
		return;
	DO(s->rig->drv.module_global(&at, &bytes, s->l.module, PROBE_NAME));
	p = must(malloc(bytes), s->c, "no memory");
	DO(s->rig->drv.to_host(p, at, bytes));
	for (uint64_t i = 0; i < all; i++)
		if (p->count[i] != 1)
			fail(s->c, "block-task %llu ran %u times", (unsigned long long)i,
			     p->count[i]);
	if (p->started != all)
		fail(s->c, "%u block-tasks ran, not %llu", p->started, (unsigned long long)all);
	free(p);
}

static void compare(const struct subject *s, const char *transform, const struct way *w,
		    const uint8_t *got, const char *where)
{
	for (size_t i = 0; i < s->bytes; i++)
		if (got[i] != s->want[i])
			fail(s->c,
			     "%s, %s: byte %zu is %u, the original left %u (workers %u, chunk %u, evicted after every "
			     "%u and %u, after %u us)",
			     transform, where, i, got[i], s->want[i], w->workers, w->chunk,
			     w->probe_every, w->every, w->limit_us);
}

/*
 * A copy from pageable memory may return when the bytes are staged, before they
 * are on the device (CUDA driver API, "API synchronization behavior"), and the
 * kernels' stream does not wait for the default one.
 */
static void settle(const struct rig *rig)
{
	DO(rig->drv.ctx_sync());
}

unsigned subject_run(struct subject *s, enum ptx_transform_kind transform, form_run *run,
		     struct way w)
{
	const struct rig *rig = s->rig;
	char name[300], *lines;
	unsigned evictions;
	void *variant;

	image_restore(&s->l, s->initial);
	snprintf(name, sizeof(name), "%s%s", s->c->kernel, ptx_transform_suffix(transform));
	DO(rig->drv.module_function(&variant, s->l.module, name));
	set_probe(s, w.probe_every, transform);
	settle(rig);
	if (!w.every) {
		w.behind = s->behind;
		memset(s->behind, 0x55, s->bytes);
	}
	if (s->l.prints)
		capture_begin();
	evictions = run(&s->l, variant, &rig->board, &w);
	lines = s->l.prints ? capture_end() : NULL;
	if (w.behind) {
		DO(rig->drv.stream_sync(rig->board.behind));
		compare(s, ptx_transform_name(transform), &w, s->behind, "behind the kernel");
	}
	image_take(&s->l, s->got, NULL);
	compare(s, ptx_transform_name(transform), &w, s->got, "memory");
	if (lines && strcmp(lines, s->want_lines) != 0)
		fail(s->c, "it printed:\n%sthe original:\n%s", lines, s->want_lines);
	free(lines);
	check_probe(s);
	return evictions;
}

/* Its memory is what the variants must leave; it must have done something. */
static void run_original(struct subject *s)
{
	const struct test_case *c = s->c;
	const struct driver *drv = &s->rig->drv;
	void *pinned;

	s->bytes = image_size(&s->l);
	s->initial = must(malloc(s->bytes + 1), c, "no memory");
	s->want = must(malloc(s->bytes + 1), c, "no memory");
	s->got = must(malloc(s->bytes + 1), c, "no memory");
	DO(drv->host_alloc(&pinned, s->bytes + 1, 0));
	s->behind = pinned;
	image_take(&s->l, s->initial, NULL);
	set_probe(s, 0, s->rig->board.device + offsetof(struct shared_words, nobody));
	settle(s->rig);
	if (s->l.prints)
		capture_begin();
	DO(drv->launch(s->l.original, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
		       c->block[2], c->shared, s->rig->board.stream, s->l.pointer, NULL));
	DO(drv->stream_sync(s->rig->board.stream));
	s->want_lines = s->l.prints ? capture_end() : NULL;
	image_take(&s->l, s->want, NULL);
	if (s->l.nbuffers && c->kind != CASE_RANDOM && memcmp(s->want, s->initial, s->bytes) == 0 &&
	    !(s->want_lines && *s->want_lines))
		fail(c, "the original changes nothing");
	check_probe(s);
}

void subject_open(struct subject *s, const struct rig *rig, const struct test_case *c, int probed)
{
	struct gs_error err = { "" };
	char *text = rig_read(rig, c->file);

	memset(s, 0, sizeof(*s));
	s->rig = rig;
	s->c = c;
	s->probed = probed;
	s->ast = ptx_parse(text, strlen(text), &err);
	if (!s->ast)
		fail(c, "%s: %s", c->file, err.text);
	s->text = text;
	if (probed) {
		s->text = must(probe_insert(s->ast, c->kernel, case_tasks(c)), c,
			       "no such kernel in its file");
		ptx_module_free(s->ast);
		free(text);
		s->ast = must(ptx_parse(s->text, strlen(s->text), &err), c,
			      "the probe does not parse");
	}
	s->t = ptx_transform_only(s->text, strlen(s->text), rig->transforms, 1, &err);
	if (!s->t)
		fail(c, "%s: %s", c->file, err.text);
	s->changed = s->t->text;
	if (s->rig->mutation)
		s->changed = must(mutation_apply(rig->mutation, s->t->text), c, MUTATION_STALE);
	launch_prepare(&s->l, c, &rig->drv, s->changed, s->ast);
	run_original(s);
}

void subject_close(struct subject *s)
{
	DO(s->rig->drv.host_free(s->behind));
	if (s->rig->mutation)
		free(s->changed);
	launch_release(&s->l);
	free(s->want_lines);
	free(s->initial);
	free(s->got);
	free(s->want);
	ptx_transformed_free(s->t);
	ptx_module_free(s->ast);
	free(s->text);
}
