/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From slurmctld's start until a node registers, a second or two, slurmctld
 * knows how many GPUs and shares the node has, but not which share is of which
 * GPU.  Left alone it would meanwhile
 *  - give whole GPUs away that have shares in use,
 *  - refuse jobs with shares at submission, and put pending ones on hold
 *    (BadConstraints), when a running one has shares on the node.
 * So such a node counts as not responding until it registers, which clears
 * that, and each of its GPUs as having its part of the shares.
 *
 * slurmd's answer to a ping, or to the request to register, clears it too
 * early.  So the node also counts as one where a job is completing, and as one
 * that a job has for itself: the schedulers start nothing there.
 * A node whose only jobs are suspended is taken for idle, though: an answer lets
 * jobs that name it or want it alone in, until the thread sees that.
 *
 * Meanwhile Slurm describes the node as "gpu:2,gpushare:0".  If slurmctld saves
 * that before the node registers, a backup controller believes it when it takes
 * over, and counts none of the running jobs' shares.
 *
 * A backup controller reads the state anew whenever it takes over, which no
 * plugin is told.  So the thread stays, and looks at the nodes whenever they
 * have been changed.
 */
#define _GNU_SOURCE
#define GS_IN_SLURMCTLD
#include "plugins/prep/admission.h"

#include <pthread.h>
#include <unistd.h>

#include "plugins/gs_slurm_compat.h"
#include "plugins/prep/ended.h"
#include "plugins/prep/sharers.h"
#include "plugins/values.h"
/* It moved with 23.02. */
#if __has_include("src/interfaces/select.h")
#include "src/interfaces/select.h"
#else
#include "src/common/select.h"
#endif
#include "src/slurmctld/agent.h"
#include "src/slurmctld/ping_nodes.h"
/* It moved with 24.05. */
#if __has_include("src/stepmgr/srun_comm.h")
#include "src/stepmgr/srun_comm.h"
#else
#include "src/slurmctld/srun_comm.h"
#endif

#define GRES_NAME "gpushare"
#define POLL_US 2000
/* Without a lock: between reading the state and the first request a backup takes longer. */
#define BACKUP_POLL_US 5000
#define IDLE_POLL_US 1000000
#define REQUEST_EVERY_S 5

/* slurmctld's own; slurmd loads this plugin too. */
extern bitstr_t *avail_node_bitmap __attribute__((weak));
extern bitstr_t *cg_node_bitmap __attribute__((weak));
extern bitstr_t *share_node_bitmap __attribute__((weak));
extern time_t last_node_update __attribute__((weak));
extern __typeof__(slurmctld_primary) slurmctld_primary __attribute__((weak)); /* int, then bool */
extern gs_list job_list __attribute__((weak));

static int shared; /* the shares are of GPUs in gres/gpu */

static gres_node_state_t *state_of(const node_record_t *node, const char *name)
{
	uint32_t plugin_id = gres_build_id((char *)name);
	gres_state_t *state = NULL;

	if (node->gres_list)
		state = list_find_first(node->gres_list, gres_find_id, &plugin_id);
	return state ? state->gres_data : NULL;
}

/* Topology that was recovered from jobs has no sizes. */
static void assume_shares(gres_node_state_t *ours)
{
	for (uint16_t i = 0; i < ours->topo_cnt; i++)
		if (!ours->topo_gres_cnt_avail[i])
			ours->topo_gres_cnt_avail[i] = ours->gres_cnt_config / ours->topo_cnt;
}

/* Does slurm.conf give the node, which has not registered yet, shares, but the state that was saved
 * of it none? */
static int has_lost_shares(const node_record_t *node)
{
	gres_node_state_t *ours = state_of(node, GRES_NAME);

	return ours && !ours->gres_cnt_config && ours->gres_cnt_found == NO_VAL64 &&
	       node->config_ptr && gs_gres_count(node->config_ptr->gres, GRES_NAME) > 0;
}

/* Does for the nodes that have lost their shares what slurmctld does when it has read its state. */
static void restore_shares(void)
{
	int lost = 0;

	for (int i = 0; i < node_record_count; i++) {
		node_record_t *node = node_record_table_ptr[i];

		if (!node || !has_lost_shares(node))
			continue;
		gres_node_remove(node); /* from the cluster's sums; the next one adds to them */
		gres_init_node_config(node->config_ptr->gres, &node->gres_list);
		if (has_lost_shares(node))
			continue;
		lost = 1;
		info("gpushare: node %s was saved before it had registered; its shares are those of slurm.conf",
		     node->name);
	}
	if (lost)
		select_g_reconfigure(); /* counts the running jobs' shares anew */
}

/* Those that are down or powered off register before they are used. */
static int may_be_used(const node_record_t *node)
{
	return !IS_NODE_DOWN(node) && !IS_NODE_FUTURE(node) && !IS_NODE_POWERED_DOWN(node) &&
	       !IS_NODE_POWERING_UP(node);
}

static int must_wait(const node_record_t *node)
{
	gres_node_state_t *ours = state_of(node, GRES_NAME);

	if (!ours || !ours->gres_cnt_config || ours->gres_cnt_found != NO_VAL64)
		return 0;
	assume_shares(ours);
	return may_be_used(node);
}

static int wake_step(void *x, void *arg)
{
	step_record_t *step = x;

	(void)arg;
	if (step->state != JOB_PENDING)
		return 0;
	srun_step_signal(step, 0);
	return 1; /* srun asks anew: the record goes, as when Slurm wakes one */
}

/*
 * The first step of a job is not created on a node that does not respond.  Its
 * srun would ask again after a minute or more.
 */
static int wake_steps(void *x, void *arg)
{
	job_record_t *job = x;

	if (IS_JOB_RUNNING(job) && job->step_list)
		list_delete_all(job->step_list, wake_step, arg);
	return 0;
}

/*
 * Both the answer to a ping and the registration clear NO_RESPOND, in any
 * order, but the former alone makes the node available again: what was taken
 * here is given back here.
 */
static void let_go(node_record_t *node)
{
	if (!IS_NODE_COMPLETING(node))
		bit_clear(cg_node_bitmap, node->index);
	if (!node->no_share_job_cnt)
		bit_set(share_node_bitmap, node->index);
	node->node_state &= ~NODE_STATE_NO_RESPOND;
	if (!IS_NODE_DOWN(node) && !IS_NODE_DRAIN(node) && !IS_NODE_FAIL(node) &&
	    !IS_NODE_POWERED_DOWN(node))
		make_node_avail(node);
	last_node_update = time(NULL);
	if (job_list)
		list_for_each (job_list, wake_steps, NULL)
			;
}

static void make_wait(node_record_t *node)
{
	/* Jobs that name their nodes heed the second one only; the end of a job there clears the
	 * first. */
	bit_set(cg_node_bitmap, node->index);
	bit_clear(share_node_bitmap, node->index);
	if (IS_NODE_NO_RESPOND(node))
		return;
	node->node_state |= NODE_STATE_NO_RESPOND;
	bit_clear(avail_node_bitmap, node->index);
	last_node_update = time(NULL);
}

/* 1 while the node must be held back; *held: it is, by us. */
static int keep_back(node_record_t *node, char *held)
{
	if (!must_wait(node)) {
		if (*held)
			let_go(node);
		*held = 0;
		return 0;
	}
	*held = 1;
	make_wait(node);
	return 1;
}

/* slurmctld asks nodes when it is started, but at a later takeover not before their turn comes. */
static void request_to_register(const char *held_nodes)
{
	agent_arg_t *request = xmalloc(sizeof(*request));

	request->msg_type = REQUEST_NODE_REGISTRATION_STATUS;
	request->protocol_version = SLURM_PROTOCOL_VERSION;
	request->hostlist = hostlist_create(NULL);
	for (int i = 0; i < node_record_count; i++) {
		const node_record_t *node = node_record_table_ptr[i];

		if (!node || !held_nodes[i])
			continue;
		/* Of one that has not registered it is not known. */
		if (node->protocol_version && node->protocol_version < request->protocol_version)
			request->protocol_version = node->protocol_version;
		hostlist_push_host(request->hostlist, node->name);
		request->node_count++;
	}
	set_agent_arg_r_uid(request, SLURM_AUTH_UID_ANY);
	ping_begin();
	agent_queue_request(request);
}

/* By their places in the table: which nodes we hold back. */
static char *held_nodes;

/*
 * Is there a table? It is filled under the lock, with all that belongs to it. A reconfiguration or
 * a takeover may change the nodes' number; those that still must wait are found again.
 */
static int have_nodes(void)
{
	static int known;

	if (node_record_count <= 0 || !avail_node_bitmap)
		return 0;
	if (known != node_record_count) {
		xfree(held_nodes);
		known = node_record_count;
		held_nodes = xcalloc((size_t)known, 1);
	}
	return 1;
}

/*
 * Where it takes long to read the state, the scheduler waits for slurmctld's locks by then, and
 * would give GPUs away before anybody else has a lock.  It waits for the configuration lock, which
 * is released last, and then wants to write the jobs.  The lock of the jobs goes to those who wait
 * to read them as soon as it is released, so a thread that waits for that gets in before it.
 */
static void make_wait_first(void)
{
	slurmctld_lock_t locks = { .job = READ_LOCK, .node = WRITE_LOCK };

	lock_slurmctld(locks);
	for (int i = 0; have_nodes() && i < node_record_count; i++) {
		node_record_t *node = node_record_table_ptr[i];

		if (!node || (!must_wait(node) && !(has_lost_shares(node) && may_be_used(node))))
			continue;
		held_nodes[i] = 1;
		make_wait(node);
	}
	unlock_slurmctld(locks);
}

/* How many nodes are held back; -1: slurmctld has not recovered its state yet. */
static int inspect(void)
{
	static time_t requested;
	slurmctld_lock_t locks = {
		.conf = READ_LOCK, .job = WRITE_LOCK, .node = WRITE_LOCK, .part = READ_LOCK
	};
	int held = -1;

	if (shared)
		make_wait_first();
	lock_slurmctld(locks);
	if (have_nodes()) {
		held = 0;
		gs_ended_take();
		if (shared)
			restore_shares();
		for (int i = 0; shared && i < node_record_count; i++)
			if (node_record_table_ptr[i])
				held += keep_back(node_record_table_ptr[i], &held_nodes[i]);
		if (held && time(NULL) - requested >= REQUEST_EVERY_S) {
			requested = time(NULL);
			request_to_register(held_nodes);
		}
		/* A job that gives up one of its nodes is no job's end. */
		if (shared)
			gs_sharers_label(NULL);
	}
	unlock_slurmctld(locks);
	return held;
}

/* Its stamp has whole seconds: a second that is over is looked at once more. */
static int changed_since(time_t stamp, time_t polled)
{
	return last_node_update != stamp || (stamp >= polled && time(NULL) > polled);
}

static void *keep_admission(void *arg)
{
	time_t stamp = 0, polled = 0;
	int held = -1;

	(void)arg;
	for (;;) {
		/* Filled under the lock, so 0 seen without it costs nothing. */
		if (node_record_count > 0 && (held != 0 || changed_since(stamp, polled))) {
			stamp = last_node_update;
			polled = time(NULL);
			held = inspect();
		}
		if (held != 0 && (node_record_count > 0 || slurmctld_primary))
			usleep(POLL_US);
		else
			usleep(slurmctld_primary ? IDLE_POLL_US : BACKUP_POLL_US);
	}
	return NULL;
}

int gs_admission_start(int shares_are_of_gpus)
{
	static int started; /* the plugin stays in memory, and so does the thread */
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	if (started)
		return SLURM_SUCCESS;
	shared = shares_are_of_gpus;
	if (!&avail_node_bitmap || !&cg_node_bitmap || !&share_node_bitmap || !&last_node_update ||
	    !&slurmctld_primary || !&job_list) {
		error("gpushare: this slurmctld does not show its nodes to plugins");
		return SLURM_ERROR;
	}
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, keep_admission, NULL);
	pthread_attr_destroy(&attr);
	if (rc) {
		error("gpushare: no thread to hold nodes back");
		return SLURM_ERROR;
	}
	started = 1;
	return SLURM_SUCCESS;
}
