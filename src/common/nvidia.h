/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the vendor's kernel module says in /proc of the GPU behind a device file. */
#ifndef GPUSHARE_COMMON_NVIDIA_H
#define GPUSHARE_COMMON_NVIDIA_H

#define GS_NVIDIA_GPUS "/proc/driver/nvidia/gpus"
#define GS_NVIDIA_TEXT_MAX 64u

struct gs_nvidia {
	char pci[GS_NVIDIA_TEXT_MAX];  /* 0000:3b:00.0 */
	char uuid[GS_NVIDIA_TEXT_MAX]; /* GPU-...; "": not told */
};

/*
 * The GPU with that minor number among the folders below `root` (normally
 * GS_NVIDIA_GPUS).  0, or -1 if there is none.
 */
int gs_nvidia_find(const char *root, unsigned minor, struct gs_nvidia *gpu);

/* The same by the device file's path.  -1 also when it is none of the vendor's. */
int gs_nvidia_of_file(const char *root, const char *path, struct gs_nvidia *gpu);

#endif
