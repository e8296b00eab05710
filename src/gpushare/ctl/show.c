/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer of the daemon on standard output; see ctl.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/ctl/ctl.h"

int gs_ctl_print(const struct gs_ctl_text *text)
{
	fwrite(text->bytes, 1, text->size, stdout);
	if (fflush(stdout) != 0 || ferror(stdout))
		return gs_ctl_fail("cannot write: %s", strerror(errno));
	return 0;
}

int gs_ctl_query(const char *socket_path, enum gs_query what, unsigned job, int json, int out)
{
	struct gs_ctl_text text;
	struct gs_error err;
	int rc = 0;

	if (gs_ctl_get(socket_path, what, job, json, &text, &err) < 0)
		return gs_ctl_fail("%s", err.text);
	if (out)
		rc = gs_ctl_print(&text);
	free(text.bytes);
	return rc;
}
