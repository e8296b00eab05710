/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dlopen and dlsym of the driver; see driver.h. */
#define _GNU_SOURCE
#include "gpushare/bench/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define STRING(x) #x
#define SYMBOL(x) STRING(x)

static int find_all(struct bench_driver *driver, void *handle, struct gs_error *err)
{
	void *symbol;

#define F(name) \
	symbol = dlsym(handle, SYMBOL(name)); \
	if (!symbol) \
		return gs_fail(err, "the driver has no %s", SYMBOL(name)); \
	memcpy(&driver->name, &symbol, sizeof(symbol));
#include "gpushare/bench/driver.def"
#undef F
	return 0;
}

const struct bench_driver *bench_driver_open(const char *path, struct gs_error *err)
{
	static struct bench_driver driver;
	void *handle = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		gs_fail(err, "no driver: %.200s", dlerror());
		return NULL;
	}
	return find_all(&driver, handle, err) < 0 ? NULL : &driver;
}

/* A loaded libcuda.so that does not begin where the first one does. */
struct search {
	uintptr_t first;
	char path[512];
};

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (strncmp(slash ? slash + 1 : info->dlpi_name, "libcuda.so", strlen("libcuda.so")) != 0 ||
	    info->dlpi_addr == s->first)
		return 0;
	snprintf(s->path, sizeof(s->path), "%s", info->dlpi_name);
	return 1;
}

const struct bench_driver *bench_driver_beneath(const struct bench_driver *cu, struct gs_error *err)
{
	static struct bench_driver driver;
	struct search s = { 0 };
	void *entry, *handle;
	Dl_info info;

	memcpy(&entry, &cu->cuLaunchKernel, sizeof(entry));
	if (!dladdr(entry, &info)) {
		gs_fail(err, "nobody knows where the driver was loaded");
		return NULL;
	}
	s.first = (uintptr_t)info.dli_fbase;
	if (!dl_iterate_phdr(look_at, &s))
		return cu;
	handle = dlopen(s.path, RTLD_NOW | RTLD_NOLOAD);
	if (!handle) {
		gs_fail(err, "%.200s", dlerror());
		return NULL;
	}
	return find_all(&driver, handle, err) < 0 ? NULL : &driver;
}

int bench_driver_check(const struct bench_driver *cu, CUresult rc, const char *call,
		       struct gs_error *err)
{
	const char *words = NULL;

	if (rc == CUDA_SUCCESS)
		return 0;
	cu->cuGetErrorString(rc, &words);
	return gs_fail(err, "%s: %.120s (%d)", call, words ? words : "unknown error", (int)rc);
}
