/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Closed connections whose peer has something to read; see unread.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/unread.h"

#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "gpushare/daemon/base/foreign.h"

struct unread {
	LIST_ENTRY(unread) link;
	int sock;
	uid_t uid;
};

static LIST_HEAD(, unread) all = LIST_HEAD_INITIALIZER(all);
static unsigned count;

int gs_unread_is(int sock)
{
	int bytes = 0;

	return ioctl(sock, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

void gs_unread_close(int sock, uid_t uid)
{
	struct unread *u = gs_unread_is(sock) ? malloc(sizeof(*u)) : NULL;

	if (!u) {
		gs_foreign_close(sock);
		return;
	}
	shutdown(sock, SHUT_RDWR);
	u->sock = sock;
	u->uid = uid;
	LIST_INSERT_HEAD(&all, u, link);
	count++;
}

unsigned gs_unread_count(void)
{
	return count;
}

unsigned gs_unread_of(uid_t uid)
{
	const struct unread *u;
	unsigned n = 0;

	LIST_FOREACH (u, &all, link)
		n += u->uid == uid;
	return n;
}

static void sweep(int every)
{
	struct unread *u, *next;

	for (u = LIST_FIRST(&all); u; u = next) {
		next = LIST_NEXT(u, link);
		if (!every && gs_unread_is(u->sock))
			continue;
		LIST_REMOVE(u, link);
		count--;
		gs_foreign_close(u->sock);
		free(u);
	}
}

void gs_unread_sweep(void)
{
	sweep(0);
}

void gs_unread_fini(void)
{
	sweep(1);
}
