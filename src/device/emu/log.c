/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines for people; see log.h. */
#define _GNU_SOURCE
#include "device/emu/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void emu_log(const char *fmt, ...)
{
	const char *name = getenv("GPUSHARE_EMU_LOG");
	FILE *f = name && *name ? fopen(name, "ae") : NULL;
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(f ? f : stderr, "gpushare-emu[%d]: %s\n", (int)getpid(), line);
	if (f)
		fclose(f);
}
