/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The killer of row C2: preloaded into gpushared, it ends it by SIGKILL at one of the calls that
 * read, write or replace its state file, which c2_state.py chooses by a mapped file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#define open declared_open /* it has a variable number of arguments there */
#include <fcntl.h>
#undef open
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define STATE_FILE ".state"

enum when { BEFORE, HALFWAY, AFTER };

/* c2_state.py has the same layout. */
struct killer {
	uint32_t at;             /* the call of this number, counted from 1, is the last; 0: none */
	uint32_t when;           /* enum when */
	_Atomic uint32_t count;  /* calls so far */
	_Atomic uint32_t killed; /* it has been */
};

static struct killer *control;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("GPUSHARE_KILLER");
	int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
	void *p;

	if (fd < 0)
		return;
	p = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p != MAP_FAILED)
		control = p;
}

/* Is this call the last one? */
static int is_due(const char *path)
{
	return control && control->at && strstr(path, STATE_FILE) &&
	       atomic_fetch_add(&control->count, 1) + 1 == control->at;
}

static void end(void)
{
	atomic_store(&control->killed, 1);
	kill(getpid(), SIGKILL);
}

#define CALL(result, name, parameters, arguments, path) \
	EXPORT result name parameters; \
	EXPORT result name parameters \
	{ \
		result(*real) parameters = \
			(result(*) parameters)(uintptr_t)dlsym(RTLD_NEXT, #name); \
		int due = is_due(path); \
		result value; \
		if (due && control->when == BEFORE) \
			end(); \
		value = real arguments; \
		if (due) \
			end(); \
		return value; \
	}
CALL(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode), path)
CALL(int, unlink, (const char *path), (path), path)
CALL(int, rename, (const char *from, const char *to), (from, to), from)

/* The half of what stdio has still to write. */
static void write_half(FILE *f)
{
	size_t n = __fpending(f) / 2;

	if (write(fileno(f), f->_IO_write_base, n) < 0)
		perror("killer");
}

EXPORT int fclose(FILE *f)
{
	int (*real)(FILE *) = (int (*)(FILE *))(uintptr_t)dlsym(RTLD_NEXT, "fclose");
	char link[64], path[512];
	ssize_t n;
	int due, ret;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fileno(f));
	n = control && control->at ? readlink(link, path, sizeof(path) - 1) : -1;
	path[n > 0 ? n : 0] = '\0';
	due = is_due(path);
	if (due && control->when == HALFWAY)
		write_half(f);
	if (due && control->when != AFTER)
		end();
	ret = real(f);
	if (due)
		end();
	return ret;
}
