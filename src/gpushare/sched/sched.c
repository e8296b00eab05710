/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classes of tasks, one above the other, each with a scheduler of its own
 * (one.c); see sched.h.  At most one of them has a holder.
 */
#include "gpushare/sched/sched.h"

#include <stdlib.h>

#include "gpushare/sched/classes.h"

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

void gs_sched_destroy(struct gs_sched *sched)
{
	if (!sched)
		return;
	gs_classes_destroy(sched->class, sched->count);
	free(sched);
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
	gs_sched_advance(sched, now);
	for (size_t i = 0; i < sched->count; i++)
		if (!sched->class[i].own_policy)
			gs_one_set_policy(sched->class[i].one, found, sched->now);
	return 0;
}

const char *gs_sched_policy(const struct gs_sched *sched)
{
	for (size_t i = 0; i < sched->count; i++)
		if (!sched->class[i].own_policy)
			return gs_one_policy(sched->class[i].one);
	return gs_one_policy(sched->class[0].one);
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

	gs_sched_advance(sched, now);
	if (class_of(sched, id))
		return gs_fail(err, "a task with this id exists already");
	if (sched->options.by_priority)
		class = gs_class_for(sched, params->priority);
	return gs_one_arrive(sched->class[class].one, id, params, sched->now, err);
}

void gs_sched_progress(struct gs_sched *sched, uint64_t id, uint64_t nt, uint64_t done,
		       uint64_t alone_ns, uint64_t now)
{
	struct gs_one *one = class_of(sched, id);

	gs_sched_advance(sched, now);
	if (one)
		gs_one_progress(one, id, nt, done, alone_ns, sched->now);
}

void gs_sched_set_priority(struct gs_sched *sched, uint64_t id, int32_t priority, uint64_t now)
{
	struct gs_one *one = class_of(sched, id);

	gs_sched_advance(sched, now);
	if (one)
		gs_one_set_priority(one, id, priority, sched->now);
}

void gs_sched_leave(struct gs_sched *sched, uint64_t id, uint64_t now, struct gs_task_stats *stats)
{
	struct gs_one *one = class_of(sched, id);

	gs_sched_advance(sched, now);
	if (one)
		gs_one_leave(one, id, sched->now, stats);
	else if (stats)
		*stats = (struct gs_task_stats) { 0 };
}

void gs_sched_stopped(struct gs_sched *sched, uint64_t id, uint64_t now)
{
	struct gs_one *one = class_of(sched, id);

	gs_sched_advance(sched, now);
	if (one)
		gs_one_stopped(one, id, sched->now);
}

void gs_sched_started(struct gs_sched *sched, uint64_t id, uint64_t now)
{
	struct gs_one *one = class_of(sched, id), *had;
	size_t rank = is_holder(sched);

	gs_sched_advance(sched, now);
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

	gs_sched_advance(sched, now);
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

	gs_sched_advance(sched, now);
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
