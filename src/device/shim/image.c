/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the PTX in what a program loads, and putting the transformed text in
 * its place; see image.h.  No lock of ours, and no driver call that waits.
 */
#define _GNU_SOURCE
#include "device/shim/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/fatbin/fatbin.h"
#include "device/shim/cache.h"
#include "device/shim/origin.h"
#include "device/shim/shim.h"
#include "device/shim/wraps.h"

#define PAGE_BYTES 4096
/* The variants that the launch path knows. */
#define TRANSFORMS \
	(PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT) | PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED))
/* No file is read that is longer: it would not be a module. */
#define FILE_MAX ((off_t)1 << 30)

/* 90 for a device of compute capability 9.0; 0: the driver does not say. */
static uint32_t capability(CUdevice device)
{
	int major = 0, minor = 0;

	if (REAL(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
				       device) != CUDA_SUCCESS ||
	    REAL(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
				       device) != CUDA_SUCCESS ||
	    major <= 0 || minor < 0)
		return 0;
	return (uint32_t)(major * 10 + minor);
}

/*
 * What the PTX has to fit.  A module belongs to the current context; a library
 * may be used on any device, so PTX is chosen for it only if all are alike.
 */
static uint32_t target(int library)
{
	CUdevice device = 0;
	uint32_t sm;
	int count = 0;

	if (!library)
		return REAL(cuCtxGetDevice)(&device) == CUDA_SUCCESS ? capability(device) : 0;
	if (REAL(cuDeviceGetCount)(&count) != CUDA_SUCCESS || count < 1)
		return 0;
	sm = capability(0);
	for (device = 1; device < count; device++)
		if (capability(device) != sm)
			return 0;
	return sm;
}

/* A container in memory has only its own word for its length: is all of that mapped? */
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

static void *leave(enum ptx_reason reason, const char *words, enum ptx_reason *why)
{
	shim_log("module left as it is: %s", words);
	*why = reason;
	return NULL;
}

/*
 * The form that the launch path knows.  Nothing preemptible in it, or all of its variants there
 * already (gpushare-nvcc): the program's own image will do, machine code included; only the
 * description is kept. What is large goes without its variants, unless it has brought them.
 */
struct ptx_transformed *shim_image_transform_text(const char *text, size_t len,
						  enum ptx_reason *why)
{
	int large = !shim_emulated() && shim_is_large(text, len);
	struct gs_error err = { "" };
	struct ptx_transformed *t;
	uint32_t i = 0;

	if (large && !memmem(text, len, PTX_PERSISTENT_SUFFIX, strlen(PTX_PERSISTENT_SUFFIX)) &&
	    !memmem(text, len, PTX_GUARDED_SUFFIX, strlen(PTX_GUARDED_SUFFIX)))
		return leave(PTX_REASON_LARGE, ptx_reason_words(PTX_REASON_LARGE), why);
	t = shim_cache_get(text, len, TRANSFORMS);
	if (!t) {
		t = ptx_transform_only(text, len, TRANSFORMS, 0, &err);
		if (!t) {
			shim_log("PTX left as it is: %s", err.text);
			*why = PTX_REASON_UNREADABLE;
			return NULL;
		}
		shim_cache_put(text, len, TRANSFORMS, t);
	}
	while (i < t->nkernel && t->kernel[i].transform == PTX_TRANSFORM_AS_IS)
		i++;
	if (i == t->nkernel || (t->len == len && memcmp(t->text, text, len) == 0)) {
		free(t->text);
		t->text = NULL;
		t->len = 0;
	}
	if (large && t->text) {
		ptx_transformed_free(t);
		return leave(PTX_REASON_LARGE, ptx_reason_words(PTX_REASON_LARGE), why);
	}
	return t;
}

/* Into a container like the one that the text came from: it keeps the ptxas options. */
static struct ptx_transformed *wrap(struct ptx_transformed *t, const struct gs_fatbin_entry *e)
{
	struct gs_error err = { "" };
	size_t size;
	void *image;

	if (!t || !t->text)
		return t;
	image = gs_fatbin_wrap(e, t->text, t->len, &size, &err);
	if (!image) {
		shim_log("fatbin left as it is: %s", err.text);
		ptx_transformed_free(t);
		return NULL;
	}
	free(t->text);
	t->text = image;
	t->len = size;
	return t;
}

/* What the image is for. */
enum use { FOR_MODULE, FOR_LIBRARY, FOR_LINKER };

/* 1, 0, or -1: corrupt. */
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

/*
 * Why a container stays as it is; NONE: it does not.  The linker gets relocatable PTX as
 * it gets text; but machine code that is there to be linked is left: that PTX
 * does not link in its place would come out only when nothing can be undone.
 */
static enum ptx_reason left_alone(const struct gs_fatbin *fb, const struct gs_fatbin_choice *c,
				  uint32_t sm, enum use use, struct gs_error *err)
{
	if (!sm)
		return PTX_REASON_DEVICES;
	if (!c->has_ptx)
		return has(fb, GS_ENTRY_PTX, err) ? PTX_REASON_OTHER_PTX : PTX_REASON_MACHINE_CODE;
	if (c->relocatable &&
	    (use != FOR_LINKER || c->has_machine || has(fb, GS_ENTRY_LTO, err) != 0))
		return PTX_REASON_RELOCATABLE;
	if (!gs_fatbin_ptx_stands_in(c))
		return PTX_REASON_OLDER_PTX;
	return PTX_REASON_NONE;
}

static struct ptx_transformed *transform_fatbin(struct gs_bytes image, enum use use,
						enum ptx_reason *why)
{
	struct gs_error err = { "" };
	struct gs_fatbin_choice c = { 0 };
	struct ptx_transformed *t;
	struct gs_fatbin fb;
	uint32_t sm = target(use == FOR_LIBRARY);
	enum ptx_reason reason;
	char *text;
	size_t len;

	if (gs_fatbin_open(image.data, image.len, &fb, &err) < 0 ||
	    (sm && gs_fatbin_choose(&fb, sm, &c, &err) < 0))
		return leave(PTX_REASON_UNREADABLE, err.text, why);
	reason = left_alone(&fb, &c, sm, use, &err);
	if (reason != PTX_REASON_NONE)
		return leave(reason, ptx_reason_words(reason), why);
	if (gs_fatbin_best_ptx(&fb, sm, &text, &len, &err) <= 0)
		return leave(PTX_REASON_UNREADABLE, err.text, why);
	t = shim_image_transform_text(text, len, why);
	free(text);
	if (t)
		*why = PTX_REASON_UNREADABLE; /* if it cannot be wrapped */
	return wrap(t, &c.ptx);
}

struct ptx_transformed *shim_image_transform(const void *image, int library, enum ptx_reason *why)
{
	struct gs_bytes bytes;
	int linked;

	*why = PTX_REASON_UNREADABLE;
	switch (gs_image_in_memory(image, &bytes, &linked)) {
	case GS_IMAGE_PTX:
		return shim_image_transform_text((const char *)bytes.data, bytes.len, why);
	case GS_IMAGE_FATBIN:
	case GS_IMAGE_WRAPPER:
		if (linked)
			return leave(PTX_REASON_RELOCATABLE,
				     ptx_reason_words(PTX_REASON_RELOCATABLE), why);
		if (!shim_image_mapped(bytes.data, bytes.len))
			return leave(PTX_REASON_UNREADABLE, "its length is wrong", why);
		return transform_fatbin(bytes, library ? FOR_LIBRARY : FOR_MODULE, why);
	case GS_IMAGE_CUBIN:
		*why = PTX_REASON_MACHINE_CODE;
		return NULL;
	default:
		return NULL;
	}
}

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

static struct ptx_transformed *transform_bytes(const char *data, size_t len, enum use use,
					       enum ptx_reason *why)
{
	struct gs_bytes bytes = { (const uint8_t *)data, len };

	*why = PTX_REASON_UNREADABLE;
	if (!data)
		return NULL;
	switch (gs_image_kind(data, len)) {
	case GS_IMAGE_PTX:
		return shim_image_transform_text(data, strnlen(data, len), why);
	case GS_IMAGE_FATBIN:
		return transform_fatbin(bytes, use, why);
	case GS_IMAGE_CUBIN:
		*why = PTX_REASON_MACHINE_CODE;
		return NULL;
	default:
		return NULL;
	}
}

struct ptx_transformed *shim_image_transform_read(const struct shim_file *file, int library,
						  enum ptx_reason *why)
{
	return transform_bytes(file->data, file->len, library ? FOR_LIBRARY : FOR_MODULE, why);
}

struct ptx_transformed *shim_image_transform_input(const void *data, size_t len,
						   enum ptx_reason *why)
{
	return transform_bytes(data, len, FOR_LINKER, why);
}
