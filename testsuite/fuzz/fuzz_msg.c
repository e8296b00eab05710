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
#define BLOB(f, len) n += (unsigned char)body->f[(len)-1];
#define STR(f, len) \
	if (strlen(body->f) >= (len)) \
		abort();
#define MSG(NAME, name, direction, fields) \
	case GS_MSG_##NAME: { \
		const struct gs_msg_##name *body = &m->name; \
		fields break; \
	}
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

static const size_t body_bytes[] = {
#define MSG(NAME, name, direction, fields) [GS_MSG_##NAME] = sizeof(struct gs_msg_##name),
#include "gpushare/proto/msg.def"
#undef MSG
};

static void check(const struct gs_msg *m, size_t size)
{
	for (int d = GS_TO_DAEMON; d <= GS_IN_CREDENTIAL; d++)
		if (gs_msg_check(m, size, (enum gs_msg_direction)d, NULL) == 0)
			sink += walk(m);
}

/* The bytes as the body of a message whose header is right: few get so far by chance. */
static void check_body(const uint8_t *data, size_t size)
{
	uint16_t type = size ? data[0] % (sizeof(body_bytes) / sizeof(body_bytes[0])) : 0;
	size_t bytes = sizeof(struct gs_msg_header) + body_bytes[type];
	struct gs_msg *m = calloc(1, bytes);

	if (!m)
		return;
	m->header = (struct gs_msg_header) {
		GS_MSG_MAGIC, GS_MSG_VERSION, type, (uint16_t)body_bytes[type], 0, 0
	};
	if (size > 1)
		memcpy((uint8_t *)m + sizeof(m->header), data + 1,
		       size - 1 < body_bytes[type] ? size - 1 : body_bytes[type]);
	check(m, bytes);
	free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t bytes = size > sizeof(struct gs_msg) ? sizeof(struct gs_msg) : size;
	struct gs_msg *m;

	/* Exactly what came, so that reading past it is caught. */
	m = malloc(bytes ? bytes : 1);
	if (!m)
		return 0;
	memcpy(m, data, bytes);
	check(m, bytes);
	free(m);
	check_body(data, size);
	return 0;
}
