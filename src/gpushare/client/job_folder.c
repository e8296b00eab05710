/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the job's folder; see job_folder.h. */
#define _GNU_SOURCE
#include "gpushare/client/job_folder.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_SOCKET "/run/gpushare/gpushared.sock"
/* What is mounted as the job's folder is called so (gpushare/mount/cover.h). */
#define FOLDER_SOURCE " - tmpfs gpushare "

/* mountinfo writes blanks as \040, and such. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++, to++) {
		unsigned code;

		if (text[0] == '\\' && sscanf(text + 1, "%3o", &code) == 1) {
			*to = (char)code;
			text += 3;
		} else {
			*to = *text;
		}
	}
	*to = '\0';
}

/* The last one counts: it may lie over an earlier one. */
void gs_job_folder_find(char folder[PATH_MAX])
{
	FILE *f = fopen("/proc/thread-self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;

	folder[0] = '\0';
	while (f && getline(&line, &size, f) > 0)
		if (strstr(line, FOLDER_SOURCE) &&
		    sscanf(line, "%*d %*d %*s %*s %4095s", folder) == 1)
			unescape(folder);
	free(line);
	if (f)
		fclose(f);
}

int gs_job_folder_has(const char *folder, const char *name)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return *folder && access(path, F_OK) == 0;
}

FILE *gs_job_folder_open(const char *folder, const char *name)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return *folder ? fopen(path, "re") : NULL;
}

FILE *gs_job_folder_open_own(const char *folder, const char *name)
{
	FILE *f = getauxval(AT_SECURE) ? NULL : gs_job_folder_open(folder, name);
	struct stat st;

	if (f && (fstat(fileno(f), &st) < 0 || st.st_uid != geteuid())) {
		fclose(f);
		return NULL;
	}
	return f;
}

void gs_job_folder_socket(const char *folder, char *path, size_t size)
{
	const char *named = getenv("GPUSHARE_SOCKET");
	FILE *f = gs_job_folder_open(folder, "socket");

	snprintf(path, size, "%s", named && *named ? named : DEFAULT_SOCKET);
	if (f && !fgets(path, (int)size, f))
		path[0] = '\0';
	if (f)
		fclose(f);
}

int gs_job_folder_real(const char *folder, const void *symbol, char *path, size_t size)
{
	char file[PATH_MAX];
	Dl_info info;

	if (!*folder)
		return -1;
	/* The file that the library was loaded as: it may be one of several. */
	if (!dladdr(symbol, &info) || !info.dli_fname || !realpath(info.dli_fname, file))
		file[0] = '\0';
	return (size_t)snprintf(path, size, "%s/real%s", folder, file) < size ? 0 : -1;
}

int gs_job_folder_is_own(const char *path, const void *symbol)
{
	struct stat a, b;
	Dl_info info;

	return dladdr(symbol, &info) && info.dli_fname && stat(info.dli_fname, &a) == 0 &&
	       stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}
