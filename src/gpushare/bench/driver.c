/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dlopen and dlsym of the driver; see driver.h. */
#define _GNU_SOURCE
#include "gpushare/bench/driver.h"

#include <dlfcn.h>
#include <string.h>

#define STRING(x) #x
#define SYMBOL(x) STRING(x)

const struct bench_driver *bench_driver_open(const char *path, struct gs_error *err)
{
	static struct bench_driver driver;
	void *symbol, *handle = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		gs_fail(err, "no driver: %.200s", dlerror());
		return NULL;
	}
#define F(name) \
	symbol = dlsym(handle, SYMBOL(name)); \
	if (!symbol) { \
		gs_fail(err, "the driver has no %s", SYMBOL(name)); \
		return NULL; \
	} \
	memcpy(&driver.name, &symbol, sizeof(symbol));
#include "gpushare/bench/driver.def"
#undef F
	return &driver;
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
