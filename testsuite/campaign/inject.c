/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The injector of the campaign: preloaded into a program, it makes the calls of calls.def fail, by
 * their number; see inject.h.
 */
#define _GNU_SOURCE
#include "testsuite/campaign/inject.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#define open declared_open /* it has a variable number of arguments there */
#include <fcntl.h>
#undef open
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct inject *control;
static uintptr_t base, end; /* of the object under test in memory */

/* The first that is told of is the program; of: a part of another object's name, NULL: the program.
 */
static int note_object(struct dl_phdr_info *info, size_t size, void *of)
{
	(void)size;
	if (of && !strstr(info->dlpi_name, of))
		return 0;
	base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && base + p->p_vaddr + p->p_memsz > end)
			end = base + p->p_vaddr + p->p_memsz;
	}
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv(INJECT_ENV);
	long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
	long at;

	if (fd < 0)
		return;
	dl_iterate_phdr(note_object, getenv(INJECT_OBJECT_ENV));
	at = syscall(SYS_mmap, NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	if (at > 0)
		control = (struct inject *)at;
}

/* Is it the turn of this call?  Those that cannot do what the mode wants do not count. */
static int is_due(const char *name, uint32_t modes, const void *from)
{
	uintptr_t address = (uintptr_t)from;
	int of_object = address >= base && address < end;
	uint64_t number;

	if (!control || !atomic_load(&control->on) || !(modes >> control->mode & 1) ||
	    (!of_object && !control->libraries) || !end ||
	    (control->pid && (uint32_t)syscall(SYS_getpid) != control->pid))
		return 0;
	number = atomic_fetch_add(&control->count, 1);
	if (number < control->from || number >= control->to)
		return 0;
	atomic_store(&control->address, of_object ? address - base : 0);
	strncpy(control->name, name, sizeof(control->name) - 1);
	atomic_fetch_add(&control->failed, 1);
	return 1;
}

/* dlsym() itself allocates. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

static void *next(const char *name)
{
	return strcmp(name, "malloc") == 0  ? (void *)(uintptr_t)__libc_malloc :
	       strcmp(name, "calloc") == 0  ? (void *)(uintptr_t)__libc_calloc :
	       strcmp(name, "realloc") == 0 ? (void *)(uintptr_t)__libc_realloc :
					      dlsym(RTLD_NEXT, name);
}

#define NEXT(result, name, parameters) \
	static __typeof__(result(*) parameters) real; \
	if (!real) \
	real = (__typeof__(real))(uintptr_t)next(#name)

#define CALL(result, failure, error, interrupted, name, parameters, arguments) \
	EXPORT result name parameters; \
	EXPORT result name parameters \
	{ \
		NEXT(result, name, parameters); \
		if (is_due(#name, 1u << INJECT_FAIL | (interrupted) << INJECT_INTERRUPTED, \
			   __builtin_return_address(0))) { \
			errno = control->mode == INJECT_INTERRUPTED ? EINTR : (error); \
			return failure; \
		} \
		return real arguments; \
	}
#define INJECT_SIZE(n) (cut && (n) > 1 ? (n) / 2 : (n))
#define DATA(error, name, parameters, arguments) \
	EXPORT ssize_t name parameters; \
	EXPORT ssize_t name parameters \
	{ \
		int cut = 0; \
		NEXT(ssize_t, name, parameters); \
		if (is_due(#name, 7, __builtin_return_address(0))) { \
			if (control->mode != INJECT_SHORT) { \
				errno = control->mode == INJECT_INTERRUPTED ? EINTR : (error); \
				return -1; \
			} \
			cut = 1; \
		} \
		return real arguments; \
	}
#include "testsuite/campaign/calls.def"
