/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which classes there are, and which is more urgent; see classes.h. */
#include "gpushare/sched/classes.h"

void gs_classes_destroy(struct gs_class *class, size_t count)
{
	for (size_t i = 0; i < count; i++)
		gs_one_destroy(class[i].one);
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
	struct gs_class fresh[GS_SCHED_CLASSES_MAX] = { 0 };
	size_t made = 0;

	if (count == 0 || count > GS_SCHED_CLASSES_MAX)
		return gs_fail(err, "%zu classes: there may be 1 to %d", count,
			       GS_SCHED_CLASSES_MAX);
	if (gs_sched_count(sched))
		return gs_fail(err, "there are tasks already");
	if (sched->options.by_priority)
		return gs_fail(err, "each priority is a class of its own already");
	gs_sched_advance(sched, now);
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
		gs_classes_destroy(fresh, made);
		return -1;
	}
	gs_classes_destroy(sched->class, sched->count);
	for (size_t i = 0; i < count; i++)
		sched->class[i] = fresh[i];
	sched->count = count;
	rank_classes(sched);
	return 0;
}

int gs_sched_set_class_policy(struct gs_sched *sched, size_t class, const char *policy,
			      uint64_t now, struct gs_error *err)
{
	const struct gs_policy *found = gs_policy_find(policy, err);

	if (!found)
		return -1;
	gs_sched_advance(sched, now);
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

/* The class of this priority, if there is one; else the next lower one, or the lowest of all. */
static size_t class_at_most(const struct gs_sched *sched, int32_t priority)
{
	for (size_t rank = 0; rank < sched->count; rank++)
		if (sched->class[sched->order[rank]].priority <= priority)
			return sched->order[rank];
	return sched->order[sched->count - 1];
}

/* Room for another class: a new one, or one that has no task. */
static struct gs_class *spare_class(struct gs_sched *sched, struct gs_error *err)
{
	const struct gs_policy *policy = sched->class[0].one->policy;
	struct gs_class *c = &sched->class[sched->count];

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

size_t gs_class_for(struct gs_sched *sched, int32_t priority)
{
	size_t found = class_at_most(sched, priority);
	struct gs_error err;
	struct gs_class *c;

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
