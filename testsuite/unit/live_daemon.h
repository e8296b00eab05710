/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A real gpushared in a folder of its own, and raw connections to it: for the
 * tests of the live daemon.  Every helper fails the test it is called from.
 */
#ifndef TESTSUITE_LIVE_DAEMON_H
#define TESTSUITE_LIVE_DAEMON_H

#include <stdint.h>
#include <sys/types.h>

#include "gpushare/proto/msg.h"
#include "gpushare/proto/page.h"

struct live {
	char dir[64];
	char socket[96], conf[96], log[96], pid_file[96];
	pid_t pid;
};

/* One GPU of 1000 MiB and 100 shares, partition high above the rest, AllowLocal. */
void live_begin(struct live *l);
/* SIGTERM it if it still runs; remove the folder. */
void live_end(struct live *l);

void live_configure(const struct live *l, const char *extra);
void live_start(struct live *l);
/* Send the signal and wait for its end; the exit status as waitpid gives it. */
int live_stop(struct live *l, int sig);
/* Run gpushared with this configuration to its exit; what it says on standard error. */
int live_run(const char *conf, char *said, size_t size);
/* Lines of a file, of the log, that hold the text. */
unsigned live_lines(const char *path, const char *text);
unsigned live_logged(const struct live *l, const char *text);

int live_connect(const struct live *l);
void live_send(int sock, const struct gs_msg *msg, int fd);
/* The next message, but for a WAIT, must be of that type. */
void live_expect(int sock, struct gs_msg *msg, enum gs_msg_type type, int *fd);
/* The daemon has closed the connection, unread answers aside. */
void live_expect_closed(int sock);

/* LOCAL; the connection, and the job's id. */
int live_local(const struct live *l, uint32_t shares, uint64_t memory, const char *partition,
	       uint32_t *job);
/* HELLO; the connection, and the page; *page_fd (may be NULL) as passed by WELCOME. */
int live_hello(const struct live *l, uint32_t job, struct gs_page **page, int *page_fd);
/* The refusal's code of a HELLO for that job. */
uint32_t live_hello_refused(const struct live *l, uint32_t job);
void live_doorbell(int sock);
/* ALLOC and its answer. */
struct gs_msg_allocated live_alloc(int sock, uint64_t bytes);

/* A report as JSON, to be freed. */
char *live_query(const struct live *l, enum gs_query what, uint32_t job);

/* Launch in slot i, asking if there is no turn. */
void live_launch(int sock, struct gs_page *page, unsigned i, uint64_t seq);
/* Wait until the slot is in that state (20 s at most), answering like an agent. */
void live_await(struct gs_page *page, unsigned i, uint32_t state);
/* The GPU's and the client's moves. */
void live_move(struct gs_page *page, unsigned i, uint32_t from, uint32_t to);

#endif
