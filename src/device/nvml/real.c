/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the driver's NVML below ours, and its functions.
 *
 * GPUSHARE_NVML names it (a site's, or a test's); otherwise the job's folder has it, or the usual
 * places, each by its full path, so that the dynamic linker does not hand ours back; in a container
 * gpushared has it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/nvml/figures.h"
#include "device/nvml/nvml.h"
#include "gpushare/client/job_folder.h"
#include "gpushare/client/secure_env.h"

#define LIBRARY "libnvidia-ml.so.1"

void *nvml_slot[NVML_FN_COUNT];

static const char *const names[NVML_FN_COUNT] = {
#define ENTRY(name, kind) #name,
#include "device/nvml/entries.def"
#undef ENTRY
};

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static void *library;

static void __attribute__((constructor)) obey_no_caller(void)
{
	gs_secure_env();
}

static int no_library(void)
{
	return NVML_ERROR_LIBRARY_NOT_FOUND;
}

static int no_function(void)
{
	return NVML_ERROR_FUNCTION_NOT_FOUND;
}

/* 1: it is an NVML, and not ours: an earlier gpushared sends libcuda.so.1, which stays unused. */
static int open_path(const char *path)
{
	if (access(path, R_OK) < 0 || gs_job_folder_is_own(path, (void *)(uintptr_t)nvml_real))
		return 0;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library && !dlsym(library, "nvmlInit_v2"))
		library = NULL;
	return library != NULL;
}

static int open_in_folder(void)
{
	char folder[PATH_MAX], path[2 * PATH_MAX];

	gs_job_folder_find(folder);
	if (gs_job_folder_real(folder, (void *)(uintptr_t)nvml_real, path, sizeof(path)) < 0)
		return 0;
	if (open_path(path))
		return 1;
	snprintf(path, sizeof(path), "%s/lib/" LIBRARY, folder);
	return open_path(path);
}

static int open_handed_over(void)
{
	char path[32];
	int fd = nvml_figures_request_library(), rc;

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	rc = open_path(path);
	close(fd);
	return rc;
}

static void open_library(void)
{
	static const char *const places[] = {
#define DRIVER_PLACE(folder) folder "/" LIBRARY,
#include "common/driver_places.def"
#undef DRIVER_PLACE
	};
	const char *named = getenv("GPUSHARE_NVML");

	if ((named && *named && open_path(named)) || open_in_folder())
		return;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (open_path(places[i]))
			return;
	open_handed_over();
}

int nvml_is_there(void)
{
	pthread_once(&opened, open_library);
	return library != NULL;
}

void *nvml_real(unsigned int fn)
{
	void *p = __atomic_load_n(&nvml_slot[fn], __ATOMIC_ACQUIRE);

	if (p)
		return p;
	if (!nvml_is_there())
		return (void *)(uintptr_t)no_library;
	p = dlsym(library, names[fn]);
	if (!p)
		p = (void *)(uintptr_t)no_function;
	__atomic_store_n(&nvml_slot[fn], p, __ATOMIC_RELEASE);
	return p;
}
