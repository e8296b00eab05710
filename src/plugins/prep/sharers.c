/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slurm before 23.11.5 takes a GPU for free as soon as one of several jobs with
 * shares of it ends: it clears the GPU's bit in the node's record, though the
 * counts of shares stay right.  A whole GPU would then be given out beside the
 * other sharers.  The bits are set again from the jobs' records, as Slurm does
 * itself when it recovers its jobs.
 */
#define _GNU_SOURCE
#include "plugins/prep/sharers.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 5)

#define GRES_NAME "gpushare"

extern gs_list job_list __attribute__((weak));

/* A list may have one entry for each type of GPU, so all are looked at. */
struct search {
	uint32_t plugin_id;
	const job_record_t *ended; /* NULL: look at all nodes */
	/* of one job */
	int64_t node;    /* -1: only look whether there is an entry */
	uint32_t offset; /* the node's place among the job's nodes */
	int found;
};

static void label(const gres_job_state_t *job, const struct search *at)
{
	uint32_t plugin_id = at->plugin_id;
	node_record_t *node = node_record_table_ptr[at->node];
	gres_state_t *state = node && node->gres_list ?
				      list_find_first(node->gres_list, gres_find_id, &plugin_id) :
				      NULL;
	gres_node_state_t *shares = state ? state->gres_data : NULL;
	bitstr_t *taken = job->gres_bit_alloc && at->offset < job->node_cnt ?
				  job->gres_bit_alloc[at->offset] :
				  NULL;

	if (shares && shares->gres_bit_alloc && taken &&
	    bit_size(shares->gres_bit_alloc) == bit_size(taken))
		bit_or(shares->gres_bit_alloc, taken);
}

static int inspect_gres(void *x, void *arg)
{
	gres_state_t *state = x;
	struct search *at = arg;

	if (state->plugin_id != at->plugin_id)
		return 0;
	at->found = 1;
	if (at->node >= 0)
		label(state->gres_data, at);
	return 0;
}

static int has_shares(const job_record_t *job, struct search *search)
{
	search->found = 0;
	search->node = -1;
	if (job->gres_list_alloc)
		list_for_each (job->gres_list_alloc, inspect_gres, search)
			;
	return search->found;
}

static int inspect_job(void *x, void *arg)
{
	job_record_t *job = x;
	struct search *search = arg;
	bitstr_t *nodes = job->job_resrcs ? job->job_resrcs->node_bitmap : NULL;

	if (job == search->ended || !(IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) || !nodes ||
	    !has_shares(job, search))
		return 0;
	search->offset = 0;
	for (int64_t i = bit_ffs(nodes), last = bit_fls(nodes); i >= 0 && i <= last; i++) {
		if (!bit_test(nodes, i))
			continue;
		search->node = i;
		if (!search->ended || bit_test(search->ended->job_resrcs->node_bitmap, i))
			list_for_each (job->gres_list_alloc, inspect_gres, search)
				;
		search->offset++;
	}
	return 0;
}

void gs_sharers_label(const job_record_t *ended)
{
	struct search search = { .plugin_id = gres_build_id(GRES_NAME), .ended = ended };

	if (!&job_list || !job_list)
		return;
	if (ended &&
	    (!ended->job_resrcs || !ended->job_resrcs->node_bitmap || !has_shares(ended, &search)))
		return;
	list_for_each (job_list, inspect_job, &search)
		;
}

#else

void gs_sharers_label(const job_record_t *ended)
{
	(void)ended;
}

#endif
