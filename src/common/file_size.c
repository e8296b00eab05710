/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a file may become; see file_size.h. */
#include "common/file_size.h"

#include <sys/resource.h>

int gs_file_may_have(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	       bytes <= limit.rlim_cur;
}
