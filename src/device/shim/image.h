/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The images that a program loads, made preemptible where that can be done
 * without changing what it computes: PTX text, fatbins with PTX for the
 * device, and the wrapper that cudart passes on.  Everything else stays as
 * it is.
 */
#ifndef GPUSHARE_SHIM_IMAGE_H
#define GPUSHARE_SHIM_IMAGE_H

#include <stddef.h>

#include "device/ptx/transform.h"

/*
 * library: for all devices of the process, not only the current context's.
 * NULL: load the image as it is, nothing is known of its kernels but why they
 * have no variants, in *why.  Otherwise
 * ->text is what to load instead (PTX or a fatbin, alive as long as the
 * description), or NULL: load the image as it is, but the description tells
 * why its kernels are not preemptible.
 */
struct ptx_transformed *shim_image_transform(const void *image, int library, enum ptx_reason *why);

/* A file's bytes with a NUL behind them. */
struct shim_file {
	char *data; /* NULL: not to be read, or no regular file of a module's length; the driver
		       says what it makes of it */
	size_t len;
};

void shim_file_read(struct shim_file *file, const char *path);
void shim_file_drop(struct shim_file *file);

/* The same for what is in a file. */
struct ptx_transformed *shim_image_transform_read(const struct shim_file *file, int library,
						  enum ptx_reason *why);

/* The same for PTX alone, of this length. */
struct ptx_transformed *shim_image_transform_text(const char *text, size_t len,
						  enum ptx_reason *why);

/* The same for what goes to the driver's linker, PTX or a container of this length. */
struct ptx_transformed *shim_image_transform_input(const void *data, size_t len,
						   enum ptx_reason *why);

/* Is all of this memory mapped? */
int shim_image_mapped(const void *data, size_t len);

#endif
