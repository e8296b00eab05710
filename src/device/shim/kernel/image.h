/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The images that a program loads. The driver gets them unchanged. The shim remembers where they
 * are, and reads them later if it makes a variant of one of their kernels. */
#ifndef GPUSHARE_SHIM_IMAGE_H
#define GPUSHARE_SHIM_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "device/ptx/transform.h"

/* One image. A zeroed struct stands for none. */
struct shim_image {
	const void *at; /* PTX, a container or machine code; NULL: it is not available */
	size_t len;
	void *own;           /* the block that contains it, if that is the shim's own; or NULL */
	enum ptx_reason why; /* if it is not available: why */
};

/*
 * Remembers an image that is being loaded from memory. An image in a file that the dynamic linker
 * has mapped stays where it is. Any other image is copied, within bounds, since the program may
 * free it. shim_image_drop() frees the copy.
 */
void shim_image_keep(struct shim_image *i, const void *image);
void shim_image_drop(struct shim_image *i);

/* A file's bytes, with a NUL behind them. */
struct shim_file {
	/* NULL: the file cannot be read, is not a regular file, or is too long; the driver reports
	 * the error */
	char *data;
	size_t len;
};

/* Reads a file; path NULL is fine. shim_file_drop() frees the bytes. */
void shim_file_read(struct shim_file *file, const char *path);
void shim_file_drop(struct shim_file *file);

/* As shim_image_keep(), for an image in a file; takes over file->data. */
void shim_image_keep_file(struct shim_image *i, struct shim_file *file);

/* A copy of the image's bytes, which stays valid if the program unmaps the image; to be freed by
 * shim_bytes_drop(). */
struct shim_bytes {
	void *data; /* NULL: the image is gone, or there is no memory */
	size_t len;
};

/* Copies the image, if it is still there; shim_bytes_drop() frees the copy. */
struct shim_bytes shim_image_read(const struct shim_image *i);
void shim_bytes_drop(struct shim_bytes *bytes);

/* The PTX that the driver would compile for a device, or from which its machine code was made. */
struct shim_ptx {
	char *text; /* NUL-terminated */
	size_t len;
	char *options; /* further options for ptxas, or NULL */
};

/* Finds the PTX for compute capability sm (90 for 9.0). Returns 0, and the caller frees *ptx by
 * shim_ptx_free(); or -1, and *why says why there is none. */
int shim_image_ptx(const struct shim_bytes *bytes, uint32_t sm, struct shim_ptx *ptx,
		   enum ptx_reason *why);
void shim_ptx_free(struct shim_ptx *ptx);

/* A hash of a sample of the image's contents, by which the daemon finds what it learned about its
 * kernels in earlier jobs. 0: not known. */
uint64_t shim_image_content(const struct shim_image *i);

/* The length of machine code in memory, bytes, from its ELF tables; 0: they are not valid. */
uint64_t shim_cubin_length(const void *image);

/* Is all of this memory mapped? */
int shim_image_mapped(const void *data, size_t len);

#endif
