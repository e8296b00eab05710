/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's modules; see modules.h. */
#define _GNU_SOURCE
#include "device/shim/kernel/modules.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "common/hash.h"
#include "device/shim/context/context.h"

/* A thread that uses a module for longer is inside a driver call that does not return. */
#define USED_NS (5 * GS_NS_PER_S)
/* A longer image takes too long to be hashed at each load and unload. */
#define COMPARED_BYTES ((size_t)256 << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_module *modules; /* under lock */
/* under lock: unloaded ones, which kernels' records point to */
static struct shim_module *unloaded;

/* 0: it is too long, or cannot be read. */
static uint64_t hash_of(const struct shim_image *image)
{
	struct shim_bytes bytes;
	uint64_t hash;

	if (!image->at || image->len > COMPARED_BYTES)
		return 0;
	bytes = shim_image_read(image);
	hash = bytes.data ? gs_hash(GS_HASH_EMPTY, bytes.data, bytes.len) : 0;
	shim_bytes_drop(&bytes);
	return hash;
}

/* Under lock: the place of the first unloaded module of that length and hash (0: any hash) whose
 * record may be used again, and that no thread still uses; or where the list ends. */
static struct shim_module **unloaded_like(size_t len, uint64_t hash)
{
	struct shim_module **at = &unloaded;

	while (*at && !((*at)->hash && (*at)->len == len && (!hash || (*at)->hash == hash) &&
			!atomic_load(&(*at)->users)))
		at = &(*at)->next;
	return at;
}

/*
 * Takes the record of an unloaded module with the same image off its list. NULL: there is none. The
 * images are the same if their lengths and hashes are: were they not, the kernels' times, which are
 * predictions, would be the other image's, and nothing else.
 */
static struct shim_module *take_unloaded(const struct shim_image *image)
{
	struct shim_module **at, *m;
	uint64_t hash = 0;

	pthread_mutex_lock(&lock);
	m = *unloaded_like(image->len, 0);
	pthread_mutex_unlock(&lock);
	if (m)
		hash = hash_of(image);
	if (!hash)
		return NULL;
	pthread_mutex_lock(&lock);
	at = unloaded_like(image->len, hash);
	m = *at;
	if (m)
		*at = m->next;
	pthread_mutex_unlock(&lock);
	return m;
}

void shim_module_add(const void *handle, int library, int loaded, const struct shim_image *image)
{
	struct shim_module *m = library ? NULL : take_unloaded(image);
	struct shim_image dropped = *image;

	if (!m)
		m = calloc(1, sizeof(*m));
	if (!m) {
		shim_image_drop(&dropped);
		return;
	}
	m->handle = handle;
	m->library = library;
	m->ctx = library ? NULL : shim_context_handle();
	m->ending = 0;
	m->loaded = loaded;
	m->whole = 0;
	m->image = *image;
	pthread_mutex_lock(&lock);
	m->hash = 0;
	m->next = modules;
	modules = m;
	atomic_store(&m->gone, 0);
	pthread_mutex_unlock(&lock);
}

/* Under lock. */
static struct shim_module *lookup(const void *handle)
{
	struct shim_module *m;

	for (m = modules; m && m->handle != handle; m = m->next)
		;
	return m;
}

struct shim_module *shim_module_find_in(const void *handle, CUcontext *ctx)
{
	struct shim_module *m;

	*ctx = NULL;
	pthread_mutex_lock(&lock);
	m = lookup(handle);
	if (m && m->of) {
		*ctx = m->ctx;
		m = lookup(m->of->handle);
	}
	pthread_mutex_unlock(&lock);
	return m;
}

struct shim_module *shim_module_find(const void *handle)
{
	CUcontext ctx;

	return shim_module_find_in(handle, &ctx);
}

/* An older module with this handle, which went with its context, is another one. */
void shim_module_alias(const void *library, const void *module)
{
	struct shim_module *of, *is, *m = calloc(1, sizeof(*m));
	CUcontext ctx = shim_context_handle();

	pthread_mutex_lock(&lock);
	of = lookup(library);
	is = lookup(module);
	if (m && of && (!is || is->of != of)) {
		m->handle = module;
		m->of = of;
		m->ctx = ctx;
		m->next = modules;
		modules = m;
		m = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(m);
}

/* This adds to `users` and then reads `gone`; shim_module_gone() writes `gone` and then reads
 * `users`. So at least one of the two notices the other. */
int shim_module_use(struct shim_module *m)
{
	atomic_fetch_add(&m->users, 1);
	if (!atomic_load(&m->gone))
		return 1;
	shim_module_unuse(m);
	return 0;
}

void shim_module_unuse(struct shim_module *m)
{
	atomic_fetch_sub(&m->users, 1);
}

static void wait_for_users(struct shim_module *m)
{
	static const struct timespec nap = { 0, 20000 };
	uint64_t from = gs_clock_ns();
	int cancels;

	/* The driver-call barrier is closed; a thread that was cancelled here would never open it.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	while (atomic_load(&m->users) && gs_clock_ns() - from < USED_NS)
		nanosleep(&nap, NULL);
	pthread_setcancelstate(cancels, NULL);
}

/* The module is off its list: nobody begins to use it any more. */
static void end(struct shim_module *m)
{
	wait_for_users(m);
	m->len = m->image.len;
	m->hash = m->library ? 0 : hash_of(&m->image);
	shim_image_drop(&m->image);
}

struct shim_module *shim_module_gone(const void *handle)
{
	struct shim_module **at = &modules, *m, *found = NULL;

	pthread_mutex_lock(&lock);
	while ((m = *at)) {
		/* Take out the newest record with that handle, and a library's modules with it. */
		if ((m->handle != handle || found) && !(m->of && m->of->handle == handle)) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		if (m->of) {
			free(m);
			continue;
		}
		found = m;
		atomic_store(&m->gone, 1);
	}
	pthread_mutex_unlock(&lock);
	if (!found)
		return NULL;
	end(found);
	return found;
}

unsigned int shim_modules_ending(CUcontext ctx)
{
	struct shim_module **at = &modules, *m;
	unsigned int n = 0;

	pthread_mutex_lock(&lock);
	while ((m = *at)) {
		if (m->ctx == ctx && m->of) {
			*at = m->next;
			free(m);
			continue;
		}
		if (m->ctx == ctx) {
			m->ending = 1;
			n++;
		}
		at = &m->next;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

struct shim_module *shim_modules_ended(CUcontext ctx)
{
	struct shim_module **at = &modules, *m, *ended = NULL;

	pthread_mutex_lock(&lock);
	while ((m = *at)) {
		if (!m->ending || m->ctx != ctx) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		atomic_store(&m->gone, 1);
		m->next = ended;
		ended = m;
	}
	pthread_mutex_unlock(&lock);
	for (m = ended; m; m = m->next)
		end(m);
	return ended;
}

void shim_module_unloaded(struct shim_module *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&lock);
	m->next = unloaded;
	unloaded = m;
	pthread_mutex_unlock(&lock);
}

int shim_module_has_variants(const void *handle)
{
	const struct shim_module *m = shim_module_find(handle);

	return m && atomic_load(&m->whole);
}

void shim_modules_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	modules = unloaded = NULL;
}
