/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds out in which step the process is, and where the driver is, also for a program that has lost
 * its environment or runs in a container. In a job's mount namespace the job's folder tells
 * (gpushare/mount/cover.h writes it). Otherwise gpushared is asked, through its socket's path or
 * the abstract address of the same name.
 */
#ifndef GPUSHARE_SHIM_PLACE_H
#define GPUSHARE_SHIM_PLACE_H

#include <stddef.h>

#include "common/error.h"

/* Call once before the environment is read: sets the environment variables that the step's
 * processes have, unless the process is in no step with shares. */
void shim_place_find(void);

/* The n-th file, from 0 on, that may be the driver, as the job's folder lists them. Returns 0, or
 * -1: there are no more. */
int shim_place_driver(size_t n, char *path, size_t size);

/* Asks gpushared for the driver: returns a descriptor, which the caller closes; or -1 with the
 * reason. */
int shim_place_request_driver(struct gs_error *err);

#endif
