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
#include "common/driver_places.def"
#undef DRIVER_PLACE
};

static const char *const names[GS_MOUNT_LIBRARIES] = GS_MOUNT_NAMES;

struct search {
	struct gs_mount_plan *plan;
	char ours[GS_MOUNT_LIBRARIES][PATH_MAX]; /* the files themselves; "": not looked for */
	int full;
};

/* 1: it is there and is, now or before, in the plan. */
static int add(struct search *s, enum gs_mount_library library, const char *path)
{
	struct gs_mount_plan *plan = s->plan;
	char file[PATH_MAX], other[PATH_MAX];

	if (!*s->ours[library] || !realpath(path, file) || strcmp(file, s->ours[library]) == 0)
		return 0;
	for (size_t i = 0; i < plan->ncover; i++)
		if (realpath(plan->cover[i].path, other) && strcmp(file, other) == 0)
			return 1;
	if (plan->ncover == GS_MOUNT_COVERS_MAX || strlen(path) >= GS_MOUNT_PATH_MAX) {
		s->full = 1;
		return 0;
	}
	plan->cover[plan->ncover].library = library;
	strcpy(plan->cover[plan->ncover++].path, path);
	return 1;
}

/* Libraries of our own word size, as ldconfig prints them; 1 if there is one. */
static int add_cached(struct search *s, enum gs_mount_library library)
{
	FILE *list = popen("PATH=/usr/sbin:/sbin:/usr/bin:/bin ldconfig -p 2>/dev/null", "re");
	char line[PATH_MAX + 128], begin[64];
	int found = 0;

	snprintf(begin, sizeof(begin), "\t%s (libc6,x86-64", names[library]);
	while (list && fgets(line, sizeof(line), list)) {
		char *path = strstr(line, " => ");

		line[strcspn(line, "\n")] = '\0';
		if (path && strncmp(line, begin, strlen(begin)) == 0)
			found |= add(s, library, path + 4);
	}
	if (list)
		pclose(list);
	return found;
}

static void add_place(struct search *s, enum gs_mount_library library, const char *place)
{
	char pattern[128];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/%s", place, names[library]);
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		add(s, library, found.gl_pathv[i]);
	globfree(&found);
}

/* Our own library; "" where it is not installed. */
static int find_ours(struct search *s, enum gs_mount_library library, const char *shim_dir,
		     struct gs_error *err)
{
	char *path = s->plan->ours[library];

	if ((size_t)snprintf(path, GS_MOUNT_PATH_MAX, "%s/%s", shim_dir, names[library]) >=
	    GS_MOUNT_PATH_MAX)
		return gs_fail(err, "%s is too long a path", shim_dir);
	if (realpath(path, s->ours[library]))
		return 0;
	gs_fail_errno(err, "no shim: %s", path);
	path[0] = s->ours[library][0] = '\0';
	return -1;
}

/* All of a library's files, those that are named first; 1: the loader finds it by itself. */
static int find_all(struct search *s, enum gs_mount_library library, const char *named)
{
	int cached;

	if (strchr(named, '/'))
		add(s, library, named);
	cached = add_cached(s, library);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		add_place(s, library, places[i]);
	return cached;
}

int gs_mount_find(const char *shim_dir, const char *driver, const char *nvml,
		  struct gs_mount_plan *plan, struct gs_error *err)
{
	struct search s = { .plan = plan };
	int cached;

	memset(plan, 0, sizeof(*plan));
	if (find_ours(&s, GS_MOUNT_CUDA, shim_dir, err) < 0)
		return -1;
	cached = find_all(&s, GS_MOUNT_CUDA, driver);
	if (!plan->ncover)
		return s.full ? gs_fail(err, "a driver's path is longer than %d bytes",
					GS_MOUNT_PATH_MAX - 1) :
				0;
	strcpy(plan->driver, plan->cover[0].path);
	plan->library_path = !cached;
	if (find_ours(&s, GS_MOUNT_NVML, shim_dir, err) == 0)
		find_all(&s, GS_MOUNT_NVML, nvml);
	if (s.full)
		return gs_fail(err, "more than %d drivers, or one with a longer path than %d bytes",
			       GS_MOUNT_COVERS_MAX, GS_MOUNT_PATH_MAX - 1);
	return 1;
}
