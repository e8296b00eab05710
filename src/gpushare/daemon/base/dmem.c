/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets limits in the kernel's device memory controller; see dmem.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/dmem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "gpushare/daemon/base/below.h"

#define SCOPE "slurmstepd.scope"
#define FILE_MAX (GS_DMEM_PATH_MAX + 64)

int gs_dmem_region(const char *root, const char *pci, char *region, size_t size,
		   struct gs_error *err)
{
	uint64_t largest = 0, bytes;
	char path[FILE_MAX], line[512], name[GS_DMEM_REGION_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/dmem.capacity", root);
	f = fopen(path, "re");
	if (!f)
		return gs_fail(err, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%127s %" SCNu64, name, &bytes) == 2 && strcasestr(name, pci) &&
		    bytes > largest && strlen(name) < size) {
			largest = bytes;
			strcpy(region, name);
		}
	fclose(f);
	return largest ? 0 : gs_fail(err, "%s has no region of %s", path, pci);
}

/* Reads what follows "0::" in <proc>/<pid>/cgroup. */
static int own_cgroup(const char *proc, pid_t pid, char *cgroup, size_t size)
{
	char path[FILE_MAX], line[GS_DMEM_PATH_MAX];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/cgroup", proc, (int)pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		found = strncmp(line, "0::/", 4) == 0 &&
			(size_t)snprintf(cgroup, size, "%s", line + 3) < size;
	}
	if (f)
		fclose(f);
	return found ? 0 : -1;
}

int gs_dmem_cgroup(const char *proc, pid_t slurmstepd, const char *root, uint32_t job, char *cgroup,
		   size_t size, struct gs_error *err)
{
	char own[GS_DMEM_PATH_MAX], path[FILE_MAX], *scope;
	int n;

	if (own_cgroup(proc, slurmstepd, own, sizeof(own)) < 0)
		return gs_fail(err, "pid %d is in no cgroup of version 2", (int)slurmstepd);
	/* The path contains ".../slurmstepd.scope" or ".../node1_slurmstepd.scope"; the jobs are
	 * below that. */
	scope = strstr(own, SCOPE);
	if (!scope || (scope[strlen(SCOPE)] && scope[strlen(SCOPE)] != '/'))
		return gs_fail(err, "the cgroup %.200s is not Slurm's", own);
	scope[strlen(SCOPE)] = '\0';
	n = snprintf(cgroup, size, "%s/job_%" PRIu32, own, job);
	if (n < 0 || (size_t)n >= size)
		return gs_fail(err, "the cgroup's path is too long");
	snprintf(path, sizeof(path), "%s%s", root, cgroup);
	if (access(path, F_OK) < 0)
		return gs_fail(err, "%.300s: %s", path, strerror(errno));
	return 0;
}

/* Does the file's line contain the word? */
static int has_word(const char *path, const char *word)
{
	char line[512] = "";
	FILE *f = fopen(path, "re");
	char *save = NULL, *at;

	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	for (at = strtok_r(line, " \n", &save); at; at = strtok_r(NULL, " \n", &save))
		if (strcmp(at, word) == 0)
			return 1;
	return 0;
}

/* A cgroup has the controller's files if every cgroup above it enables the controller for its
 * children. */
static int enable(const char *root, const char *cgroup, struct gs_error *err)
{
	char path[FILE_MAX];

	for (const char *end = cgroup; end; end = strchr(end + 1, '/')) {
		snprintf(path, sizeof(path), "%s%.*s/cgroup.subtree_control", root,
			 (int)(end - cgroup), cgroup);
		if (!has_word(path, "dmem") &&
		    gs_write_below(root, path + strlen(root), "+dmem") < 0)
			return gs_fail(err, "%s: %s", path, strerror(errno));
	}
	return 0;
}

int gs_dmem_limit(const char *root, const char *cgroup, const char *region, uint64_t bytes,
		  struct gs_error *err)
{
	char path[FILE_MAX], text[GS_DMEM_REGION_MAX + 32];

	if (bytes != GS_DMEM_NO_LIMIT && enable(root, cgroup, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s%s/dmem.max", root, cgroup);
	if (bytes == GS_DMEM_NO_LIMIT)
		snprintf(text, sizeof(text), "%s max", region);
	else
		snprintf(text, sizeof(text), "%s %" PRIu64, region, bytes);
	if (gs_write_below(root, path + strlen(root), text) < 0 &&
	    !(errno == ENOENT && bytes == GS_DMEM_NO_LIMIT))
		return gs_fail(err, "%s: %s", path, strerror(errno));
	return 0;
}
