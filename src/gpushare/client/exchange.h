/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking the daemon: what gpusharectl and gpushare-bench have in common. */
#ifndef GPUSHARE_CLIENT_EXCHANGE_H
#define GPUSHARE_CLIENT_EXCHANGE_H

#include <stddef.h>

#include "common/error.h"
#include "gpushare/proto/msg.h"

/* Connect to the daemon; -1 with the reason.  It has 10 s for each answer... */
int gs_ctl_connect(const char *socket, struct gs_error *err);
/* ...or so many ns. */
int gs_ctl_connect_within(const char *socket, uint64_t patience_ns, struct gs_error *err);

/* Ask and read the answer into *msg.  0; -1 with the reason, a refusal's included. */
int gs_ctl_exchange(int sock, struct gs_msg *msg, enum gs_msg_type answer, struct gs_error *err);

/* An answer of several packets; bytes are to be freed, a NUL follows the last. */
struct gs_ctl_text {
	char *bytes;
	size_t size;
};

/* Ask *msg and collect the TEXTs, *msg is overwritten.  0; -1 with the reason. */
int gs_ctl_fetch(int sock, struct gs_msg *msg, struct gs_ctl_text *text, struct gs_error *err);

/* The same for a QUERY, on a connection of its own. */
int gs_ctl_get(const char *socket, enum gs_query what, unsigned job, struct gs_ctl_text *text,
	       struct gs_error *err);

#endif
