/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each user may ask of the daemon: no more than a part of its time, and
 * of its log.  root is not counted.  The 1,088 users that asked last are known.
 */
#ifndef GPUSHARE_DAEMON_BASE_USERS_H
#define GPUSHARE_DAEMON_BASE_USERS_H

#include <stdint.h>
#include <sys/types.h>

struct gs_daemon;

/* All who have no step here. */
#define GS_USER_STRANGERS ((uid_t)-1)

int gs_user_has_step(const struct gs_daemon *d, uid_t uid);

/*
 * Charges the user for so much of the event loop's time, ns. pays: gs_connection_who_pays(). uid:
 * the connection's own user, which matters only where all who have no step here pay: among them
 * none may exceed a fifth either, and 150 ms at once. When a user exceeds its part, the log says so
 * at once, and then once a minute for as long as that goes on.
 */
void gs_user_spent(uid_t pays, uid_t uid, uint64_t ns);

/* Charges a user for what a new connection of it took of the event loop's time, ns. It counts to
 * that user alone: who connects without end must not keep others who have no step from asking. */
void gs_user_connected(const struct gs_daemon *d, uid_t uid, uint64_t ns);

/*
 * A clock of the event loop's time that counts as its messages' own: the loop's time on a
 * processor, and what it waited for others to do for it (gs_user_waited()). Not what others' load
 * took from it. The loop's thread only.
 */
uint64_t gs_user_clock_ns(void);

/* The loop has waited for work of that many ns which it had others do. */
void gs_user_waited(uint64_t ns);

/*
 * 1 while a user has had more of the event loop's time than its part, or all users together have
 * had more than four fifths: nothing more is read from it then. The part is a fifth, and 100 ms at
 * once. While more than three users ask for much, they have equal parts of three quarters instead,
 * and at once 400 ms divided by their number, at least 10 ms. All together have 400 ms at once.
 * pays and uid as for gs_user_spent().
 */
int gs_user_is_over(uid_t pays, uid_t uid);

/* 1 if the user has had so little of its part lately that it goes before those that had much. */
int gs_user_has_had_little(uid_t uid);

/*
 * An INFO line on what the user's programs do.  Each user may have 5,000 at
 * once and ten a second; how many more there were is said later.
 */
void gs_user_log(uid_t uid, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
