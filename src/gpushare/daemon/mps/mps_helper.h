/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that ask MPS's control program, so that the event loop never waits for it. */
#ifndef GPUSHARE_DAEMON_MPS_HELPER_H
#define GPUSHARE_DAEMON_MPS_HELPER_H

#include <sys/queue.h>
#include <sys/types.h>

#include "gpushare/daemon/mps/mps_control.h"

struct event_base;
struct gs_mps_helper;

enum gs_mps_op { GS_MPS_SERVER_UP, GS_MPS_TERMINATE };

struct gs_mps_request {
	enum gs_mps_op op;
	pid_t pid;      /* the control daemon, or the client */
	int timeout_ms; /* of GS_MPS_SERVER_UP */
};

struct gs_mps_answer {
	int ok;
	pid_t server;    /* of GS_MPS_SERVER_UP */
	const char *who; /* as asked with */
	char why[256];   /* if not ok */
};

typedef void gs_mps_answered(void *context, const struct gs_mps_answer *answer);

struct gs_mps_helpers {
	struct event_base *base;
	const struct gs_mps_place *place;
	void *context;
	unsigned n;
	LIST_HEAD(, gs_mps_helper) list;
};

/* place and owner outlive the helpers. */
void gs_mps_helpers_init(struct gs_mps_helpers *helpers, struct event_base *base,
			 const struct gs_mps_place *place, void *context);

/* Ask in a process of its own; `answered` is called from the loop, once.  -1: not at the moment. */
int gs_mps_helper_query(struct gs_mps_helpers *helpers, const struct gs_mps_request *request,
			const char *who, gs_mps_answered *answered);

/* Kill those that have not answered. */
void gs_mps_helpers_end(struct gs_mps_helpers *helpers);

#endif
