/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dlopen and dlsym of the driver; see driver.h. */
#define _GNU_SOURCE
#include "gpushare/bench/driver.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
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

/* The shim's own, which no driver has. */
#define SHIMS_OWN "gpushare_shim_set_priority"

/* The loaded library at `path` if it has `name` itself, not only what it loads; NULL: it has not.
 */
static void *which_has(const char *path, const char *name)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD), *symbol;
	Dl_info info;

	if (!handle)
		return NULL;
	symbol = dlsym(handle, name);
	if (symbol && dladdr(symbol, &info) && strcmp(info.dli_fname, path) == 0)
		return handle;
	dlclose(handle);
	return NULL;
}

/* One of the loaded objects, in the order in which they were loaded. */
struct nth {
	size_t before; /* it */
	char path[PATH_MAX];
};

static int inspect(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct nth *nth = arg;

	(void)size;
	if (nth->before--)
		return 0;
	snprintf(nth->path, sizeof(nth->path), "%s", info->dlpi_name);
	return 1;
}

static int has(const char *path, const char *name)
{
	void *handle = which_has(path, name);

	if (handle)
		dlclose(handle);
	return handle != NULL;
}

/*
 * Recognise the driver by what it defines, as GPUSHARE_DRIVER may name a file with any name. It
 * must not be another copy of the shim. Take the last such library: one that hooks the driver's
 * functions is loaded before the shim opens the driver.
 */
static void *loaded_beneath(void)
{
	struct nth nth = { 0 };
	void *handle = NULL, *found;

	/* One per walk: within it nothing may be opened. */
	for (size_t i = 0;; i++) {
		nth.before = i;
		if (!dl_iterate_phdr(inspect, &nth))
			return handle;
		if (!nth.path[0] || has(nth.path, SHIMS_OWN))
			continue;
		found = which_has(nth.path, "cuLaunchKernel");
		if (found && handle)
			dlclose(handle);
		if (found)
			handle = found;
	}
}

const struct bench_driver *bench_driver_beneath(const struct bench_driver *cu, struct gs_error *err)
{
	static struct bench_driver driver;
	void *entry, *handle;
	Dl_info info;

	memcpy(&entry, &cu->cuLaunchKernel, sizeof(entry));
	if (!dladdr(entry, &info)) {
		gs_fail(err, "nobody knows where the driver was loaded");
		return NULL;
	}
	if (!has(info.dli_fname, SHIMS_OWN))
		return cu;
	handle = loaded_beneath();
	if (!handle) {
		gs_fail(err,
			"no driver is loaded beneath gpushare's shim, %.150s: nothing to compare it with",
			info.dli_fname);
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
