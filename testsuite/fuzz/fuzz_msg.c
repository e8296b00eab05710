/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: any packet as a message, in every direction.  Of what is
 * accepted every string is walked to its end: a missing NUL is a read beyond
 * the field, which the sanitizer sees at the packet's end.
 */
#include <stdlib.h>
#include <string.h>

#include "gpushare/proto/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink; /* so that no read is optimised away */

static size_t walk(const struct gs_msg *m)
{
	size_t n = 0;

	switch (m->header.type) {
#define U32(f) n += body->f;
#define U64(f) n += body->f;
#define BLOB(f, len) n += (unsigned char)body->f[(len) - 1];
#define STR(f, len) if (strlen(body->f) >= (len)) abort();
#define MSG(NAME, name, direction, fields) \
	case GS_MSG_##NAME: { const struct gs_msg_##name *body = &m->name; fields break; }
#include "gpushare/proto/msg.def"
#undef MSG
#undef STR
#undef U32
#undef U64
#undef BLOB
	default:
		abort();
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_msg *m;

	if (size > sizeof(*m))
		size = sizeof(*m);
	/* Exactly what came, so that reading past it is caught. */
	m = malloc(size ? size : 1);
	if (!m)
		return 0;
	memcpy(m, data, size);
	for (int d = GS_TO_DAEMON; d <= GS_IN_CREDENTIAL; d++)
		if (gs_msg_check(m, size, (enum gs_msg_direction)d, NULL) == 0)
			sink += walk(m);
	free(m);
	return 0;
}
