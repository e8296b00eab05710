/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of kernels' records (kernels.h), and which of them are used again.
 *
 * Launches walk a bucket without a lock, so a record stays in its bucket for ever: when what it
 * stands for is gone, it may become the record of another kernel whose handle is of the same
 * bucket. It does so only when nobody looks at it: no launch is out that has it, no variant of it
 * is being made, and nobody reads names (shim_kernels_keep). A thread that launches a kernel while
 * another one unloads it may still see the record change; the driver would not forgive that either.
 */
#ifndef GPUSHARE_SHIM_RECORDS_H
#define GPUSHARE_SHIM_RECORDS_H

#include "device/shim/kernel/kernels.h"

/* What a record is to stand for. */
struct shim_identity {
	const void *handle;
	const void *library; /* the fields of struct shim_kernel */
	CUcontext ctx;
};

/* A kernel of that name; its reason is UNSEEN. shim_record_add() takes it over. NULL: no memory. */
struct shim_code *shim_code_new(const char *name);
/* Notes the kernel's module, and what is known of it. m NULL: it is not known. */
void shim_code_belongs(struct shim_code *code, struct shim_module *m);

/* Is there a record of such a kernel, of that name and module? */
int shim_record_is_known(const struct shim_identity *is, const struct shim_module *m,
			 const char *name);
/*
 * The record of such a kernel. If another thread has made one meanwhile, that one. code NULL: does
 * nothing. NULL: no memory.
 */
struct shim_kernel *shim_record_add(const struct shim_identity *is, struct shim_code *code);
/* The same for a handle to a kernel that has others already. */
struct shim_kernel *shim_record_alias(const struct shim_identity *is, struct shim_code *code);

/*
 * The record of a kernel of that name whose module has been unloaded and loaded again (modules.h),
 * which has no handle. What is known of the kernel's time still holds. m NULL: of a graph or of a
 * function that may never have gone, with the same handle. NULL: there is none, or another record
 * has the handle.
 */
struct shim_kernel *shim_record_again(const struct shim_module *m, const void *handle,
				      const char *name);

/* What has the handle is about to go, and then the handle may be reused. */
void shim_record_forget(struct shim_kernel *k);

void shim_records_forked(void);

#endif
