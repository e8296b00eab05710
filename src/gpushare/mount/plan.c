/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan as a file of "word value" lines; see plan.h. */
#define _GNU_SOURCE
#include "gpushare/mount/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOCKET_SUFFIX ".sock"
#define FOLDER_SUFFIX ".mounts"
#define FILE_NAME "plan"

/* The plan's words for a library of ours, and for a file whose place it takes. */
static const char *const words_ours[GS_MOUNT_LIBRARIES] = { "shim", "nvml" };
static const char *const words_cover[GS_MOUNT_LIBRARIES] = { "cover", "cover_nvml" };

int gs_mount_folder(const char *socket, char *folder, size_t size)
{
	size_t length = strlen(socket), suffix = strlen(SOCKET_SUFFIX);
	int n;

	if (length > suffix && strcmp(socket + length - suffix, SOCKET_SUFFIX) == 0)
		length -= suffix;
	n = snprintf(folder, size, "%.*s" FOLDER_SUFFIX, (int)length, socket);
	return n > 0 && (size_t)n < size ? 0 : -1;
}

static int file_of(const char *folder, const char *suffix, char *path, size_t size,
		   struct gs_error *err)
{
	int n = snprintf(path, size, "%s/" FILE_NAME "%s", folder, suffix);

	return n > 0 && (size_t)n < size ? 0 : gs_fail(err, "%s is too long a path", folder);
}

int gs_mount_plan_write(const char *folder, const struct gs_mount_plan *plan, struct gs_error *err)
{
	char path[512], fresh[512];
	FILE *f;
	int bad;

	if (file_of(folder, "", path, sizeof(path), err) < 0)
		return -1;
	/* job: where users without root's rights mount the job's folder (`gpusharectl run`). */
	snprintf(fresh, sizeof(fresh), "%s/job", folder);
	if ((mkdir(folder, 0755) < 0 && errno != EEXIST) ||
	    (mkdir(fresh, 0755) < 0 && errno != EEXIST))
		return gs_fail_errno(err, "cannot make %s", folder);
	if (file_of(folder, ".new", fresh, sizeof(fresh), err) < 0)
		return -1;
	f = fopen(fresh, "we");
	if (!f)
		return gs_fail_errno(err, "cannot write %s", fresh);
	for (int i = 0; i < GS_MOUNT_LIBRARIES; i++)
		if (*plan->ours[i])
			fprintf(f, "%s %s\n", words_ours[i], plan->ours[i]);
	fprintf(f, "driver %s\nlibrary_path %d\n", plan->driver, plan->library_path);
	for (size_t i = 0; i < plan->ncover; i++)
		if (*plan->ours[plan->cover[i].library])
			fprintf(f, "%s %s\n", words_cover[plan->cover[i].library],
				plan->cover[i].path);
	bad = fchmod(fileno(f), 0644) < 0 || ferror(f);
	if (fclose(f) != 0 || bad || rename(fresh, path) < 0) {
		gs_fail_errno(err, "cannot write %s", path);
		unlink(fresh);
		return -1;
	}
	return 0;
}

int gs_mount_plan_remove(const char *folder, struct gs_error *err)
{
	char path[512];

	if (file_of(folder, "", path, sizeof(path), err) < 0)
		return -1;
	return unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR ?
		       0 :
		       gs_fail_errno(err, "cannot remove %s", path);
}

static int take_path(char field[GS_MOUNT_PATH_MAX], const char *value)
{
	if (value[0] != '/' || strlen(value) >= GS_MOUNT_PATH_MAX)
		return -1;
	strcpy(field, value);
	return 0;
}

static int take_line(struct gs_mount_plan *plan, char *line)
{
	char *value = strchr(line, ' ');

	line[strcspn(line, "\n")] = '\0';
	if (!value)
		return -1;
	*value++ = '\0';
	if (strcmp(line, "driver") == 0)
		return take_path(plan->driver, value);
	if (strcmp(line, "library_path") == 0) {
		plan->library_path = value[0] == '1';
		return 0;
	}
	for (int i = 0; i < GS_MOUNT_LIBRARIES; i++) {
		if (strcmp(line, words_ours[i]) == 0)
			return take_path(plan->ours[i], value);
		if (strcmp(line, words_cover[i]) != 0 || plan->ncover == GS_MOUNT_COVERS_MAX)
			continue;
		plan->cover[plan->ncover].library = i;
		return take_path(plan->cover[plan->ncover++].path, value);
	}
	return -1;
}

int gs_mount_plan_read(const char *folder, struct gs_mount_plan *plan, struct gs_error *err)
{
	char path[512], line[GS_MOUNT_PATH_MAX + 32];
	struct stat st;
	int bad = 0;
	FILE *f;

	memset(plan, 0, sizeof(*plan));
	if (file_of(folder, "", path, sizeof(path), err) < 0)
		return -1;
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT || errno == ENOTDIR ?
			       0 :
			       gs_fail_errno(err, "cannot read %s", path);
	if (fstat(fileno(f), &st) < 0 || (st.st_uid != 0 && st.st_uid != geteuid()) ||
	    st.st_mode & (S_IWGRP | S_IWOTH)) {
		fclose(f);
		return gs_fail(err, "%s may be written by others than root", path);
	}
	while (!bad && fgets(line, sizeof(line), f))
		bad = take_line(plan, line) < 0;
	fclose(f);
	if (bad || !*plan->ours[GS_MOUNT_CUDA] || !*plan->driver || !plan->ncover)
		return gs_fail(err, "%s is not what gpushared writes", path);
	return 1;
}
