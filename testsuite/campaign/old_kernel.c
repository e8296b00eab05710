/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded into gpushared: Linux before 5.3, which has no pidfd, and so none that tells who has
 * connected (6.5). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

__attribute__((visibility("default"))) int getsockopt(int fd, int level, int name, void *value,
						      socklen_t *size)
{
	int (*real)(int, int, int, void *, socklen_t *) =
		(int (*)(int, int, int, void *, socklen_t *))(uintptr_t)dlsym(RTLD_NEXT,
									      "getsockopt");

	if (level == SOL_SOCKET && name == SO_PEERPIDFD) {
		errno = ENOPROTOOPT;
		return -1;
	}
	return real(fd, level, name, value, size);
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))(uintptr_t)dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list ap;

	if (number == SYS_pidfd_open) {
		errno = ENOSYS;
		return -1;
	}
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
