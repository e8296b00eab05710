/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading <root>/<PCI address>/information; see nvidia.h. */
#define _GNU_SOURCE
#include "common/nvidia.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define NVIDIA_MAJOR 195 /* Linux: Documentation/admin-guide/devices.txt */

/* 1: `information` of that folder has the minor number; its UUID is in *gpu. */
static int matches(const char *root, const char *folder, unsigned wanted, struct gs_nvidia *gpu)
{
	char path[512], line[256];
	unsigned number;
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/information", root, folder);
	f = fopen(path, "re");
	if (!f)
		return 0;
	gpu->uuid[0] = '\0';
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Device Minor: %u", &number) == 1)
			found = number == wanted;
		else
			sscanf(line, "GPU UUID: %63s", gpu->uuid);
	}
	fclose(f);
	/* Until the driver has touched the GPU it shows question marks. */
	if (strchr(gpu->uuid, '?'))
		gpu->uuid[0] = '\0';
	return found;
}

int gs_nvidia_find(const char *root, unsigned minor_no, struct gs_nvidia *gpu)
{
	DIR *dir = opendir(root);
	struct dirent *e;
	int ret = -1;

	if (!dir)
		return -1;
	while (ret < 0 && (e = readdir(dir)))
		if (e->d_name[0] != '.' && strlen(e->d_name) < sizeof(gpu->pci) &&
		    matches(root, e->d_name, minor_no, gpu)) {
			strcpy(gpu->pci, e->d_name);
			ret = 0;
		}
	closedir(dir);
	return ret;
}

int gs_nvidia_of_file(const char *root, const char *path, struct gs_nvidia *gpu)
{
	struct stat st;

	if (!path || stat(path, &st) < 0 || !S_ISCHR(st.st_mode) ||
	    major(st.st_rdev) != NVIDIA_MAJOR)
		return -1;
	return gs_nvidia_find(root, minor(st.st_rdev), gpu);
}
