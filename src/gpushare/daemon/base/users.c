/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each user's part of the daemon's time and log; see users.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/users.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/step.h"

#define USERS 64
#define TIME_AT_ONCE_NS (100 * GS_NS_PER_MS)
#define TIME_PART 5 /* one fifth */
#define LINES_AT_ONCE 5000
#define LINE_NS (100 * GS_NS_PER_MS)  /* a further line */
#define WARNING_NS (60 * GS_NS_PER_S) /* a further warning about a user who goes on */

static struct user {
	uid_t uid;
	uint64_t seen_ns; /* 0: nobody's */
	uint64_t spent_ns;
	unsigned said; /* lines */
	uint64_t said_ns;
	unsigned unsaid;
	uint64_t warned_ns; /* 0: never */
} users[USERS];

/* The time and the lines that have been forgiven since. */
static void forgive(struct user *u, uint64_t now)
{
	uint64_t less = (now - u->seen_ns) / TIME_PART, lines = (now - u->said_ns) / LINE_NS;

	u->spent_ns -= less < u->spent_ns ? less : u->spent_ns;
	u->said -= lines < u->said ? (unsigned)lines : u->said;
	u->said_ns += lines * LINE_NS;
	u->seen_ns = now;
}

static struct user *find(uid_t uid)
{
	uint64_t now = gs_clock_ns();
	struct user *oldest = &users[0];

	for (struct user *u = users; u < users + USERS; u++) {
		if (u->seen_ns && u->uid == uid) {
			forgive(u, now);
			return u;
		}
		if (u->seen_ns < oldest->seen_ns)
			oldest = u;
	}
	*oldest = (struct user) { .uid = uid, .seen_ns = now, .said_ns = now };
	return oldest;
}

int gs_user_has_step(const struct gs_daemon *d, uid_t uid)
{
	const struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.uid == uid)
			return 1;
	return 0;
}

static uint64_t waited_ns;

uint64_t gs_user_clock_ns(void)
{
	return gs_thread_clock_ns() + waited_ns;
}

void gs_user_waited(uint64_t ns)
{
	waited_ns += ns;
}

/* Not a complaint: there are so many of those in a second, and the user can cause enough of them to
 * keep this line out. */
static void warn(const struct user *u)
{
	if (u->uid == GS_USER_STRANGERS)
		gs_log(GS_LOG_WARN, "users who have no step here ask for more than a fifth of "
				    "gpushared's time together, and wait for their answers");
	else
		gs_log(GS_LOG_WARN,
		       "uid %u: its programs ask for more than a fifth of gpushared's time, and "
		       "wait for their answers",
		       (unsigned)u->uid);
}

void gs_user_spent(uid_t uid, uint64_t ns)
{
	struct user *u;

	if (uid == 0)
		return;
	u = find(uid);
	u->spent_ns += ns;
	if (u->spent_ns < TIME_AT_ONCE_NS ||
	    (u->warned_ns && u->seen_ns - u->warned_ns < WARNING_NS))
		return;
	u->warned_ns = u->seen_ns;
	warn(u);
}

int gs_user_is_over(uid_t uid)
{
	return uid != 0 && find(uid)->spent_ns >= TIME_AT_ONCE_NS;
}

void gs_user_log(uid_t uid, const char *fmt, ...)
{
	struct user *u = uid ? find(uid) : NULL;
	char text[512];
	va_list ap;

	if (u && u->said >= LINES_AT_ONCE) {
		u->unsaid++;
		return;
	}
	if (u) {
		u->said++;
		if (u->unsaid)
			gs_log(GS_LOG_INFO, "%u more lines about uid %u", u->unsaid, (unsigned)uid);
		u->unsaid = 0;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gs_log(GS_LOG_INFO, "%s", text);
}
