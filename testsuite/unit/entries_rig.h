/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shim's memory entries over a driver that grants everything, with a session
 * of RESERVATION bytes and no daemon: what test_memory_*.c share.
 */
#ifndef TESTSUITE_ENTRIES_RIG_H
#define TESTSUITE_ENTRIES_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "device/shim/memory/charge.h"
#include "device/shim/base/shim.h"

#define MIB (UINT64_C(1024) * 1024)
#define RESERVATION (64 * MIB)
#define RIG_POOL ((CUmemoryPool)0x99)
#define RIG_DEVICE_POOL ((CUmemoryPool)0x77)

extern struct rig {
	struct shim_session *s;
	CUresult answer;  /* of the calls that allocate */
	uint64_t again;   /* the handle that the next of them gives; 0: a new one */
	CUresult refusal; /* the answer of cuMemMap, cuMemUnmap, cuMemRelease and cuMemPoolDestroy,
			   */
	void (*inside)(void); /* and what another thread does while the next of them, or the next
				 cuMemRetainAllocationHandle, is in the driver */
	uint64_t pool_has;    /* what the pool reports as reserved */
	_Atomic unsigned int requests; /* about the current context, its device, that one's pool,
					  what it has, captures */
	void (*requested)(
		void); /* what another thread does while the pool is asked for that, once */
	CUstreamCaptureStatus capture; /* of every stream */
	size_t limit;                  /* every limit of the context */
	int frame;                     /* bytes of local memory of every kernel */
} rig;

/* Allocate so many MiB through a entry; free what it gave. */
struct entry {
	const char *name;
	CUresult (*alloc)(uint64_t mib, uint64_t *handle);
	CUresult (*free)(uint64_t handle);
};

extern const struct entry entries[];
extern const size_t ndoors;

CUresult entry_linear(uint64_t mib, uint64_t *h);
CUresult entry_free_pointer(uint64_t h);
CUresult entry_async(uint64_t mib, uint64_t *h);
CUresult entry_from_pool(uint64_t mib, uint64_t *h); /* RIG_POOL */
CUresult entry_free_async(uint64_t h);
CUresult entry_created(uint64_t mib, uint64_t *h);
CUresult entry_release_created(uint64_t h);
CUresult entry_array2d(uint64_t mib, uint64_t *h);

/* entries_modules.c */
CUresult entry_module(uint64_t mib, uint64_t *h);
CUresult entry_module_file(uint64_t mib, uint64_t *h);
CUresult entry_cubin(uint64_t mib, uint64_t *h);
CUresult entry_cubin_file(uint64_t mib, uint64_t *h);
CUresult entry_machine_code(uint64_t mib, uint64_t *h); /* a container of it */
CUresult entry_library_file(uint64_t mib, uint64_t *h);
CUresult entry_unload(uint64_t h);
CUresult entry_unload_library(uint64_t h);

/* Of the group; before each test, when nothing may be held. */
int rig_setup(void **state);
int rig_begin(void **state);
#define ENTRY(f) cmocka_unit_test_setup(f, rig_begin)

/* The groups of test_memory_kinds.c and test_memory_count.c; how many tests failed. */
int memory_kinds(void);
int memory_count(void);

#endif
