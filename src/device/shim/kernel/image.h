/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The images that a program loads.  The driver gets them as they are; the shim remembers where
 * they lie, so that a variant of one of their kernels can be made later, and reads them then.
 */
#ifndef GPUSHARE_SHIM_IMAGE_H
#define GPUSHARE_SHIM_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "device/ptx/transform.h"

/* One image. A zeroed struct is none. */
struct shim_image {
	const void *at; /* PTX, a container or machine code; NULL: it is not at hand */
	size_t len;
	void *own;           /* the block that it lies in, if that is ours; or NULL */
	enum ptx_reason why; /* it is not at hand: the reason */
};

/*
 * Remember what is being loaded from memory.  What lies in a file that the dynamic linker has
 * mapped stays there; anything else the program may free, so it is copied, within bounds.
 */
void shim_image_keep(struct shim_image *i, const void *image);
void shim_image_drop(struct shim_image *i);

/* A file's bytes with a NUL behind them. */
struct shim_file {
	char *data; /* NULL: not to be read, or no regular file of a module's length; the driver
		       says what it makes of it */
	size_t len;
};

void shim_file_read(struct shim_file *file, const char *path);
void shim_file_drop(struct shim_file *file);

/* The same as shim_image_keep for what is in a file; takes its bytes over. */
void shim_image_keep_file(struct shim_image *i, struct shim_file *file);

/* The image's bytes, to be read while the program may unmap them; for shim_bytes_drop(). */
struct shim_bytes {
	void *data; /* NULL: they are gone, or there is no memory */
	size_t len;
};

struct shim_bytes shim_image_read(const struct shim_image *i);
void shim_bytes_drop(struct shim_bytes *bytes);

/* The PTX that the driver would compile for a device, or that its machine code was made of. */
struct shim_ptx {
	char *text; /* NUL-terminated */
	size_t len;
	char *options; /* what ptxas is to be told besides, or NULL */
};

/* 0, and *ptx is to be freed by shim_ptx_free(); or -1, and *why says why there is none.  sm: 90
 * for compute capability 9.0. */
int shim_image_ptx(const struct shim_bytes *bytes, uint32_t sm, struct shim_ptx *ptx,
		   enum ptx_reason *why);
void shim_ptx_free(struct shim_ptx *ptx);

/* A number for the image's contents, from a sample of them: the daemon's key to what it has learned
 * of its kernels in earlier jobs.  0: not known. */
uint64_t shim_image_content(const struct shim_image *i);

/* The length of machine code in memory, by its tables; 0: they make no sense. */
uint64_t shim_cubin_length(const void *image);

/* Is all of this memory mapped? */
int shim_image_mapped(const void *data, size_t len);

#endif
