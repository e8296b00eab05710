/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the targets that send sequences of messages: a fuzzer's bytes as messages, most of which are
 * well formed. A record is type, flags, four bytes' worth of offset, length, and what the body has
 * there.
 */
#ifndef FUZZ_RECORDS_H
#define FUZZ_RECORDS_H

#include <string.h>
#include <sys/socket.h>

#include "gpushare/proto/msg.h"

#define RECORD_HEAD 4
#define RECORD_TORN 0x80 /* of the type: the header is not what it should be */

struct records {
	const uint8_t *at;
	size_t left;
	enum gs_msg_direction direction;
};

struct record {
	struct gs_msg msg;
	size_t bytes;
	uint8_t flags;
};

static inline enum gs_msg_direction record_direction(unsigned type)
{
	switch (type) {
#define MSG(NAME, name, way, fields) \
	case GS_MSG_##NAME: \
		return GS_##way;
#include "gpushare/proto/msg.def"
#undef MSG
	}
	return GS_IN_CREDENTIAL;
}

/* The n-th of those that travel this way. */
static inline uint16_t record_type(const struct records *all, unsigned n)
{
	uint16_t type = 0;

	for (n %= GS_MSG_COUNT;; n--) {
		do
			type = (uint16_t)(type + 1 < GS_MSG_COUNT ? type + 1 : 1);
		while (record_direction(type) != all->direction);
		if (!n)
			return type;
	}
}

/* Returns 0 behind the last. */
static inline int records_next(struct records *all, struct record *r)
{
	uint8_t type;
	size_t offset, length;

	if (all->left < RECORD_HEAD)
		return 0;
	type = all->at[0];
	r->flags = all->at[1];
	offset = 4u * all->at[2];
	length = all->at[3];
	all->at += RECORD_HEAD;
	all->left -= RECORD_HEAD;
	if (length > all->left)
		length = all->left;
	memset(&r->msg, 0, sizeof(r->msg));
	gs_msg_init(&r->msg, (enum gs_msg_type)record_type(all, type & 0x3f), 1);
	r->bytes = sizeof(r->msg.header) + r->msg.header.length;
	/* A torn one: its bytes begin with the header, and it has no more than these. */
	if (type & RECORD_TORN) {
		memcpy(&r->msg, all->at, length);
		r->bytes = length;
	} else if (offset < r->msg.header.length) {
		size_t room = r->msg.header.length - offset;

		memcpy((uint8_t *)&r->msg + sizeof(r->msg.header) + offset, all->at,
		       length < room ? length : room);
	}
	all->at += length;
	all->left -= length;
	return 1;
}

/* Does not wait for room. -1 with errno. */
static inline int record_send(int sock, const struct record *r, int fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)&r->msg, r->bytes };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *c;

		mh.msg_control = control.space;
		mh.msg_controllen = sizeof(control.space);
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	return sendmsg(sock, &mh, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

#endif
