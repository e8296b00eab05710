/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the shim keeps in each CUDA context: the launches' control blocks in
 * device memory, their host images, the page as the GPU sees it, and streams
 * of its own for eviction signals and relaunches.
 */
#ifndef GPUSHARE_SHIM_CONTEXT_H
#define GPUSHARE_SHIM_CONTEXT_H

#include "device/ptx/ctl.h"
#include "device/shim/session.h"
#include "device/shim/shim.h"

struct shim_context {
	CUcontext ctx;
	struct shim_context *next;
	CUdevice device;
	int sms;
	CUdeviceptr ctl;          /* GS_PAGE_STUBS blocks of struct gs_ctl */
	struct gs_ctl *image;     /* page-locked host images of them */
	CUdeviceptr page;         /* struct gs_page */
	CUstream control;         /* eviction signals */
	CUstream relaunch;
	_Atomic int gone;         /* destroyed: never touched again */
};

/*
 * The current context's record, made on first use.  NULL: no context is
 * current, or it cannot be equipped (the reason is logged once): its kernels
 * then go to the driver directly.
 */
struct shim_context *shim_context_current(struct shim_session *s);

/* The program destroys a context (NULL: the device's primary one). */
void shim_context_gone(CUcontext ctx);

#endif
