/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On top of live_daemon.h: a fixture, figures out of the reports, a client's moves. */
#ifndef TESTSUITE_LIVE_UTIL_H
#define TESTSUITE_LIVE_UTIL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "live_daemon.h"

/* A daemon per test: *state is its struct live. */
int live_setup(void **state);
int live_teardown(void **state);
#define LIVE(f) cmocka_unit_test_setup_teardown(f, live_setup, live_teardown)

/* A figure of the job's first step in the report. */
double live_figure(const struct live *l, uint32_t job, const char *key);
/* A value of GPU 0 in the status, as text. */
void live_status_gpu(const struct live *l, const char *key, char *buf, size_t size);
/* Its state file, which must be there but for "w"; the caller closes it. */
FILE *live_open_state(const struct live *l, const char *mode);
/* The daemon still serves whoever behaves. */
void live_serves(const struct live *l);
/* The log has, or within 20 s gets, exactly one line with the text. */
void live_await_log(const struct live *l, const char *text);

/* Root is not counted: where the tests run as root, this user asks. */
#define LIVE_SOMEBODY 65534
/* The first of the user numbers that one person may have (/etc/subuid). */
#define LIVE_MANY_FIRST 100000
/* A child that is no root; it ends by _exit(). */
pid_t live_fork_user(void);
/* Waits for its end: was its status another one than 0? */
int live_has_failed(pid_t pid);

/* A client that announces as many kernels as it may; its connection. */
#define LIVE_KERNELS 4096
int live_announce(const struct live *l, uint32_t *job);
/* A QUERY or HISTORY on a connection of its own, which it returns, or on one that is there. */
int live_ask(const struct live *l, enum gs_msg_type type, enum gs_query what);
void live_ask_again(int sock, enum gs_msg_type type, enum gs_query what);
/* Asks on many connections until somebody ends it; it reads the answers, or its connections are
 * closed. */
void live_ask_for_ever(const struct live *l, int reads);

/* TORUN -> RUNNING, started. */
void live_run_slot(struct gs_page *page, unsigned i);
/* From that state to DONE, all block-tasks done. */
void live_end_slot(struct gs_page *page, unsigned i, uint32_t from);

#endif
