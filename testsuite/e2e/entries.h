/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the cases of entries (entries.c, entries_pair.c) ask the driver by: every way to allocate
 * (entries_list.c). */
#ifndef GPUSHARE_TEST_ENTRIES_H
#define GPUSHARE_TEST_ENTRIES_H

#include <cuda.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define MIB ((size_t)1 << 20)

extern CUdevice dev;
extern int failures;

/* Ends the program with the driver's words unless rc is success. */
#define CHECK(call) check(call, #call, __LINE__)
void check(CUresult rc, const char *call, int line);

double now_ns(void);

/* A driver's function that not every driver has. */
#define OPTIONAL(result, name, ...) \
	CUresult (*name##_)(__VA_ARGS__) = (CUresult(*)(__VA_ARGS__))dlsym(RTLD_DEFAULT, #name); \
	if (!name##_) \
	return result

struct entry {
	const char *name;
	/* At least so many bytes, at most half as many again; release undoes it. */
	CUresult (*alloc)(size_t bytes, uint64_t *handle);
	CUresult (*release)(uint64_t handle, size_t bytes);
	int often; /* how often the random case goes through it, 0: never */
};

extern const struct entry entries[];
extern const size_t ndoors;

/* Local memory of a kernel, in a context of its own: too slow for the others' company. */
extern const struct entry frames_entry;

/* A entry that works with a small allocation. */
int entry_is_there(const struct entry *d);

/* All that is ours but `but`, in pieces; how many. */
int fill(size_t but, CUdeviceptr *piece, int most);

/* entries_pair.c: two processes of one step, TIMES over; prints a line each as `limit` does. */
int pair(int times);
int pair_second(void);

/* entries_compute.c: kernels until the file is gone, and whether their results are right. */
int compute(const char *file);

#endif
