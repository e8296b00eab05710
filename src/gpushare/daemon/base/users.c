/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each user's part of the daemon's time and log; see users.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/users.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/queue.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/step.h"

#define USERS_MAX 1088 /* more than there are steps, so who has one is never forgotten */
#define STRANGERS_MAX 256
/* More than all of them have at once, so that it stops only those who connect too often. */
#define STRANGER_AT_ONCE_NS (150 * GS_NS_PER_MS)
#define TIME_AT_ONCE_NS (100 * GS_NS_PER_MS)
#define TIME_PART 5 /* one fifth */
/* All users together have four fifths. More than three that ask for much have three quarters in
 * equal parts: what each has had is forgotten a little later than what all have had, so that they
 * seldom wait for the latter, where nobody's turn is kept. */
#define FEW 3
#define ALL_AT_ONCE_NS (4 * TIME_AT_ONCE_NS)
/* Whoever has had so much asks for much; programs at work do not. It is also the least that a user
 * may have at once. */
#define MUCH_NS (10 * GS_NS_PER_MS)
#define LITTLE_NS (MUCH_NS / 4)
#define WINDOW_NS GS_NS_PER_S
#define LINES_AT_ONCE 5000
#define LINE_NS (100 * GS_NS_PER_MS)  /* a further line */
#define WARNING_NS (60 * GS_NS_PER_S) /* a further warning about a user who goes on */

struct user {
	TAILQ_ENTRY(user) link;
	uid_t uid;
	uint64_t seen_ns;
	uint64_t spent_ns;
	uint64_t window; /* the last one in which it has asked for much */
	unsigned said;   /* lines */
	uint64_t said_ns;
	unsigned unsaid;
	uint64_t warned_ns; /* 0: never */
};

TAILQ_HEAD(user_list, user);

/* The users that were seen last. */
struct known {
	struct user_list latest; /* the latest first */
	struct user *place;
	unsigned n, most;
};

static struct user places[USERS_MAX], places_of_strangers[STRANGERS_MAX];
static struct known users = { TAILQ_HEAD_INITIALIZER(users.latest), places, 0, USERS_MAX };
/* Each user number that has no step here. */
static struct known strangers = { TAILQ_HEAD_INITIALIZER(strangers.latest), places_of_strangers, 0,
				  STRANGERS_MAX };

/* How many users ask for much: in this second, and in the one before. */
static struct {
	uint64_t number, begun_ns;
	unsigned n, before;
} window;

/* What all users together have had, but for what is forgiven. */
static struct {
	uint64_t spent_ns, seen_ns;
} all;

static void begin_window(uint64_t now)
{
	if (window.number && now - window.begun_ns < WINDOW_NS)
		return;
	window.before = now - window.begun_ns < 2 * WINDOW_NS ? window.n : 0;
	window.n = 0;
	window.number++;
	window.begun_ns = now;
}

static unsigned heavy_users(void)
{
	return window.n > window.before ? window.n : window.before;
}

/* What each user may have at once. */
static uint64_t at_once_ns(void)
{
	unsigned n = heavy_users();

	if (n <= FEW)
		return TIME_AT_ONCE_NS;
	return ALL_AT_ONCE_NS / n > MUCH_NS ? ALL_AT_ONCE_NS / n : MUCH_NS;
}

static void forgive(uint64_t *spent_ns, uint64_t ns)
{
	*spent_ns -= ns < *spent_ns ? ns : *spent_ns;
}

/* Notes that time has passed: some of what it has spent and said is forgiven. */
static void bring_up_to(struct user *u, uint64_t now, unsigned n)
{
	uint64_t lines = (now - u->said_ns) / LINE_NS, since = now - u->seen_ns;

	forgive(&u->spent_ns, n <= FEW ? since / TIME_PART : since * 3 / 4 / n);
	u->said -= lines < u->said ? (unsigned)lines : u->said;
	u->said_ns += lines * LINE_NS;
	u->seen_ns = now;
}

/* A place for one who is not known; the one that was seen longest ago is known no more. */
static struct user *new_one(struct known *k)
{
	struct user *u;

	if (k->n < k->most)
		return &k->place[k->n++];
	u = TAILQ_LAST(&k->latest, user_list);
	TAILQ_REMOVE(&k->latest, u, link);
	return u;
}

static struct user *find_among(struct known *k, uid_t uid, unsigned n)
{
	uint64_t now = gs_clock_ns();
	struct user *u;

	TAILQ_FOREACH (u, &k->latest, link)
		if (u->uid == uid)
			break;
	if (u) {
		bring_up_to(u, now, n);
		TAILQ_REMOVE(&k->latest, u, link);
	} else {
		u = new_one(k);
		*u = (struct user) { .uid = uid, .seen_ns = now, .said_ns = now };
	}
	TAILQ_INSERT_HEAD(&k->latest, u, link);
	return u;
}

static struct user *find(uid_t uid)
{
	struct user *u;

	begin_window(gs_clock_ns());
	u = find_among(&users, uid, heavy_users());
	if (u->spent_ns >= MUCH_NS && u->window != window.number) {
		u->window = window.number;
		window.n++;
	}
	return u;
}

static struct user *find_stranger(uid_t uid)
{
	return find_among(&strangers, uid, 1);
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
	const char *part = heavy_users() <= FEW ? "a fifth" : "their part";

	if (u->uid == GS_USER_STRANGERS)
		gs_log(GS_LOG_WARN,
		       "users who have no step here ask for more than %s of "
		       "gpushared's time together, and wait for their answers",
		       part);
	else
		gs_log(GS_LOG_WARN,
		       "uid %u: its programs ask for more than %s of gpushared's time, and "
		       "wait for their answers",
		       (unsigned)u->uid, part);
}

/* Adds to what all users have had, and returns that. */
static uint64_t all_spent(uint64_t ns)
{
	uint64_t now = gs_clock_ns();

	forgive(&all.spent_ns, (now - all.seen_ns) / TIME_PART * (TIME_PART - 1));
	all.seen_ns = now;
	return all.spent_ns += ns;
}

/* Has it had all that it may have at once, and is this to be said? */
static int is_to_be_warned(struct user *u, uint64_t at_once)
{
	if (u->spent_ns < at_once || (u->warned_ns && u->seen_ns - u->warned_ns < WARNING_NS))
		return 0;
	u->warned_ns = u->seen_ns;
	return 1;
}

void gs_user_spent(uid_t pays, uid_t uid, uint64_t ns)
{
	struct user *u;

	if (pays == 0)
		return;
	all_spent(ns);
	u = find(pays);
	u->spent_ns += ns;
	if (is_to_be_warned(u, at_once_ns()))
		warn(u);
	if (pays == GS_USER_STRANGERS)
		find_stranger(uid)->spent_ns += ns;
}

void gs_user_connected(const struct gs_daemon *d, uid_t uid, uint64_t ns)
{
	struct user *u;

	if (uid == 0 || gs_user_has_step(d, uid)) {
		gs_user_spent(uid, uid, ns);
		return;
	}
	all_spent(ns);
	u = find_stranger(uid);
	u->spent_ns += ns;
	if (is_to_be_warned(u, STRANGER_AT_ONCE_NS))
		warn(u);
}

int gs_user_is_over(uid_t pays, uid_t uid)
{
	const struct user *u;

	if (pays == 0)
		return 0;
	u = find(pays);
	return u->spent_ns >= at_once_ns() || all_spent(0) >= ALL_AT_ONCE_NS ||
	       (pays == GS_USER_STRANGERS && find_stranger(uid)->spent_ns >= STRANGER_AT_ONCE_NS);
}

int gs_user_has_had_little(uid_t uid)
{
	return uid == 0 || find(uid)->spent_ns < LITTLE_NS;
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
