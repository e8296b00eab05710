/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose driver a file is. */
#ifndef GPUSHARE_DAEMON_DRIVER_FILE_H
#define GPUSHARE_DAEMON_DRIVER_FILE_H

/* 1: the libcuda.so.1 of that path is the emulated device's. 0 also where it cannot be read. */
int gs_driver_is_emulated(const char *path);

#endif
