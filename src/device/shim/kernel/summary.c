/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the counts of the process's kernels to a file; see summary.h. */
#define _GNU_SOURCE
#include "device/shim/kernel/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/shim/kernel/kernels.h"

static void write_kernel(struct shim_kernel *k, void *user)
{
	fprintf(user, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d %s\n", shim_kernel_launches(k),
		k->evictable_launches, k->evictions, (int)k->code->transform,
		(int)shim_kernel_why(k), k->code->name);
}

void shim_summary_write(void)
{
	const char *path = getenv("GPUSHARE_SUMMARY");
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	int fd;

	if (!path || !*path)
		return;
	f = open_memstream(&text, &len);
	if (!f)
		return;
	shim_kernels_each(write_kernel, f);
	if (fclose(f) == 0 && len) {
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (fd < 0 || write(fd, text, len) != (ssize_t)len)
			shim_log("the summary cannot be written: %d", errno);
		if (fd >= 0)
			close(fd);
	}
	free(text);
}
