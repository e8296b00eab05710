/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which clients are of one allocation and equally urgent; see group.h. */
#include "gpushare/arbiter/group.h"

#include <stdlib.h>

#include "gpushare/arbiter/client.h"

int gs_gpu_group_reserve(struct gs_gpu *gpu)
{
	struct gs_gpu_group *group = calloc(1, sizeof(*group));

	if (!group)
		return -1;
	LIST_INSERT_HEAD(&gpu->groups.spare, group, link);
	return 0;
}

void gs_gpu_group_unreserve(struct gs_gpu *gpu)
{
	struct gs_gpu_group *group = LIST_FIRST(&gpu->groups.spare);

	LIST_REMOVE(group, link);
	free(group);
}

static struct gs_gpu_group *find(const struct gs_gpu_client *t)
{
	struct gs_gpu_group *group;

	LIST_FOREACH (group, &t->gpu->groups.used, link)
		if (group->alloc == t->p.alloc &&
		    gs_sched_compare(t->gpu->sched, group->urgency, gs_gpu_client_urgency(t)) == 0)
			return group;
	return NULL;
}

struct gs_gpu_group *gs_gpu_group_of(struct gs_gpu_client *t)
{
	struct gs_gpu_group *group = t->holder_state.group ? t->holder_state.group : find(t);

	if (!group) {
		group = LIST_FIRST(&t->gpu->groups.spare);
		LIST_REMOVE(group, link);
		*group = (struct gs_gpu_group) {
			.alloc = t->p.alloc,
			.urgency = gs_gpu_client_urgency(t),
			.shares = t->p.alloc_shares ? t->p.alloc_shares : 1,
		};
		LIST_INSERT_HEAD(&t->gpu->groups.used, group, link);
	}
	if (!t->holder_state.group) {
		t->holder_state.group = group;
		group->clients++;
	}
	return group;
}

void gs_gpu_group_leave(struct gs_gpu_client *t)
{
	struct gs_gpu_group *group = t->holder_state.group;

	if (t->gpu->owed.repaid == t)
		t->gpu->owed.repaid = NULL; /* its equals owed it something, others do not */
	t->holder_state.group = NULL;
	t->holder_state.joined = 0;
	if (!group || --group->clients)
		return;
	LIST_REMOVE(group, link);
	LIST_INSERT_HEAD(&t->gpu->groups.spare, group, link);
}

void gs_gpu_group_leave_all(struct gs_gpu *gpu)
{
	struct gs_gpu_client *t;

	LIST_FOREACH (t, &gpu->clients, link)
		gs_gpu_group_leave(t);
}
