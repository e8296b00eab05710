/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A shared library with a module, which loads others as well; for modules.c. */
#include <cuda.h>

#include "modules.h"

#define VISIBLE __attribute__((visibility("default")))

extern VISIBLE const char *const library_text;
extern VISIBLE int library_loads;
VISIBLE CUresult library_load(CUmodule *module, const void *image);

const char *const library_text = ptx;
int library_loads;

/* Its own frame is the caller's: it does not end in the call. */
CUresult library_load(CUmodule *module, const void *image)
{
	CUresult rc = cuModuleLoadData(module, image);

	library_loads++;
	return rc;
}
