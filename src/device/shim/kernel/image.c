/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remembering a program's images, and finding the PTX in them; see image.h. */
#define _GNU_SOURCE
#include "device/shim/kernel/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/file_size.h"
#include "device/fatbin/fatbin.h"
#include "device/shim/base/origin.h"
#include "device/shim/base/shim.h"

#define PAGE_BYTES 4096
/* A longer file cannot be a module and is not read. */
#define FILE_MAX ((off_t)1 << 30)
/* Bounds for copies of images that a program may free: of one image, and of all together. */
#define COPY_MAX ((size_t)64 << 20)
#define COPIES_MAX ((size_t)256 << 20)

static _Atomic size_t copied; /* bytes */

/* A container in memory says how long it is, but that may be wrong: is all of it mapped? */
int shim_image_mapped(const void *data, size_t len)
{
	unsigned char present[1024];
	uintptr_t at = (uintptr_t)data & ~(uintptr_t)(PAGE_BYTES - 1);
	uintptr_t end = (uintptr_t)data + len;

	while (at < end) {
		size_t span = sizeof(present) * PAGE_BYTES;

		if (span > end - at)
			span = end - at;
		if (mincore((void *)at, span, present) < 0)
			return 0;
		at += span;
	}
	return 1;
}

/* A cubin in memory extends to the end of its table of sections or segments, or of the last section
 * behind them. */
uint64_t shim_cubin_length(const void *image)
{
	uint64_t table, end, segments;
	Elf64_Ehdr e;
	Elf64_Shdr s;

	memcpy(&e, image, sizeof(e));
	table = (uint64_t)e.e_shnum * sizeof(s);
	if (e.e_shentsize != sizeof(s) || __builtin_add_overflow(e.e_shoff, table, &end) ||
	    !shim_image_mapped(image, end))
		return 0;
	if (__builtin_add_overflow(e.e_phoff, (uint64_t)e.e_phnum * e.e_phentsize, &segments))
		return 0;
	if (e.e_phnum && segments > end)
		end = segments;
	for (uint64_t at = e.e_shoff; at < e.e_shoff + table; at += sizeof(s)) {
		memcpy(&s, (const char *)image + at, sizeof(s));
		if (s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL &&
		    s.sh_size < GS_FATBIN_MEMORY_MAX && s.sh_offset < GS_FATBIN_MEMORY_MAX &&
		    s.sh_offset + s.sh_size > end)
			end = s.sh_offset + s.sh_size;
	}
	return shim_image_mapped(image, end) ? end : 0;
}

/* ---- files ------------------------------------------------------------------------- */

void shim_file_read(struct shim_file *file, const char *path)
{
	char *data = NULL;
	struct stat st;
	size_t len = 0;
	ssize_t n;
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	memset(file, 0, sizeof(*file));
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= FILE_MAX)
		data = malloc((size_t)st.st_size + 1);
	while (data && len < (size_t)st.st_size) {
		n = read(fd, data + len, (size_t)st.st_size - len);
		if (n > 0)
			len += (size_t)n;
		else if (n == 0 || errno != EINTR)
			break;
	}
	close(fd);
	if (!data)
		return;
	data[len] = '\0';
	*file = (struct shim_file) { data, len };
}

void shim_file_drop(struct shim_file *file)
{
	free(file->data);
	memset(file, 0, sizeof(*file));
}

/* ---- remembering ------------------------------------------------------------------- */

static void leave(struct shim_image *i, enum ptx_reason why)
{
	*i = (struct shim_image) { .why = why };
}

/* The image takes over the block if there is room for it; else the block is freed. */
static void keep_own(struct shim_image *i, void *block, size_t len)
{
	size_t sum = atomic_fetch_add(&copied, len) + len;

	if (block && len <= COPY_MAX && sum <= COPIES_MAX) {
		*i = (struct shim_image) { block, len, block, PTX_REASON_NONE };
		return;
	}
	atomic_fetch_sub(&copied, len);
	free(block);
	leave(i, PTX_REASON_LARGE);
}

static void copy(struct shim_image *i, const void *data, size_t len)
{
	char *block = len <= COPY_MAX && atomic_load(&copied) + len <= COPIES_MAX ?
			      malloc(len + 1) :
			      NULL;

	if (block) {
		memcpy(block, data, len);
		block[len] = '\0';
	}
	keep_own(i, block, len);
}

/* Finds where the image is and how long it is; 0: its kind is not known. */
static int locate(const void *image, struct gs_bytes *bytes, enum ptx_reason *why)
{
	int linked = 0;

	*why = PTX_REASON_UNREADABLE;
	switch (gs_image_in_memory(image, bytes, &linked)) {
	case GS_IMAGE_PTX:
	case GS_IMAGE_FATBIN:
	case GS_IMAGE_WRAPPER:
		*why = linked ? PTX_REASON_RELOCATABLE : PTX_REASON_UNREADABLE;
		return !linked;
	case GS_IMAGE_CUBIN:
		*bytes = (struct gs_bytes) { image, shim_cubin_length(image) };
		return bytes->len != 0;
	default:
		return 0;
	}
}

void shim_image_keep(struct shim_image *i, const void *image)
{
	struct gs_bytes bytes = { NULL, 0 };
	enum ptx_reason why;

	if (!locate(image, &bytes, &why))
		leave(i, why);
	else if (shim_is_in_object(bytes.data))
		*i = (struct shim_image) { .at = bytes.data, .len = bytes.len };
	else if (shim_image_mapped(bytes.data, bytes.len))
		copy(i, bytes.data, bytes.len);
	else
		leave(i, PTX_REASON_UNREADABLE);
}

void shim_image_keep_file(struct shim_image *i, struct shim_file *file)
{
	if (file->data)
		keep_own(i, file->data, file->len);
	else
		leave(i, PTX_REASON_UNREADABLE);
	*file = (struct shim_file) { NULL, 0 };
}

void shim_image_drop(struct shim_image *i)
{
	if (i->own) {
		atomic_fetch_sub(&copied, i->len);
		free(i->own);
	}
	leave(i, PTX_REASON_UNSEEN);
}

/*
 * Hashes only a sample, so that no call waits for a large file to be read; a collision only makes a
 * prediction worse. The bytes go through a pipe, since reading them directly would crash if the
 * program has unmapped the file. The thread may have closed the driver-call barrier, so it must not
 * be cancelled here.
 */
#define SAMPLES 32
#define SAMPLE_BYTES 64

uint64_t shim_image_content(const struct shim_image *i)
{
	char sample[SAMPLES * SAMPLE_BYTES + sizeof(i->len)];
	struct iovec part[SAMPLES + 1];
	size_t bytes = i->len < SAMPLE_BYTES ? i->len : SAMPLE_BYTES;
	ssize_t n = -1;
	int fd[2], cancels;

	if (!i->at || !i->len || pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
		return 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	for (size_t p = 0; p < SAMPLES; p++)
		part[p] = (struct iovec) {
			(char *)(uintptr_t)i->at + (i->len - bytes) / (SAMPLES - 1) * p, bytes
		};
	part[SAMPLES] = (struct iovec) { (void *)(uintptr_t)&i->len, sizeof(i->len) };
	if (writev(fd[1], part, SAMPLES + 1) == (ssize_t)(SAMPLES * bytes + sizeof(i->len)))
		n = read(fd[0], sample, sizeof(sample));
	close(fd[0]);
	close(fd[1]);
	pthread_setcancelstate(cancels, NULL);
	return n > 0 ? ptx_content(sample, (size_t)n) : 0;
}

/* ---- reading ----------------------------------------------------------------------- */

/* Copies through a file in memory: writing from memory that is not mapped any more returns an
 * error, where reading it would end the program. */
struct shim_bytes shim_image_read(const struct shim_image *i)
{
	struct shim_bytes bytes = { NULL, 0 };
	int fd = i->at && gs_file_may_have(i->len + PAGE_BYTES) ?
			 memfd_create("gpushare-image", MFD_CLOEXEC) :
			 -1;
	size_t done = 0;
	ssize_t n = 1;
	int cancels;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	while (fd >= 0 && done < i->len && n > 0) {
		n = write(fd, (const char *)i->at + done, i->len - done);
		if (n > 0)
			done += (size_t)n;
		else if (errno == EINTR)
			n = 1;
	}
	/* The page behind the image reads as zeros, so a text ends there. */
	if (fd >= 0 && done == i->len && ftruncate(fd, (off_t)i->len + PAGE_BYTES) == 0)
		bytes.data = mmap(NULL, i->len + PAGE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	pthread_setcancelstate(cancels, NULL);
	if (bytes.data == MAP_FAILED)
		bytes.data = NULL;
	bytes.len = bytes.data ? i->len : 0;
	return bytes;
}

void shim_bytes_drop(struct shim_bytes *bytes)
{
	if (bytes->data)
		munmap(bytes->data, bytes->len + PAGE_BYTES);
	*bytes = (struct shim_bytes) { NULL, 0 };
}

/* Has the container an entry of this kind? 1, 0, or -1: it is corrupt. */
static int has(const struct gs_fatbin *fb, enum gs_entry_kind kind, struct gs_error *err)
{
	struct gs_fatbin_entry e;
	size_t at = 0;
	int rc;

	while ((rc = gs_fatbin_next(fb, &at, &e, err)) > 0)
		if (e.kind == kind)
			return 1;
	return rc;
}

/* Why no variant can be made from a container's PTX; NONE: one can. */
static enum ptx_reason left_alone(const struct gs_fatbin *fb, const struct gs_fatbin_choice *c,
				  struct gs_error *err)
{
	if (!c->has_ptx)
		return has(fb, GS_ENTRY_PTX, err) ? PTX_REASON_OTHER_PTX : PTX_REASON_MACHINE_CODE;
	if (c->relocatable)
		return PTX_REASON_RELOCATABLE;
	return gs_fatbin_ptx_stands_in(c) ? PTX_REASON_NONE : PTX_REASON_OLDER_PTX;
}

static enum ptx_reason fatbin_ptx(const struct shim_bytes *bytes, uint32_t sm, struct shim_ptx *ptx)
{
	struct gs_error err = { "" };
	struct gs_fatbin_choice c = { 0 };
	struct gs_fatbin fb;
	enum ptx_reason why;

	if (gs_fatbin_open(bytes->data, bytes->len, &fb, &err) < 0 ||
	    gs_fatbin_choose(&fb, sm, &c, &err) < 0)
		return PTX_REASON_UNREADABLE;
	why = left_alone(&fb, &c, &err);
	if (why != PTX_REASON_NONE)
		return why;
	if (gs_fatbin_best_ptx(&fb, sm, &ptx->text, &ptx->len, &err) <= 0)
		return PTX_REASON_UNREADABLE;
	if (c.ptx.options.len)
		ptx->options = strndup((const char *)c.ptx.options.data, c.ptx.options.len);
	return PTX_REASON_NONE;
}

int shim_image_ptx(const struct shim_bytes *bytes, uint32_t sm, struct shim_ptx *ptx,
		   enum ptx_reason *why)
{
	*ptx = (struct shim_ptx) { NULL, 0, NULL };
	*why = PTX_REASON_UNREADABLE;
	if (!bytes->data)
		return -1;
	switch (gs_image_kind(bytes->data, bytes->len)) {
	case GS_IMAGE_PTX:
		ptx->len = strnlen(bytes->data, bytes->len);
		ptx->text = strndup(bytes->data, ptx->len);
		*why = PTX_REASON_NONE;
		break;
	case GS_IMAGE_FATBIN:
		*why = fatbin_ptx(bytes, sm, ptx);
		break;
	case GS_IMAGE_CUBIN:
		*why = PTX_REASON_MACHINE_CODE;
		break;
	default:
		break;
	}
	if (*why == PTX_REASON_NONE && ptx->text)
		return 0;
	shim_ptx_free(ptx);
	return -1;
}

void shim_ptx_free(struct shim_ptx *ptx)
{
	free(ptx->text);
	free(ptx->options);
	*ptx = (struct shim_ptx) { NULL, 0, NULL };
}
