/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the shim and the emulated device. */
#define _GNU_SOURCE
#include "config.h"
#include "device/emu/tool/tool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libcuda.so.1"

/*
 * Use this place if both drivers are there. A program that does not use the CUDA runtime does
 * without its library.
 */
static int try_place(struct emu_places *p, const char *base, const char *shim, const char *emu,
		     const char *cudart)
{
	char library[PATH_MAX];

	if ((size_t)snprintf(p->shim_dir, sizeof(p->shim_dir), "%s%s", base, shim) >=
		    sizeof(p->shim_dir) ||
	    (size_t)snprintf(library, sizeof(library), "%s%s/" LIBRARY, base, shim) >=
		    sizeof(library) ||
	    (size_t)snprintf(p->cudart_dir, sizeof(p->cudart_dir), "%s%s", base, cudart) >=
		    sizeof(p->cudart_dir) ||
	    (size_t)snprintf(p->driver, sizeof(p->driver), "%s%s/" LIBRARY, base, emu) >=
		    sizeof(p->driver))
		return 0;
	return access(library, R_OK) == 0 && access(p->driver, R_OK) == 0;
}

int emu_places_find(struct emu_places *p, struct gs_error *err)
{
	char own[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n > 0) {
		own[n] = '\0';
		slash = strrchr(own, '/');
		if (slash)
			*slash = '\0';
		if (try_place(p, own, "/src/device/shim/.libs", "/src/device/emu/.libs",
			      "/src/device/cudart/.libs") ||
		    try_place(p, own, "/../lib/" PACKAGE "/shim", "/../lib/" PACKAGE "/emu",
			      "/../lib/" PACKAGE "/cudart"))
			return 0;
	}
	if (try_place(p, GS_PKGLIBDIR, "/shim", "/emu", "/cudart"))
		return 0;
	return gs_fail(err,
		       "neither beside this program nor in %s are the shim and the emulated device",
		       GS_PKGLIBDIR);
}
