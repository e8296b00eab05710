/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the shim is: in which step, and where the driver below it lies, also for a program that
 * has lost its environment, or is in a container.
 *
 * In a job's mount namespace the job's folder tells (gpushare/mount/cover.h writes it); elsewhere
 * gpushared is asked, by its socket's path or by the abstract address of the same name.
 */
#ifndef GPUSHARE_SHIM_PLACE_H
#define GPUSHARE_SHIM_PLACE_H

#include <stddef.h>

#include "common/error.h"

/*
 * Once, before the environment is looked at: what the environment of the step's processes has, it
 * has afterwards here, too, unless the process is in no step with shares.
 */
void shim_place_find(void);

/* The n-th file that may be the driver, from 0 on, those of the job's folder; 0, or -1: no more. */
int shim_place_driver(size_t n, char *path, size_t size);

/* The driver by way of gpushared: a descriptor, which the caller closes; or -1 with the reason. */
int shim_place_request_driver(struct gs_error *err);

#endif
