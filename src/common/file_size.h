/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef GPUSHARE_COMMON_FILE_SIZE_H
#define GPUSHARE_COMMON_FILE_SIZE_H

#include <stdint.h>

/*
 * May a file of this process become so long? Beyond the limit (RLIMIT_FSIZE) writing, or setting
 * its length, raises SIGXFSZ, which ends most programs. A library must not risk that in somebody
 * else's program.
 */
int gs_file_may_have(uint64_t bytes);

#endif
