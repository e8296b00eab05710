/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels' records; see records.h. */
#define _GNU_SOURCE
#include "device/shim/kernel/records.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/shim/base/upcalls.h"
#include "device/shim/session/session.h"

#define BUCKETS (1 << SHIM_BUCKET_BITS)
/* If a bucket has so many records without a handle whose launches have not all been reported to the
 * daemon, they are reported at once; if it has so many although they cannot be, the oldest one is
 * used again. */
#define UNREPORTED_MANY 4
#define UNREPORTED_MOST 16
/* How long a new kernel waits for those who read names. They take less, unless the process is
 * stopped; then it gets a record of its own. */
#define READERS_NAPS 50
#define READERS_NAP_NS 20000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int readers;         /* under lock */
static struct shim_code *free_codes; /* under lock */
_Atomic(struct shim_kernel *) shim_bucket[BUCKETS];
struct shim_kernel shim_place[BUCKETS];

void shim_kernels_keep(void)
{
	pthread_mutex_lock(&lock);
	readers++;
	pthread_mutex_unlock(&lock);
}

void shim_kernels_release(void)
{
	pthread_mutex_lock(&lock);
	readers--;
	pthread_mutex_unlock(&lock);
}

int shim_kernels_kept(void)
{
	int kept;

	pthread_mutex_lock(&lock);
	kept = readers != 0;
	pthread_mutex_unlock(&lock);
	return kept;
}

/* Takes the lock, mostly at a moment when nobody reads names. */
static void lock_between_readers(void)
{
	static const struct timespec nap = { 0, READERS_NAP_NS };
	int cancels;

	/* The driver-call barrier may be closed; a thread that was cancelled here would never open
	 * it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	pthread_mutex_lock(&lock);
	for (int i = 0; readers && i < READERS_NAPS; i++) {
		pthread_mutex_unlock(&lock);
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&lock);
	}
	pthread_setcancelstate(cancels, NULL);
}

/* ---- kernels ------------------------------------------------------------------- */

/* Its number goes with it: the daemon lists a program's first 4,096. */
struct shim_code *shim_code_new(const char *name)
{
	struct shim_session *s = shim_session_peek();
	struct shim_code *code;
	char *own = strdup(name);

	if (!own)
		return NULL;
	pthread_mutex_lock(&lock);
	code = free_codes;
	if (code)
		free_codes = code->next;
	pthread_mutex_unlock(&lock);
	if (!code) {
		code = calloc(1, sizeof(*code));
		if (code)
			code->number = s ? atomic_fetch_add(&s->kernels, 1) : 0;
	}
	if (!code) {
		free(own);
		return NULL;
	}
	code->name = own;
	code->reason = PTX_REASON_UNSEEN;
	return code;
}

void shim_code_belongs(struct shim_code *code, struct shim_module *m)
{
	if (m && code->module != m)
		atomic_fetch_add(&m->codes, 1);
	code->module = m;
	if (!m)
		return;
	if (!m->content)
		m->content = shim_image_content(&m->image);
	code->content = m->content;
	code->reason = m->image.at ? PTX_REASON_NOT_BUILT : m->image.why;
}

static void clear_facts(struct shim_facts *f)
{
	f->since_s = 0;
	f->blocks = 0;
	f->block_ns = 0;
	f->occupancy = 0;
	f->at_once = 0;
	f->changed = 0;
}

/* Under lock: no record has it any more. */
static void drop_code(struct shim_code *code)
{
	struct shim_module *m = code->module;

	code->module = NULL;
	if (m)
		atomic_fetch_sub(&m->codes, 1);
	free(code->name);
	code->name = NULL;
	code->registers = 0;
	code->content = 0;
	code->transform = PTX_TRANSFORM_AS_IS;
	code->build = SHIM_BUILD_NOT;
	code->cache_config = 0;
	clear_facts(&code->facts);
	code->next = free_codes;
	free_codes = code;
}

/* A variant that was made for the earlier load of the module has the addresses of that load's
 * variables. `build` is read first: build.c adds the variant, and only then leaves
 * SHIM_BUILD_WANTED, so one of the two tells. */
static int has_variant_of_the_past(const struct shim_code *code)
{
	return code->build == SHIM_BUILD_WANTED || atomic_load(&code->variants);
}

/* ---- records without a handle ---------------------------------------------------- */

/* Under lock: may it become another kernel's? */
static int is_free(const struct shim_kernel *k)
{
	const struct shim_code *code = k->code;
	const struct shim_module *m = code->module;

	return !k->handle && (k->over || (m && m->over)) && !readers &&
	       code->build != SHIM_BUILD_WANTED &&
	       (code->handles > 1 || !atomic_load(&code->variants)) &&
	       !shim_upcalls->code_is_out(code);
}

/* A summary at the end of the program (summary.h) lists all of its kernels. */
static int all_stay(void)
{
	static _Atomic int known; /* 1: they do; 2: they do not */
	const char *path;

	if (!known) {
		path = getenv("GPUSHARE_SUMMARY");
		known = path && *path ? 1 : 2;
	}
	return known == 1;
}

/* Under lock: a record of the bucket that may become another kernel's and whose launches have been
 * reported. NULL: there is none; then *n of those that are free are in free[], at most `most`. */
static struct shim_kernel *reported_in(size_t bucket, struct shim_kernel **free, unsigned int most,
				       unsigned int *n)
{
	*n = 0;
	for (struct shim_kernel *k = shim_bucket[bucket]; k && *n < most; k = k->next) {
		if (!is_free(k))
			continue;
		if (shim_kernel_is_reported(k))
			return k;
		free[(*n)++] = k;
	}
	return NULL;
}

/* Under lock: a record of the bucket that may become another kernel's. NULL: there is none. */
static struct shim_kernel *free_in(size_t bucket)
{
	struct shim_kernel *free[UNREPORTED_MOST], *k;
	unsigned int n;

	if (all_stay())
		return NULL;
	k = reported_in(bucket, free, UNREPORTED_MOST, &n);
	if (!k && n >= UNREPORTED_MANY) {
		shim_upcalls->tell_of(free, n);
		k = reported_in(bucket, free, UNREPORTED_MOST, &n);
	}
	return k ? k : n == UNREPORTED_MOST ? free[n - 1] : NULL;
}

static void clear_time(struct shim_time *t)
{
	t->dims = 0;
	t->spare = 0;
	t->again = 0;
	atomic_flag_clear(&t->requested);
	t->own = 0;
	t->others = 0;
	t->tracked = 0;
	t->tpt_ps = 0;
	t->due = 0;
}

/* Under lock: forgets all that is known of the kernel that it stood for. */
static void clear(struct shim_kernel *k)
{
	struct shim_code *code = k->code;

	if (--code->handles == 0)
		drop_code(code);
	for (size_t i = 0; i < SHIM_DIMS_MAX; i++)
		clear_time(&k->time[i]);
	k->nodes = 0;
	k->branches = 0;
	k->untracked_told = 0;
	k->evictable_launches = 0;
	k->why = 0;
	k->evictions = 0;
}

/* Under lock: a record without a handle gets this one. */
static void stand_for(struct shim_kernel *k, const struct shim_identity *is)
{
	k->loaded = NULL;
	k->local_bytes[0] = k->local_bytes[1] = 0;
	k->original = (CUfunction)(uintptr_t)is->handle;
	k->direct = (CUfunction)(uintptr_t)is->handle;
	k->library = is->library;
	k->ctx = is->ctx;
	k->over = 0;
	k->handle = is->handle;
}

/* Under lock: a record of that code, in the handle's bucket: one without a handle, or the bucket's
 * place in the table, or else a block of its own. NULL: no memory. */
static struct shim_kernel *take(const struct shim_identity *is, struct shim_code *code)
{
	size_t bucket = shim_bucket_of(is->handle);
	struct shim_kernel *k = free_in(bucket), *place = &shim_place[bucket];

	if (k)
		clear(k);
	else if (!place->code)
		k = place;
	else
		k = shim_lines(sizeof(*k));
	if (!k)
		return NULL;
	code->handles++;
	if (k->code) {
		k->code = code;
		stand_for(k, is);
		return k;
	}
	k->code = code;
	stand_for(k, is);
	k->next = shim_bucket[bucket];
	atomic_store(&shim_bucket[bucket], k);
	return k;
}

/* ---- making them ----------------------------------------------------------------- */

/* Under lock: the record with this handle, except for `not`. */
static struct shim_kernel *other_with(const void *handle, const struct shim_kernel * not )
{
	struct shim_kernel *k;

	for (k = shim_bucket[shim_bucket_of(handle)]; k && (k->handle != handle || k == not );
	     k = k->next)
		;
	return k;
}

/* Is the code that of the kernel for which the record stands? */
static int is_same(const struct shim_kernel *k, const struct shim_identity *is,
		   const struct shim_code *code)
{
	const struct shim_code *has = k->code;

	return k->library == is->library && k->ctx == is->ctx &&
	       (has == code || (has->module == code->module && strcmp(has->name, code->name) == 0));
}

/* What had the handle before is another one, or was not known as well. It must not be found again
 * when the new one is forgotten. A thread may be launching it, so it is not `over`. */
static struct shim_kernel *add(const struct shim_identity *is, struct shim_code *code)
{
	struct shim_kernel *k, *old = other_with(is->handle, NULL);

	if (old && is_same(old, is, code))
		return old;
	k = take(is, code);
	while (k && (old = other_with(is->handle, k)))
		old->handle = NULL;
	return k;
}

int shim_record_is_known(const struct shim_identity *is, const struct shim_module *m,
			 const char *name)
{
	const struct shim_kernel *k;
	int known;

	pthread_mutex_lock(&lock);
	k = other_with(is->handle, NULL);
	known = k && k->library == is->library && k->ctx == is->ctx && k->code->module == m &&
		strcmp(k->code->name, name) == 0;
	pthread_mutex_unlock(&lock);
	return known;
}

struct shim_kernel *shim_record_add(const struct shim_identity *is, struct shim_code *code)
{
	struct shim_kernel *k;

	if (!code)
		return NULL;
	lock_between_readers();
	k = add(is, code);
	if (!code->handles)
		drop_code(code);
	pthread_mutex_unlock(&lock);
	return k;
}

struct shim_kernel *shim_record_alias(const struct shim_identity *is, struct shim_code *code)
{
	struct shim_kernel *k;

	lock_between_readers();
	for (k = shim_bucket[shim_bucket_of(is->handle)]; k; k = k->next)
		if (!k->handle && k->code == code && k->ctx)
			break;
	if (k && !other_with(is->handle, NULL))
		stand_for(k, is);
	else
		k = add(is, code);
	pthread_mutex_unlock(&lock);
	return k;
}

static int was_of(const struct shim_kernel *k, const struct shim_module *m, const void *handle,
		  const char *name)
{
	return !k->handle && k->code->module == m &&
	       (m ? !m->library : !k->library && !k->ctx && k->original == handle) &&
	       !has_variant_of_the_past(k->code) && strcmp(k->code->name, name) == 0;
}

struct shim_kernel *shim_record_again(const struct shim_module *m, const void *handle,
				      const char *name)
{
	const struct shim_identity is = { .handle = handle };
	struct shim_kernel *k = NULL;
	struct shim_code *code;

	pthread_mutex_lock(&lock);
	if (!other_with(handle, NULL))
		for (k = shim_bucket[shim_bucket_of(handle)]; k && !was_of(k, m, handle, name);
		     k = k->next)
			;
	if (k) {
		code = k->code;
		code->cache_config = 0;
		code->transform = PTX_TRANSFORM_AS_IS;
		code->build = SHIM_BUILD_NOT;
		stand_for(k, &is);
	}
	pthread_mutex_unlock(&lock);
	return k;
}

/* ---- reading and forgetting -------------------------------------------------------- */

void shim_kernels_each(void (*visit)(struct shim_kernel *k, void *user), void *user)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct shim_kernel *k = shim_bucket[i]; k; k = k->next)
			visit(k, user);
}

void shim_kernel_count(struct shim_kernel *k, const void *context, CUfunction direct)
{
	pthread_mutex_lock(&lock);
	atomic_fetch_add(&k->counts, 1);
	k->direct = direct;
	k->counted_in = context;
	atomic_fetch_add(&k->counts, 1);
	pthread_mutex_unlock(&lock);
}

void shim_record_forget(struct shim_kernel *k)
{
	if (k->counted_in)
		shim_kernel_count(k, NULL, k->original);
	k->handle = NULL;
}

void shim_records_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	readers = 0;
	free_codes = NULL;
	for (size_t i = 0; i < BUCKETS; i++) {
		if (atomic_exchange(&shim_bucket[i], NULL))
			shim_place[i].handle = NULL;
	}
}
