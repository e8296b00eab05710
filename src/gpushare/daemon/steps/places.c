/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each user's part of the places for steps; see places.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/steps/places.h"

/* How many steps there are; *own: how many of them are the user's. */
static unsigned count(const struct gs_daemon *d, uid_t uid, unsigned *own)
{
	const struct gs_step *s;
	unsigned all = 0;

	*own = 0;
	TAILQ_FOREACH (s, &d->steps, link) {
		all++;
		*own += s->info.uid == uid;
	}
	return all;
}

static int any_left(unsigned all, struct gs_error *err)
{
	return all >= GS_STEPS_MAX ? gs_fail(err, "there are %u steps already", all) : 0;
}

int gs_places_left(const struct gs_daemon *d, struct gs_error *err)
{
	unsigned own;

	return any_left(count(d, 0, &own), err);
}

int gs_places_admit(const struct gs_daemon *d, uid_t uid, struct gs_error *err)
{
	unsigned own, are_free, all = count(d, uid, &own);

	if (any_left(all, err) < 0)
		return -1;
	are_free = GS_STEPS_MAX - all;
	if (uid != 0 && are_free <= GS_STEPS_LAST && own >= are_free)
		return gs_fail(err,
			       "uid %u has %u steps here, and the last %u of %u places are for "
			       "users who have fewer",
			       (unsigned)uid, own, are_free, GS_STEPS_MAX);
	return 0;
}

struct kept {
	uid_t uid;
	unsigned n;
	struct gs_step *oldest;
};

/* The list is in the order in which the steps ended, so the first of equals is the oldest one. */
static struct gs_step *one_to_forget(const struct gs_daemon *d)
{
	struct kept kept[GS_FINISHED_MAX + 1], *most = kept;
	struct gs_step *s;
	size_t users = 0;

	TAILQ_FOREACH (s, &d->finished.list, link) {
		size_t i = 0;

		while (i < users && kept[i].uid != s->info.uid)
			i++;
		if (i == users)
			kept[users++] = (struct kept) { .uid = s->info.uid, .oldest = s };
		kept[i].n++;
	}
	for (size_t i = 1; i < users; i++)
		if (kept[i].n > most->n)
			most = &kept[i];
	return most->oldest;
}

struct gs_step *gs_places_finished(struct gs_daemon *d, struct gs_step *step)
{
	TAILQ_INSERT_TAIL(&d->finished.list, step, link);
	if (d->finished.n < GS_FINISHED_MAX) {
		d->finished.n++;
		return NULL;
	}
	step = one_to_forget(d);
	TAILQ_REMOVE(&d->finished.list, step, link);
	return step;
}
