/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cuLink*: transformed going in, remembered coming out; see link.h. */
#define _GNU_SOURCE
#include "device/shim/link.h"

#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/shim/describe.h"
#include "device/shim/image.h"
#include "device/shim/origin.h"
#include "device/shim/session.h"
#include "device/shim/shim.h"
#include "device/shim/wraps.h"

/* So many linked images are remembered; whoever links more has loaded the first ones. */
#define IMAGES_MAX 64

/* A description in the making: that of every PTX added. */
struct link {
	CUlinkState state;
	struct ptx_transformed *t;
	struct link *next;
};

struct image {
	unsigned char *bytes; /* as they came out */
	size_t len;
	unsigned char *description;
	size_t description_len;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct link *links;              /* under lock */
static struct image images[IMAGES_MAX]; /* under lock */
static unsigned int next_image;

/* The kernels of `more` to those of `t`; takes `more` over.  Without memory they are forgotten, and
 * run as they are. */
static void join(struct ptx_transformed *t, struct ptx_transformed *more)
{
	struct ptx_kernel *all =
		realloc(t->kernel, ((size_t)t->nkernel + more->nkernel + 1) * sizeof(*all));

	if (all) {
		memcpy(all + t->nkernel, more->kernel, more->nkernel * sizeof(*all));
		t->kernel = all;
		t->nkernel += more->nkernel;
		more->nkernel = 0;
	}
	ptx_transformed_free(more);
}

static void added(CUlinkState state, struct ptx_transformed *t)
{
	struct link *at, *l = NULL;

	pthread_mutex_lock(&lock);
	for (at = links; at && at->state != state; at = at->next)
		;
	if (at) {
		join(at->t, t);
	} else if ((l = calloc(1, sizeof(*l)))) {
		l->state = state;
		l->t = t;
		l->next = links;
		links = l;
	}
	pthread_mutex_unlock(&lock);
	if (!at && !l)
		ptx_transformed_free(t);
}

/* What was added to it, which is forgotten; the caller's. */
static struct ptx_transformed *taken(CUlinkState state)
{
	struct ptx_transformed *t = NULL;
	struct link **at = &links, *l;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->state != state)
		at = &(*at)->next;
	l = *at;
	if (l) {
		*at = l->next;
		t = l->t;
	}
	pthread_mutex_unlock(&lock);
	free(l);
	return t;
}

static void remember(const void *bytes, size_t len, const struct ptx_transformed *t)
{
	struct image new = { .len = len }, old;

	new.description = shim_describe(t, &new.description_len);
	new.bytes = malloc(len);
	if (!new.bytes || !new.description) {
		free(new.bytes);
		free(new.description);
		return;
	}
	memcpy(new.bytes, bytes, len);
	pthread_mutex_lock(&lock);
	old = images[next_image % IMAGES_MAX];
	images[next_image++ % IMAGES_MAX] = new;
	pthread_mutex_unlock(&lock);
	free(old.bytes);
	free(old.description);
}

/* The header says where the tables are, so what begins alike is as long; the rest is looked at only
 * if it is there. */
static int is_copy(const struct image *i, const void *image)
{
	return i->len >= sizeof(Elf64_Ehdr) && memcmp(i->bytes, image, sizeof(Elf64_Ehdr)) == 0 &&
	       shim_image_mapped(image, i->len) && memcmp(i->bytes, image, i->len) == 0;
}

struct ptx_transformed *shim_link_description(const void *image)
{
	struct ptx_transformed *t = NULL;

	if (!image || strncmp(image, ELFMAG, SELFMAG) != 0)
		return NULL;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < IMAGES_MAX && !t; i++)
		if (images[i].bytes && is_copy(&images[i], image))
			t = shim_undescribe(images[i].description, images[i].description_len);
	pthread_mutex_unlock(&lock);
	return t;
}

/* After an attempt with the transformed text: 1 if the program's own input is to be tried. */
static int refused(struct ptx_transformed **t, CUresult rc)
{
	if (rc == CUDA_SUCCESS || !*t || !(*t)->text)
		return 0;
	shim_log("the driver's linker refuses the transformed PTX (%d): linked as it is", rc);
	ptx_transformed_free(*t);
	*t = NULL;
	return 1;
}

static CUresult finish(CUlinkState state, CUresult rc, struct ptx_transformed *t)
{
	if (!t || rc != CUDA_SUCCESS) {
		ptx_transformed_free(t);
		return rc;
	}
	free(t->text);
	t->text = NULL;
	added(state, t);
	return rc;
}

#define LINK_OPTIONS unsigned int n, CUjit_option *options, void **values
typedef CUresult add_data_fn(CUlinkState state, CUjitInputType type, void *data, size_t size,
			     const char *name, LINK_OPTIONS);
typedef CUresult add_file_fn(CUlinkState state, CUjitInputType type, const char *path,
			     LINK_OPTIONS);

/* What may have PTX inside that a linker compiles. */
static int is_compiled(CUjitInputType type)
{
	return (type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY) && shim_session();
}

static struct ptx_transformed *transformed(const void *data, size_t size)
{
	enum ptx_reason why; /* of several inputs one kernel is made */

	return data ? shim_image_transform_input(data, size, &why) : NULL;
}

static struct ptx_transformed *transformed_file(CUjitInputType type, const char *path,
						const void *caller)
{
	struct ptx_transformed *t;
	struct shim_file file;

	if (!path || !is_compiled(type) || shim_origin(NULL, caller) != PTX_REASON_NONE)
		return NULL;
	shim_file_read(&file, path);
	t = transformed(file.data, file.len);
	shim_file_drop(&file);
	return t;
}

/* Text goes with its NUL. */
static size_t size_of(CUjitInputType type, const struct ptx_transformed *t)
{
	return t->len + (type == CU_JIT_INPUT_PTX);
}

/* By the driver's function of the version that the program has called. */
static CUresult add_data(add_data_fn *driver, const void *caller, CUlinkState state,
			 CUjitInputType type, void *data, size_t size, const char *name,
			 LINK_OPTIONS)
{
	int own = is_compiled(type) && shim_origin(data, caller) == PTX_REASON_NONE;
	struct ptx_transformed *t = own ? transformed(data, size) : NULL;
	CUresult rc;

	shim_barrier_enter(0);
	do
		rc = t && t->text ? driver(state, type, t->text, size_of(type, t), name, n, options,
					   values) :
				    driver(state, type, data, size, name, n, options, values);
	while (refused(&t, rc));
	shim_barrier_leave(0);
	return finish(state, rc, t);
}

static CUresult add_file(add_file_fn *driver, add_data_fn *driver_data, const void *caller,
			 CUlinkState state, CUjitInputType type, const char *path, LINK_OPTIONS)
{
	struct ptx_transformed *t = transformed_file(type, path, caller);
	CUresult rc;

	shim_barrier_enter(0);
	do
		rc = t && t->text ? driver_data(state, type, t->text, size_of(type, t), path, n,
						options, values) :
				    driver(state, type, path, n, options, values);
	while (refused(&t, rc));
	shim_barrier_leave(0);
	return finish(state, rc, t);
}

SHIM_EXPORT CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data,
				      size_t size, const char *name, LINK_OPTIONS)
{
	return add_data(REAL(cuLinkAddData_v2), SHIM_CALLER, state, type, data, size, name, n,
			options, values);
}

SHIM_EXPORT CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
				      LINK_OPTIONS)
{
	return add_file(REAL(cuLinkAddFile_v2), REAL(cuLinkAddData_v2), SHIM_CALLER, state, type,
			path, n, options, values);
}

/* Of programs before CUDA 6.5. */
SHIM_EXPORT CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
				   const char *name, LINK_OPTIONS)
{
	return add_data(REAL(cuLinkAddData), SHIM_CALLER, state, type, data, size, name, n, options,
			values);
}

SHIM_EXPORT CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
				   LINK_OPTIONS)
{
	return add_file(REAL(cuLinkAddFile), REAL(cuLinkAddData), SHIM_CALLER, state, type, path, n,
			options, values);
}

SHIM_EXPORT CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
	struct ptx_transformed *t;
	size_t len = 0;
	CUresult rc;

	shim_barrier_enter(0);
	rc = REAL(cuLinkComplete)(state, cubin, &len);
	shim_barrier_leave(0);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (size)
		*size = len;
	t = taken(state);
	if (t && len)
		remember(*cubin, len, t);
	ptx_transformed_free(t);
	return rc;
}

SHIM_EXPORT CUresult cuLinkDestroy(CUlinkState state)
{
	CUresult rc;

	ptx_transformed_free(taken(state));
	shim_barrier_enter(0);
	rc = REAL(cuLinkDestroy)(state);
	shim_barrier_leave(0);
	return rc;
}

void shim_links_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	links = NULL;
}
