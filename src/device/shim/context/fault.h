/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors that end a CUDA context: for example, a kernel wrote to a forbidden address. From then on
 * every call in that context returns the same error. Nothing that was on the GPU will ever report
 * its end, so no thread may wait for it.
 */
#ifndef GPUSHARE_SHIM_FAULT_H
#define GPUSHARE_SHIM_FAULT_H

#include "device/shim/context/context.h"

/* A driver call of the shim in context c returned rc. Returns 1 if that is an error that ends the
 * context; then c->fault has it from now on, and the agent drops the context's launches. */
int shim_fault_seen(struct shim_context *c, CUresult rc);

/* Asks the driver whether the context has failed; c must be current. Never waits. */
void shim_fault_poll(struct shim_context *c);

#endif
