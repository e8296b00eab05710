/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classes of tasks, one above the other, each with a scheduler of its own
 * (one.c); see sched.h.  At most one of them has a holder.
 */
#include "gpushare/sched/sched.h"

#include <stdlib.h>

#include "gpushare/sched/core.h"

struct class
{
	struct gs_one *one;
	int own_policy;
	int32_t priority;
};

struct gs_sched {
	struct gs_sched_options options;
	struct class class[GS_SCHED_CLASSES_MAX]; /* in the caller's order */
	uint8_t order[GS_SCHED_CLASSES_MAX]; /* numbers of classes, the first to be served first */
	size_t count;
	uint64_t now;
	/* Which task last got the GPU, and since when no other one has had it, also if it went and
	 * came back meanwhile, as it does when its priority, and so its class, changes. */
	uint64_t last, last_since_ns;
	uint64_t chosen; /* the task that the latest RUN named */
};

static uint64_t advance(struct gs_sched *sched, uint64_t now)
{
	if (now > sched->now)
		sched->now = now;
	return sched->now;
}

static struct gs_one *class_at(const struct gs_sched *sched, size_t rank)
{
	return sched->class[sched->order[rank]].one;
}

/* The class of a live task, NULL: there is none such. */
static struct gs_one *class_of(const struct gs_sched *sched, uint64_t id)
{
	for (size_t i = 0; i < sched->count; i++)
		if (gs_index_find(&sched->class[i].one->index, id))
			return sched->class[i].one;
	return NULL;
}

/* The rank of the class that has the holder; `count`: nobody holds the GPU. */
static size_t is_holder(const struct gs_sched *sched)
{
	size_t rank = 0;

	while (rank < sched->count && !class_at(sched, rank)->holder)
		rank++;
	return rank;
}

struct gs_sched *gs_sched_create_under(const struct gs_policy *policy,
				       const struct gs_sched_options *options, uint64_t now,
				       struct gs_error *err)
{
	struct gs_sched *sched;

	if (gs_sched_check(options, err) < 0)
		return NULL;
	sched = calloc(1, sizeof(*sched));
	if (!sched) {
		gs_fail(err, "no memory");
		return NULL;
	}
	sched->options = *options;
	sched->now = now;
	sched->class[0].one = gs_one_create_under(policy, options, now, err);
	if (!sched->class[0].one) {
		free(sched);
		return NULL;
	}
	sched->count = 1;
	return sched;
}

struct gs_sched *gs_sched_create(const char *policy, const struct gs_sched_options *options,
				 uint64_t now, struct gs_error *err)
{
	const struct gs_policy *found = gs_policy_find(policy, err);

	return found ? gs_sched_create_under(found, options, now, err) : NULL;
}

static void destroy_classes(struct class *class, size_t count)
{
	for (size_t i = 0; i < count; i++)
		gs_one_destroy(class[i].one);
}

void gs_sched_destroy(struct gs_sched *sched)
{
	if (!sched)
		return;
	destroy_classes(sched->class, sched->count);
	free(sched);
}

/* Sort by priority. Insertion keeps the list's order among equals. */
static void rank_classes(struct gs_sched *sched)
{
	for (size_t i = 0; i < sched->count; i++) {
		size_t at = i;

		while (at > 0 &&
		       sched->class[sched->order[at - 1]].priority < sched->class[i].priority) {
			sched->order[at] = sched->order[at - 1];
			at--;
		}
		sched->order[at] = (uint8_t)i;
	}
}

int gs_sched_set_classes(struct gs_sched *sched, const struct gs_sched_class *classes, size_t count,
			 uint64_t now, struct gs_error *err)
{
	struct class fresh[GS_SCHED_CLASSES_MAX] = { 0 };
	size_t made = 0;

	if (count == 0 || count > GS_SCHED_CLASSES_MAX)
		return gs_fail(err, "%zu classes: there may be 1 to %d", count,
			       GS_SCHED_CLASSES_MAX);
	if (gs_sched_count(sched))
		return gs_fail(err, "there are tasks already");
	if (sched->options.by_priority)
		return gs_fail(err, "each priority is a class of its own already");
	advance(sched, now);
	for (; made < count; made++) {
		const char *name = classes[made].policy;
		const struct gs_policy *policy = sched->class[0].one->policy;

		fresh[made].own_policy = name && *name;
		fresh[made].priority = classes[made].priority;
		if (fresh[made].own_policy && !(policy = gs_policy_find(name, err)))
			break;
		fresh[made].one = gs_one_create_under(policy, &sched->options, sched->now, err);
		if (!fresh[made].one)
			break;
	}
	if (made < count) {
		destroy_classes(fresh, made);
		return -1;
	}
	destroy_classes(sched->class, sched->count);
	for (size_t i = 0; i < count; i++)
		sched->class[i] = fresh[i];
	sched->count = count;
	rank_classes(sched);
	return 0;
}

void gs_sched_set_handover(struct gs_sched *sched, uint64_t handover_ns)
{
	sched->options.handover_ns = handover_ns;
	for (size_t i = 0; i < sched->count; i++)
		gs_one_set_options(sched->class[i].one, &sched->options);
}

int gs_sched_set_policy(struct gs_sched *sched, const char *policy, uint64_t now,
			struct gs_error *err)
{
	const struct gs_policy *found = gs_policy_find(policy, err);

	if (!found)
		return -1;
	advance(sched, now);
	for (size_t i = 0; i < sched->count; i++)
		if (!sched->class[i].own_policy)
			gs_one_set_policy(sched->class[i].one, found, sched->now);
	return 0;
}

int gs_sched_set_class_policy(struct gs_sched *sched, size_t class, const char *policy,
			      uint64_t now, struct gs_error *err)
{
	const struct gs_policy *found = gs_policy_find(policy, err);

	if (!found)
		return -1;
	advance(sched, now);
	sched->class[class].own_policy = 1;
	gs_one_set_policy(sched->class[class].one, found, sched->now);
	return 0;
}

size_t gs_sched_class_count(const struct gs_sched *sched)
{
	return sched->count;
}

void gs_sched_class_status(const struct gs_sched *sched, size_t class,
			   struct gs_sched_class_status *status)
{
	const struct gs_one *one = sched->class[class].one;

	*status = (struct gs_sched_class_status) {
		.policy = gs_one_policy(one),
		.broke = one->broke ? one->broke->name : NULL,
		.own = sched->class[class].own_policy,
		.faults = gs_one_faults(one),
	};
}

const char *gs_sched_policy(const struct gs_sched *sched)
{
	for (size_t i = 0; i < sched->count; i++)
		if (!sched->class[i].own_policy)
			return gs_one_policy(sched->class[i].one);
	return gs_one_policy(sched->class[0].one);
}

/* The class of this priority, if there is one; else the next lower one, or the lowest of all. */
static size_t class_at_most(const struct gs_sched *sched, int32_t priority)
{
	for (size_t rank = 0; rank < sched->count; rank++)
		if (sched->class[sched->order[rank]].priority <= priority)
			return sched->order[rank];
	return sched->order[sched->count - 1];
}

/* Room for another class: a new one, or one that has no task. */
static struct class *spare_class(struct gs_sched *sched, struct gs_error *err)
{
	const struct gs_policy *policy = sched->class[0].one->policy;
	struct class *c = &sched->class[sched->count];

	for (size_t i = 0; i < sched->count; i++)
		if (gs_one_count(sched->class[i].one) == 0)
			return &sched->class[i];
	if (sched->count == GS_SCHED_CLASSES_MAX)
		return NULL;
	c->one = gs_one_create_under(policy, &sched->options, sched->now, err);
	if (!c->one)
		return NULL;
	sched->count++;
	return c;
}

/* by_priority: the class that a task of this priority joins. */
static size_t class_for(struct gs_sched *sched, int32_t priority)
{
	size_t found = class_at_most(sched, priority);
	struct gs_error err;
	struct class *c;

	if (sched->class[found].priority == priority)
		return found;
	c = spare_class(sched, &err);
	if (!c)
		return found;
	c->priority = priority;
	rank_classes(sched);
	return (size_t)(c - sched->class);
}

/* The policy of a task's class. Where each priority is a class all have the same. */
static const struct gs_policy *policy_of(const struct gs_sched *sched, uint32_t class)
{
	size_t last = sched->count - 1;

	if (sched->options.by_priority)
		class = 0;
	return sched->class[class < last ? class : last].one->policy;
}

int gs_sched_is_due(const struct gs_sched *sched, struct gs_urgency of)
{
	return of.has_deadline && policy_of(sched, of.class)->by_deadline;
}

static int compare_numbers(int32_t a, int32_t b)
{
	return (a > b) - (a < b);
}

/* Within one class. */
static int compare_under(const struct gs_policy *policy, struct gs_urgency a, struct gs_urgency b)
{
	if (policy->by_deadline)
		return (a.has_deadline != 0) - (b.has_deadline != 0);
	return policy->by_priority ? compare_numbers(a.priority, b.priority) : 0;
}

int gs_sched_compare(const struct gs_sched *sched, struct gs_urgency a, struct gs_urgency b)
{
	size_t last = sched->count - 1;
	uint32_t x = a.class < last ? a.class : (uint32_t)last,
		 y = b.class < last ? b.class : (uint32_t)last;

	if (sched->options.by_priority)
		return a.priority != b.priority ? compare_numbers(a.priority, b.priority) :
						  compare_under(policy_of(sched, 0), a, b);
	if (sched->class[x].priority != sched->class[y].priority)
		return compare_numbers(sched->class[x].priority, sched->class[y].priority);
	if (x != y) /* of two classes of one priority the earlier goes first */
		return x < y ? 1 : -1;
	return compare_under(policy_of(sched, x), a, b);
}

void gs_sched_evict(struct gs_sched *sched)
{
	size_t rank = is_holder(sched);

	if (rank < sched->count)
		gs_one_evict(class_at(sched, rank));
}

int gs_sched_arrive(struct gs_sched *sched, uint64_t id, const struct gs_task_params *params,
		    uint64_t now, struct gs_error *err)
{
	size_t class = params->class < sched->count ? params->class : sched->count - 1;

	advance(sched, now);
	if (class_of(sched, id))
		return gs_fail(err, "a task with this id exists already");
	if (sched->options.by_priority)
		class = class_for(sched, params->priority);
	return gs_one_arrive(sched->class[class].one, id, params, sched->now, err);
}

void gs_sched_progress(struct gs_sched *sched, uint64_t id, uint64_t nt, uint64_t done,
		       uint64_t alone_ns, uint64_t now)
{
	struct gs_one *one = class_of(sched, id);

	advance(sched, now);
	if (one)
		gs_one_progress(one, id, nt, done, alone_ns, sched->now);
}

void gs_sched_set_priority(struct gs_sched *sched, uint64_t id, int32_t priority, uint64_t now)
{
	struct gs_one *one = class_of(sched, id);

	advance(sched, now);
	if (one)
		gs_one_set_priority(one, id, priority, sched->now);
}

void gs_sched_leave(struct gs_sched *sched, uint64_t id, uint64_t now, struct gs_task_stats *stats)
{
	struct gs_one *one = class_of(sched, id);

	advance(sched, now);
	if (one)
		gs_one_leave(one, id, sched->now, stats);
	else if (stats)
		*stats = (struct gs_task_stats) { 0 };
}

void gs_sched_stopped(struct gs_sched *sched, uint64_t id, uint64_t now)
{
	struct gs_one *one = class_of(sched, id);

	advance(sched, now);
	if (one)
		gs_one_stopped(one, id, sched->now);
}

void gs_sched_started(struct gs_sched *sched, uint64_t id, uint64_t now)
{
	struct gs_one *one = class_of(sched, id), *had;
	size_t rank = is_holder(sched);

	advance(sched, now);
	if (!one)
		return;
	had = rank < sched->count ? class_at(sched, rank) : NULL;
	if (had && had != one)
		gs_one_stopped(had, had->holder->id, sched->now);
	if (sched->last != id) {
		sched->last = id;
		sched->last_since_ns = sched->now;
	}
	/* The caller preferred another one to the policy's choice: if the policy exchanges that one
	 * again, it does not go round in a circle by itself. */
	if (sched->chosen != id && !(one->holder && one->holder->id == id))
		gs_core_news(one);
	sched->chosen = 0;
	gs_one_started(one, id, sched->now);
}

/* The class whose longest waiting task is due first; its due time in *due. */
static size_t most_starved(const struct gs_sched *sched, uint64_t *due)
{
	size_t rank = 0;

	*due = GS_NO_LIMIT;
	for (size_t i = 0; i < sched->count; i++) {
		uint64_t when = gs_one_starvation_due(class_at(sched, i));

		if (when < *due) {
			*due = when;
			rank = i;
		}
	}
	return rank;
}

/* Nobody holds the GPU: the class that goes next decides. */
static void decide_free(struct gs_sched *sched, struct gs_decision *decision)
{
	uint64_t due;
	size_t rank = most_starved(sched, &due);

	if (due > sched->now)
		for (rank = 0; rank + 1 < sched->count; rank++)
			if (gs_one_count(class_at(sched, rank)))
				break;
	gs_one_decide(class_at(sched, rank), sched->now, decision);
}

/* Do the other classes let the holder stay, and until when? */
static uint64_t others_want(const struct gs_sched *sched, size_t rank)
{
	const struct gs_one *one = class_at(sched, rank);
	uint64_t due = GS_NO_LIMIT, slice = gs_later(sched->last_since_ns, gs_core_slice(one));

	for (size_t i = 0; i < rank; i++)
		if (gs_one_count(class_at(sched, i)))
			return one->protected_until;
	for (size_t i = rank + 1; i < sched->count; i++) {
		uint64_t when = gs_one_starvation_due(class_at(sched, i));

		if (when < due)
			due = when;
	}
	return due == GS_NO_LIMIT || due > slice ? due : slice;
}

void gs_sched_decide(struct gs_sched *sched, uint64_t now, struct gs_decision *decision)
{
	size_t rank = is_holder(sched);
	uint64_t until;

	advance(sched, now);
	if (rank == sched->count) {
		decide_free(sched, decision);
		sched->chosen = decision->task;
		return;
	}
	gs_one_decide(class_at(sched, rank), sched->now, decision);
	if (decision->action != GS_ACT_KEEP || sched->count == 1)
		return;
	until = others_want(sched, rank);
	if (until <= sched->now) {
		gs_one_evict(class_at(sched, rank));
		decision->action = GS_ACT_EVICT;
		decision->deadline_ns = GS_NO_LIMIT;
	} else if (until < decision->deadline_ns) {
		decision->deadline_ns = until;
	}
}

int gs_sched_stats(struct gs_sched *sched, uint64_t id, uint64_t now, struct gs_task_stats *stats)
{
	struct gs_one *one = class_of(sched, id);

	advance(sched, now);
	return one ? gs_one_stats(one, id, sched->now, stats) : -1;
}

int gs_sched_peek(struct gs_sched *sched, uint64_t now, uint64_t *id)
{
	uint64_t due;
	const struct gs_one *starved = class_at(sched, most_starved(sched, &due));

	if (due <= now && starved->ready.oldest) {
		*id = starved->ready.oldest->id;
		return 1;
	}
	for (size_t i = 0; i < sched->count; i++) {
		struct gs_one *one = class_at(sched, i);

		if (one->ready.count) {
			*id = gs_one_peek(one, now);
			return 1;
		}
	}
	return 0;
}

size_t gs_sched_count(const struct gs_sched *sched)
{
	size_t sum = 0;

	for (size_t i = 0; i < sched->count; i++)
		sum += gs_one_count(sched->class[i].one);
	return sum;
}

unsigned gs_sched_faults(const struct gs_sched *sched)
{
	unsigned sum = 0;

	for (size_t i = 0; i < sched->count; i++)
		sum += gs_one_faults(sched->class[i].one);
	return sum;
}
