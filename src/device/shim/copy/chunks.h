/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies while another client's copies want the same engine: large ones go out in chunks, with the
 * copy barrier (context/copy_barrier.h) before each, so that a more urgent copy waits for a chunk
 * and not for all of it (GPES, section III).
 *
 * An asynchronous copy of pinned memory is enqueued as a whole, chunk and wait in turn: the GPU
 * waits, and no thread of ours is in the way.  All others are copied chunk by chunk by the
 * caller's thread, which waits in between.  Either way what the program enqueues behind it, and
 * what it records and waits for, sees all of the copy or none; only what another thread enqueues
 * into the same stream meanwhile may come between two chunks.
 */
#ifndef GPUSHARE_SHIM_COPY_CHUNKS_H
#define GPUSHARE_SHIM_COPY_CHUNKS_H

#include "device/shim/copy/count.h"

/* Bytes at an end of the copy that the driver can be asked about; bytes 0: nothing can. */
struct shim_copy_end {
	CUdeviceptr at;
	size_t bytes;
};

struct shim_copy {
	/* The driver's call for `n` units from unit `from` on. */
	CUresult (*part)(const struct shim_copy *c, size_t from, size_t n);
	CUdeviceptr dst, src; /* part's own, if it is in one dimension... */
	const void *box;      /* ...and if it is in more */
	CUstream stream;
	uint8_t waits;  /* the call is over when the copy is */
	uint8_t legacy; /* what a call of it waits for (entries.def) */
	enum gs_copy_direction way;
	/* It may be cut between units, of so many bytes: bytes, rows or layers.  group: a chunk
	 * does not go beyond the end of so many units; 0: it may. */
	size_t units, unit_bytes, group;
	struct shim_copy_end host, device; /* of a plane or a box */
};

/* Make the copy, in chunks if that is right now, and count it. */
CUresult shim_copy_make(struct shim_copy *c);

/* Fill in what there is to know of a copy in two or three dimensions: all but part, stream, waits
 * and legacy. */
void shim_copy_plane(struct shim_copy *c, const CUDA_MEMCPY2D *plane);
void shim_copy_box(struct shim_copy *c, const CUDA_MEMCPY3D *box);
/* For their part(): n units from unit `from` on. */
CUDA_MEMCPY2D shim_copy_rows(const struct shim_copy *c, size_t from, size_t n);
CUDA_MEMCPY3D shim_copy_layers(const struct shim_copy *c, size_t from, size_t n);

#endif
