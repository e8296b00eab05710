/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bounded number of complaints; see complain.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/complain.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"

#define COMPLAINTS_PER_S 20

void gs_complain(const char *fmt, ...)
{
	static uint64_t since_ns;
	static unsigned said, unsaid;
	uint64_t now = gs_clock_ns();
	char text[512];
	va_list ap;

	if (now - since_ns >= GS_NS_PER_S) {
		if (unsaid)
			gs_log(GS_LOG_WARN, "%u more complaints about clients", unsaid);
		since_ns = now;
		said = unsaid = 0;
	}
	if (said++ >= COMPLAINTS_PER_S) {
		unsaid++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gs_log(GS_LOG_WARN, "%s", text);
}
