/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NVML that a job's process sees: a library in the place of the driver's libnvidia-ml.so.1
 * that shows a step with shares its part of the GPU, and passes everything else on.
 */
#ifndef GPUSHARE_NVML_NVML_H
#define GPUSHARE_NVML_NVML_H

#include <stddef.h>
#include <stdint.h>

#define NVML_EXPORT __attribute__((visibility("default")))

/* Facts of NVML's interface. */
#define NVML_SUCCESS 0
#define NVML_ERROR_INVALID_ARGUMENT 2
#define NVML_ERROR_INSUFFICIENT_SIZE 7
#define NVML_ERROR_LIBRARY_NOT_FOUND 12
#define NVML_ERROR_FUNCTION_NOT_FOUND 13
#define NVML_ERROR_MEMORY 20
#define NVML_UUID_MAX 96

/* NVML_FN_nvmlInit_v2, ... */
enum nvml_fn {
#define ENTRY(name, kind) NVML_FN_##name,
#include "device/nvml/entries.def"
#undef ENTRY
	NVML_FN_COUNT
};

/* The driver's function.  Never NULL: where there is none, one that says so. */
void *nvml_real(unsigned int fn);

/* Is there a driver's NVML below? */
int nvml_is_there(void);

/* A call of the driver's function `name` as a function of that type. */
#define NVML_REAL(type, name) ((type)(uintptr_t)nvml_real(NVML_FN_##name))

#endif
