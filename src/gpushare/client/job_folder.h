/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process in a job's mount namespace reads of the job's folder (gpushare/mount/cover.h
 * writes it), for the libraries that have taken a driver library's place.
 */
#ifndef GPUSHARE_CLIENT_JOB_FOLDER_H
#define GPUSHARE_CLIENT_JOB_FOLDER_H

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

/* Where the folder is, by /proc/thread-self/mountinfo; "": there is none. */
void gs_job_folder_find(char folder[PATH_MAX]);

/* Is there a file of that name in it?  0 also where there is no folder. */
int gs_job_folder_has(const char *folder, const char *name);

/* Open it for reading; NULL: there is none. The caller closes it. */
FILE *gs_job_folder_open(const char *folder, const char *name);

/*
 * The same for a file that is the job's user's own, who may have written anything into it: NULL
 * also in a process that is another user's, or has more rights than its caller (AT_SECURE,
 * getauxval(3)).
 */
FILE *gs_job_folder_open_own(const char *folder, const char *name);

/*
 * Where gpushared listens: in a job's mounts the folder says it, whatever the environment does;
 * elsewhere GPUSHARE_SOCKET, or the default.  "" where the folder's file is empty.
 */
void gs_job_folder_socket(const char *folder, char *path, size_t size);

/*
 * The driver's file whose place the library has taken that has this symbol.  0, or -1: there is no
 * folder, or the path is too long.  Whether the file is there has to be seen.
 */
int gs_job_folder_real(const char *folder, const void *symbol, char *path, size_t size);

/* Is this path the very file of the library that has this symbol? */
int gs_job_folder_is_own(const char *path, const void *symbol);

#endif
