/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The drivers of a node; see find.h. */
#define _GNU_SOURCE
#include "gpushare/mount/find.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const places[] = {
#define DRIVER_PLACE(pattern) pattern,
#include "gpushare/mount/places.def"
#undef DRIVER_PLACE
};

struct search {
	struct gs_mount_plan *plan;
	char shim[PATH_MAX]; /* the file itself */
	int full;
};

/* 1: it is there and is, now or before, in the plan. */
static int add(struct search *s, const char *path)
{
	struct gs_mount_plan *plan = s->plan;
	char file[PATH_MAX], other[PATH_MAX];

	if (!realpath(path, file) || strcmp(file, s->shim) == 0)
		return 0;
	for (size_t i = 0; i < plan->ncover; i++)
		if (realpath(plan->cover[i], other) && strcmp(file, other) == 0)
			return 1;
	if (plan->ncover == GS_MOUNT_COVERS_MAX || strlen(path) >= GS_MOUNT_PATH_MAX) {
		s->full = 1;
		return 0;
	}
	strcpy(plan->cover[plan->ncover++], path);
	return 1;
}

/* Libraries of our own word size, as ldconfig prints them; 1 if there is one. */
static int add_cached(struct search *s)
{
	FILE *list = popen("PATH=/usr/sbin:/sbin:/usr/bin:/bin ldconfig -p 2>/dev/null", "re");
	char line[PATH_MAX + 128];
	int found = 0;

	while (list && fgets(line, sizeof(line), list)) {
		char *path = strstr(line, " => ");

		line[strcspn(line, "\n")] = '\0';
		if (path && strncmp(line, "\tlibcuda.so.1 (libc6,x86-64", 27) == 0)
			found |= add(s, path + 4);
	}
	if (list)
		pclose(list);
	return found;
}

static void add_pattern(struct search *s, const char *pattern)
{
	glob_t found;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		add(s, found.gl_pathv[i]);
	globfree(&found);
}

int gs_mount_find(const char *shim_dir, const char *driver, struct gs_mount_plan *plan,
		  struct gs_error *err)
{
	struct search s = { .plan = plan };
	int cached;

	memset(plan, 0, sizeof(*plan));
	if ((size_t)snprintf(plan->shim, sizeof(plan->shim), "%s/libcuda.so.1", shim_dir) >=
	    sizeof(plan->shim))
		return gs_fail(err, "%s is too long a path", shim_dir);
	if (!realpath(plan->shim, s.shim))
		return gs_fail_errno(err, "no shim: %s", plan->shim);
	if (*driver)
		add(&s, driver);
	cached = add_cached(&s);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		add_pattern(&s, places[i]);
	if (s.full)
		return gs_fail(err, "more than %d drivers, or one with a longer path than %d bytes",
			       GS_MOUNT_COVERS_MAX, GS_MOUNT_PATH_MAX - 1);
	if (!plan->ncover)
		return 0;
	strcpy(plan->driver, plan->cover[0]);
	plan->library_path = !cached;
	return 1;
}
