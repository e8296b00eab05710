/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting device memory: what the wrappers beside this file share.
 *
 * A wrapper charges before the driver is asked and returns the charge if the
 * driver refuses; what a handle stands for is remembered under it.  Bytes are
 * those that the program asked for.
 */
#ifndef GPUSHARE_SHIM_MEMORY_H
#define GPUSHARE_SHIM_MEMORY_H

#include <stdint.h>

#include "device/driver/cuda.h"
#include "device/shim/session/session.h"

/* What a key is: two kinds never mean the same thing by the same number. */
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

/* 1: the driver may be asked for so many bytes more; 0: beyond the reservation. */
int shim_charge(struct shim_session *s, uint64_t bytes);
void shim_uncharge(struct shim_session *s, uint64_t bytes);

/*
 * Remember what was charged under a key.  ctx: goes with that context; NULL:
 * only with its key.  tag: the wrapper's own, handed back by shim_unhold.
 */
void shim_charge_record(struct shim_session *s, enum shim_charge_kind kind, uint64_t key,
			uint64_t bytes, CUcontext ctx, void *tag);

/* Forget it.  1 and what was held; 0: not known. */
int shim_unhold(enum shim_charge_kind kind, uint64_t key, uint64_t *bytes, void **tag);

/*
 * Before the driver is asked to free: forget what a key holds, or all that goes with
 * a context, which stays charged.  As soon as it is freed the driver may give the same address to
 * another thread, whose holding is not to be taken for this one.
 */
struct shim_held *shim_take(enum shim_charge_kind kind, uint64_t key);
struct shim_held *shim_take_context(CUcontext ctx);
/* Its answer: the charge is returned, or it is remembered as before. */
void shim_taken(struct shim_session *s, struct shim_held *held, int freed);

/* The current context, or NULL. */
CUcontext shim_current(void);

/*
 * In a forked child: what its parent holds is not its own, and a lock may be one of a thread
 * that the child has not got.
 */
void shim_memory_forked(void);
void shim_pools_forked(void);
void shim_vmm_forked(void);

/* Pools give back to the step what they have given back to the device (pools.c). */
void shim_pools_settle(struct shim_session *s, int trim);
/* The current device's, NULL: none is known; around a call that may make it another one
 * (current_pool.c). */
CUmemoryPool shim_current_pool(void);
void shim_current_pool_unknown(void);
void shim_current_pool_forked(void);
/* An asynchronous allocation is freed: to its pool. */
void shim_pool_freed(struct shim_session *s, void *pool, uint64_t bytes);

/* The value of one allocation: charge `bytes`, do `call`, remember `key` (valid after the call) or
 * return the charge. */
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

/* The value of one release: do `call`, and return what `key` held. */
#define SHIM_UNCOUNTED(kind, key, call) \
	__extension__({ \
		struct shim_session *s_ = shim_session_peek(); \
		struct shim_held *held_ = s_ ? shim_take(kind, (uint64_t)(key)) : NULL; \
		CUresult rc_ = call; \
		shim_taken(s_, held_, rc_ == CUDA_SUCCESS); \
		rc_; \
	})

#endif
