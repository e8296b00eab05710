/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef GPUSHARE_COMMON_FILE_SIZE_H
#define GPUSHARE_COMMON_FILE_SIZE_H

#include <stdint.h>

/*
 * May a file of this process become so long?  If not, writing it, or giving it that
 * length, mostly ends the process (SIGXFSZ; setrlimit(2)): no library may try that in somebody else's program.
 */
int gs_file_may_have(uint64_t bytes);

#endif
