/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shared flag in slurmstepd's view of gres/gpushare; see context.h. */
#define _GNU_SOURCE
#include "plugins/gres/context.h"

#include <arpa/inet.h>
#include <string.h>

#include "plugins/gres/records.h"

#define COLON GS_GRES_NAME ":"

/* As Slurm's _pack_gres_context() has it behind the flags. */
static buf_t *names(void)
{
	buf_t *buffer = init_buf(128);

	packstr(GS_GRES_NAME, buffer);
	packstr(COLON, buffer);
	pack32((uint32_t)strlen(COLON), buffer);
	packstr("gres/" GS_GRES_NAME, buffer);
	return buffer;
}

int gs_context_share(buf_t *buffer)
{
	char *data = get_buf_data(buffer), *last = NULL;
	size_t used = get_buf_offset(buffer);
	buf_t *wanted = names();
	size_t length = get_buf_offset(wanted);
	uint32_t flags;

	for (char *at = data;
	     (at = memmem(at, used - (size_t)(at - data), get_buf_data(wanted), length)) != NULL;
	     at++)
		last = at;
	free_buf(wanted);
	if (!last || last - data < (ptrdiff_t)sizeof(flags))
		return 0;
	memcpy(&flags, last - sizeof(flags), sizeof(flags));
	flags = htonl(ntohl(flags) | GRES_CONF_SHARED);
	memcpy(last - sizeof(flags), &flags, sizeof(flags));
	return 1;
}
