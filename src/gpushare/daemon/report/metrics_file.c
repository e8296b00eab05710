/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics as a file; see metrics_file.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/metrics_file.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/log.h"
#include "gpushare/daemon/report/gather.h"
#include "gpushare/daemon/report/new_file.h"

void gs_metrics_file_write(struct gs_daemon *d)
{
	static int failed; /* as the log says already */
	const char *path = d->config->metrics_file;
	struct gs_error err;
	char *text;

	if (!*path)
		return;
	text = gs_gather_metrics(d);
	if (!text)
		return;
	if (gs_new_file(path, text, &err) == 0) {
		failed = 0;
	} else if (!failed) {
		gs_log(GS_LOG_WARN, "%s", err.text);
		failed = 1;
	}
	free(text);
}
