/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes the daemon has woken; see woken.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/woken.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/state.h"

#define NOT_FROZEN "-" /* instead of the file's name */

_Static_assert(GS_FROZEN_MAX + 80 < GS_STATE_LINE_MAX, "a line has room for every file's name");

static struct gs_woken *find(const struct gs_woken_list *list, pid_t pid, uint64_t start)
{
	for (struct gs_woken *w = list->woken; w < list->woken + list->n; w++)
		if (w->pid == pid && w->start == start)
			return w;
	return NULL;
}

int gs_woken_add(struct gs_woken_list *list, const struct gs_woken *woken)
{
	struct gs_woken *grown;

	if (find(list, woken->pid, woken->start))
		return 0;
	grown = list->n < GS_WOKEN_MAX ? realloc(list->woken, (list->n + 1) * sizeof(*grown)) :
					 NULL;
	if (!grown)
		return -1;
	list->woken = grown;
	list->woken[list->n++] = *woken;
	return 0;
}

/* Returns 1 if that was not known. */
static int merge(struct gs_how_stopped *how, const struct gs_how_stopped *now)
{
	struct gs_how_stopped was = *how;

	how->by_signal |= now->by_signal;
	if (*now->frozen)
		memcpy(how->frozen, now->frozen, sizeof(how->frozen));
	return how->by_signal != was.by_signal || strcmp(how->frozen, was.frozen) != 0;
}

int gs_woken_note(struct gs_woken_list *list, uint32_t job_id, pid_t pid, uint64_t start,
		  struct gs_error *err)
{
	struct gs_woken now = { .pid = pid, .start = start }, *known = find(list, pid, start);

	if (!gs_proc_alive(pid, start) || (known && !gs_proc_stopped(pid, GS_CGROUP_ROOT)))
		return 0;
	gs_wake_inspect(pid, job_id, GS_CGROUP_ROOT, &now.how);
	if (known)
		return merge(&known->how, &now.how);
	return gs_woken_add(list, &now) < 0 ? gs_fail(err, "it has too many processes") : 1;
}

void gs_woken_all(const struct gs_woken_list *list,
		  void (*what)(const struct gs_woken *woken, const char *root))
{
	for (const struct gs_woken *w = list->woken; w < list->woken + list->n; w++)
		what(w, GS_CGROUP_ROOT);
}

void gs_woken_clear(struct gs_woken_list *list)
{
	free(list->woken);
	*list = (struct gs_woken_list) { 0 };
}

/* ---- lines ---------------------------------------------------------------- */

int gs_woken_print(const struct gs_woken_line *l, char *buf, size_t size)
{
	const struct gs_woken *w = &l->woken;

	return snprintf(buf, size, "woken %u %u %d %" PRIu64 " %d %s", l->job_id, l->step_id,
			(int)w->pid, w->start, w->how.by_signal,
			*w->how.frozen ? w->how.frozen : NOT_FROZEN);
}

static int ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Is that a freezer's file of the job? A name of which the end is lost is none. */
static int is_freezer(const char *file, uint32_t job_id)
{
	char job[24];

	snprintf(job, sizeof(job), "/job_%u/", job_id);
	return *file == '/' && strstr(file, job) && !strstr(file, "/../") &&
	       (ends_with(file, "/freezer.state") || ends_with(file, "/cgroup.freeze"));
}

int gs_woken_parse(const char *text, struct gs_woken_line *l)
{
	struct gs_woken *w = &l->woken;
	char same[GS_STATE_LINE_MAX];
	int pid, at = 0;

	memset(l, 0, sizeof(*l));
	if (sscanf(text, "woken %u %u %d %" SCNu64 " %d %n", &l->job_id, &l->step_id, &pid,
		   &w->start, &w->how.by_signal, &at) != 5 ||
	    !at || pid <= 1 || (w->how.by_signal & ~1) || strlen(text + at) >= GS_FROZEN_MAX)
		return -1;
	w->pid = pid;
	if (strcmp(text + at, NOT_FROZEN) != 0) {
		if (!is_freezer(text + at, l->job_id))
			return -1;
		strcpy(w->how.frozen, text + at);
	}
	/* sscanf() takes more than is ever written: signs, blanks, numbers that are too large. */
	gs_woken_print(l, same, sizeof(same));
	return strcmp(same, text) == 0 && (w->how.by_signal || *w->how.frozen) ? 0 : -1;
}
