/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting device memory: what the wrappers in this folder share.
 *
 * A wrapper charges the bytes before it asks the driver, and returns the charge if the driver
 * refuses. The charge is remembered under the handle or pointer that the driver returns. Bytes are
 * those that the program asked for.
 */
#ifndef GPUSHARE_SHIM_MEMORY_H
#define GPUSHARE_SHIM_MEMORY_H

#include <stdint.h>

#include "device/driver/cuda.h"
#include "device/shim/session/session.h"

/* The kind of a key; the same number may occur in several kinds. */
enum shim_charge_kind {
	SHIM_CHARGE_POINTER,
	SHIM_CHARGE_ARRAY,
	SHIM_CHARGE_EXTERNAL,
	SHIM_CHARGE_GRAPH,
	SHIM_CHARGE_MODULE,
	SHIM_CHARGE_CONTEXT,
	SHIM_CHARGE_LOCAL,
	SHIM_CHARGE_LIMIT, /* + CUlimit */
	SHIM_CHARGE_KINDS = SHIM_CHARGE_LIMIT + CU_LIMIT_MAX
};

/*
 * Charges `bytes` to the step. Returns 1 if the driver may be asked for them; 0 if they do not fit
 * into the reservation, and then the user has been told. shim_uncharge() returns bytes to the
 * lease.
 */
int shim_charge(struct shim_session *s, uint64_t bytes);
void shim_uncharge(struct shim_session *s, uint64_t bytes);

/* Remembers what was charged under a key. ctx: the charge goes with that context; NULL: only with
 * its key. tag: the wrapper's own, returned by shim_unhold(). */
void shim_charge_record(struct shim_session *s, enum shim_charge_kind kind, uint64_t key,
			uint64_t bytes, CUcontext ctx, void *tag);

/* Forgets what is charged under a key, which stays charged. Returns 1 and the bytes and the tag
 * (tag may be NULL); 0: the key is not known. */
int shim_unhold(enum shim_charge_kind kind, uint64_t key, uint64_t *bytes, void **tag);

/*
 * Call before the driver is asked to free: takes out what is charged under a key, or all that goes
 * with a context; it stays charged. It must be before, since the driver may give a freed address to
 * another thread at once, and that thread's charge must not be mistaken for this one. Returns a
 * list for shim_taken(), or NULL.
 */
struct shim_held *shim_take(enum shim_charge_kind kind, uint64_t key);
struct shim_held *shim_take_context(CUcontext ctx);
/* After the driver's answer: returns the charges if it has freed (freed 1), else remembers them
 * again. Frees the list. */
void shim_taken(struct shim_session *s, struct shim_held *held, int freed);

/* The current context, or NULL if there is none. */
CUcontext shim_current(void);

/* In a forked child: forgets what the parent has charged, and makes the locks anew, since a thread
 * of the parent may have held one. */
void shim_memory_forked(void);
void shim_pools_forked(void);
void shim_vmm_forked(void);

/* Returns to the step what the pools have returned to the device (pools.c). trim: first makes the
 * pools return what they do not use. */
void shim_pools_settle(struct shim_session *s, int trim);
/* The current device's memory pool, NULL: not known. shim_current_pool_unknown() is called around a
 * call that may change it (current_pool.c). */
CUmemoryPool shim_current_pool(void);
void shim_current_pool_unknown(void);
void shim_current_pool_forked(void);
/* An asynchronous allocation of `bytes` has been freed into its pool. */
void shim_pool_freed(struct shim_session *s, void *pool, uint64_t bytes);

/* The result of one allocation: charges `bytes`, makes `call`, and then either remembers the charge
 * under `key` (evaluated after the call) or returns it. */
#define SHIM_COUNTED(kind, bytes, call, key, ctx) \
	__extension__({ \
		struct shim_session *s_ = shim_session(); \
		uint64_t bytes_ = (bytes); \
		CUresult rc_ = CUDA_ERROR_OUT_OF_MEMORY; \
		if (!s_ || shim_charge(s_, bytes_)) { \
			rc_ = call; \
			if (rc_ == CUDA_SUCCESS && s_) \
				shim_charge_record(s_, kind, (uint64_t)(key), bytes_, ctx, NULL); \
			else if (s_) \
				shim_uncharge(s_, bytes_); \
		} \
		rc_; \
	})

/* The result of one release: makes `call`, and returns what was charged under `key`. */
#define SHIM_UNCOUNTED(kind, key, call) \
	__extension__({ \
		struct shim_session *s_ = shim_session_peek(); \
		struct shim_held *held_ = s_ ? shim_take(kind, (uint64_t)(key)) : NULL; \
		CUresult rc_ = call; \
		shim_taken(s_, held_, rc_ == CUDA_SUCCESS); \
		rc_; \
	})

#endif
