/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose driver a file is; see driver_file.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/driver_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name under which the emulated device presents itself (src/device/emu). */
#define EMULATED "gpushare emulated device"

int gs_driver_is_emulated(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), found = 0;
	struct stat st;
	void *text;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (text != MAP_FAILED) {
			found = memmem(text, (size_t)st.st_size, EMULATED, strlen(EMULATED)) !=
				NULL;
			munmap(text, (size_t)st.st_size);
		}
	}
	close(fd);
	return found;
}
