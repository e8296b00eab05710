/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shim's counts, of all processes together, for people and as JSON. */
#define _GNU_SOURCE
#include "device/emu/tool/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/ptx/transform.h"

struct kernel {
	uint64_t launches, evictable, evictions;
	enum ptx_transform_kind transform;
	enum ptx_reason reason;
	char *name;
};

struct kernels {
	struct kernel *v;
	size_t n;
	uint64_t launches, evictable, evictions;
};

/* One line of the shim's; 0 if it is none. */
static int read_line(const char *line, struct kernel *k)
{
	int transform, reason, at = 0;

	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %d %d %n", &k->launches,
		   &k->evictable, &k->evictions, &transform, &reason, &at) < 5 ||
	    !at || transform < 0 || transform >= PTX_TRANSFORM_COUNT || reason < 0 ||
	    reason >= PTX_REASON_COUNT)
		return 0;
	k->transform = (enum ptx_transform_kind)transform;
	k->reason = (enum ptx_reason)reason;
	k->name = strdup(line + at);
	return k->name != NULL;
}

/* The same kernel in another process, or under another handle, counts as one. */
static int add(struct kernels *all, struct kernel *k)
{
	struct kernel *grown;

	all->launches += k->launches;
	all->evictable += k->evictable;
	all->evictions += k->evictions;
	for (size_t i = 0; i < all->n; i++) {
		struct kernel *known = &all->v[i];

		/* With a variant the reason is a launch's. */
		if (known->transform != k->transform || strcmp(known->name, k->name) ||
		    (k->transform == PTX_TRANSFORM_AS_IS && known->reason != k->reason))
			continue;
		if (k->reason)
			known->reason = k->reason;
		known->launches += k->launches;
		known->evictable += k->evictable;
		known->evictions += k->evictions;
		free(k->name);
		return 0;
	}
	grown = realloc(all->v, (all->n + 1) * sizeof(*grown));
	if (!grown) {
		free(k->name);
		return -1;
	}
	all->v = grown;
	all->v[all->n++] = *k;
	return 0;
}

static int read_all(const char *from, struct kernels *all, struct gs_error *err)
{
	FILE *f = fopen(from, "re");
	struct kernel k;
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	if (!f)
		return errno == ENOENT ? 0 : gs_fail_errno(err, "cannot read the summary");
	while (rc == 0 && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!read_line(line, &k))
			rc = gs_fail(err, "the summary has a line that makes no sense: %s", line);
		else if (add(all, &k) < 0)
			rc = gs_fail(err, "out of memory");
	}
	free(line);
	fclose(f);
	return rc;
}

static void print(const struct kernels *all)
{
	fprintf(stderr,
		"gpushare-emu: kernels %zu, launches %" PRIu64 " (%" PRIu64
		" evictable), evictions %" PRIu64 "\n",
		all->n, all->launches, all->evictable, all->evictions);
	for (size_t i = 0; i < all->n; i++) {
		const struct kernel *k = &all->v[i];

		fprintf(stderr,
			"  %s: %s%s%s%s, launches %" PRIu64 " (%" PRIu64
			" evictable), evictions %" PRIu64 "\n",
			k->name, ptx_transform_name(k->transform), k->reason ? " (" : "",
			k->reason ? ptx_reason_words(k->reason) : "", k->reason ? ")" : "",
			k->launches, k->evictable, k->evictions);
	}
}

static json_t *to_json(const struct kernels *all, const char *program, int status)
{
	json_t *list = json_array(), *k;

	for (size_t i = 0; i < all->n; i++) {
		const struct kernel *v = &all->v[i];

		k = json_pack("{s:s, s:s, s:s?, s:I, s:I, s:I}", "name", v->name, "form",
			      ptx_transform_name(v->transform), "reason",
			      v->reason ? ptx_reason_name(v->reason) : NULL, "launches",
			      (json_int_t)v->launches, "evictable_launches",
			      (json_int_t)v->evictable, "evictions", (json_int_t)v->evictions);
		if (!k || json_array_append_new(list, k) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:s, s:i, s:I, s:I, s:I, s:o}", "program", program, "status", status,
			 "launches", (json_int_t)all->launches, "evictable_launches",
			 (json_int_t)all->evictable, "evictions", (json_int_t)all->evictions,
			 "kernels", list);
}

static int write_json(const struct kernels *all, const char *path, const char *program, int status,
		      struct gs_error *err)
{
	json_t *report = to_json(all, program, status);
	FILE *f;
	int bad;

	if (!report)
		return gs_fail(err, "the summary cannot be put as JSON");
	f = fopen(path, "we");
	bad = !f || json_dumpf(report, f, JSON_INDENT(2)) < 0 || fputc('\n', f) == EOF;
	if (f)
		bad |= fclose(f) != 0;
	json_decref(report);
	return bad ? gs_fail_errno(err, "cannot write %s", path) : 0;
}

int emu_summary(const char *from, const char *json, const char *program, int status,
		struct gs_error *err)
{
	struct kernels all = { 0 };
	int rc = read_all(from, &all, err);

	if (rc == 0 && json)
		rc = write_json(&all, json, program, status, err);
	else if (rc == 0)
		print(&all);
	for (size_t i = 0; i < all.n; i++)
		free(all.v[i].name);
	free(all.v);
	return rc;
}
