/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slurm's plugin interface as gpushare's plugins see it: every difference
 * between releases is here and nowhere else.
 *
 * m4/gs_slurm.m4 reads from the Slurm tree what it expects and defines
 *   GS_GRES_IN_INTERFACES  gres.h lives in src/interfaces
 *   GS_GRES_PREP           prep_build_env and prep_set_env, formerly epilog_*
 *   GS_GRES_JOB_INFO       get_job_info and get_step_info are called
 *   GS_SLURM_LIST_T        lists are list_t *, formerly List
 *   GS_SLURM_HOSTLIST_T    host lists are hostlist_t *, formerly hostlist_t
 *   GS_JOB_MODIFY_TEXT     job_modify can say why
 *   GS_MULTIPLE_SHARING    its name for MULTIPLE_SHARING_GRES_PJ, where it has that
 *   GS_TASK_PRE_LAUNCH_PRIV  task_p_pre_launch_priv, formerly task_p_pre_set_affinity and its kin
 *   GS_TASK_GLOBAL_ID      it is told the task's number in its step, too
 *   GS_TRES_SLASH          a gres in a request is gres/NAME, formerly gres:NAME
 *
 * Slurm's headers are not held to this project's warnings.
 */
#ifndef GPUSHARE_PLUGINS_GS_SLURM_COMPAT_H
#define GPUSHARE_PLUGINS_GS_SLURM_COMPAT_H
#pragma GCC system_header

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"

#include "src/common/slurm_xlator.h"
#include "src/common/bitstring.h"
#include "src/common/env.h"
#include "src/common/hostlist.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/pack.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_common.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#ifdef GS_GRES_IN_INTERFACES
#include "src/interfaces/gres.h"
#include "src/interfaces/prep.h"
#else
#include "src/common/gres.h"
#include "src/common/prep.h"
#endif
#include "src/slurmd/slurmd/slurmd.h"

/* The library is compiled with hidden visibility; Slurm looks these up by name. */
#define GS_EXPORT __attribute__((visibility("default")))

#ifdef GS_SLURM_LIST_T
typedef list_t *gs_list;
#else
typedef List gs_list;
#endif
#ifdef GS_SLURM_HOSTLIST_T
typedef hostlist_t *gs_hostlist;
#else
typedef hostlist_t gs_hostlist;
#endif

#ifdef GS_TRES_SLASH
#define GS_TRES_GRES "gres/"
#else
#define GS_TRES_GRES "gres:"
#endif

#ifdef GS_GRES_PREP
typedef gres_prep_t gs_gres_prep;
#define gs_gres_p_prep_build_env gres_p_prep_build_env
#define gs_gres_p_prep_set_env gres_p_prep_set_env
#else
typedef gres_epilog_info_t gs_gres_prep;
#define gs_gres_p_prep_build_env gres_p_epilog_build_env
#define gs_gres_p_prep_set_env gres_p_epilog_set_env
#endif

/* What Slurm looks up in any plugin; no header of Slurm's declares it. */
GS_EXPORT extern const char plugin_name[];
GS_EXPORT extern const char plugin_type[];
GS_EXPORT extern const uint32_t plugin_version;
/* What gpushared and gpusharectl look up: the gpushare that it belongs to. */
GS_EXPORT extern const char plugin_gpushare_version[];

/* ... and in a gres plugin. */
GS_EXPORT int gres_p_node_config_load(gs_list conf_list, node_config_load_t *node);
GS_EXPORT void gres_p_job_set_env(char ***env, bitstr_t *bits, uint64_t count,
				  gres_internal_flags_t flags);
GS_EXPORT void gres_p_step_set_env(char ***env, bitstr_t *bits, uint64_t count,
				   gres_internal_flags_t flags);
GS_EXPORT void gres_p_task_set_env(char ***env, bitstr_t *bits, uint64_t count, bitstr_t *usable,
				   gres_internal_flags_t flags);
GS_EXPORT void gres_p_send_stepd(buf_t *buffer);
GS_EXPORT void gres_p_recv_stepd(buf_t *buffer);
GS_EXPORT gs_list gres_p_get_devices(void);
GS_EXPORT void gres_p_step_hardware_init(bitstr_t *usable, char *settings);
GS_EXPORT void gres_p_step_hardware_fini(void);
GS_EXPORT gs_gres_prep *gs_gres_p_prep_build_env(gres_job_state_t *job);
GS_EXPORT void gs_gres_p_prep_set_env(char ***env, gs_gres_prep *prep, int node);
#ifdef GS_GRES_JOB_INFO
GS_EXPORT int gres_p_get_job_info(gres_job_state_t *job, uint32_t node,
				  enum gres_job_data_type type, void *data);
GS_EXPORT int gres_p_get_step_info(gres_step_state_t *step, uint32_t node,
				   enum gres_step_data_type type, void *data);
#endif

/* What slurmctld and slurmd look up in a prep plugin. */
GS_EXPORT int init(void);
GS_EXPORT void prep_p_register_callbacks(prep_callbacks_t *callbacks);
GS_EXPORT int prep_p_prolog(job_env_t *job_env, slurm_cred_t *cred);
GS_EXPORT int prep_p_epilog(job_env_t *job_env, slurm_cred_t *cred);
GS_EXPORT int prep_p_prolog_slurmctld(job_record_t *job, bool *async);
GS_EXPORT int prep_p_epilog_slurmctld(job_record_t *job, bool *async);
GS_EXPORT void prep_p_required(prep_call_type_t type, bool *required);

#ifdef GS_IN_SLURMD
/* What slurmd and slurmstepd look up in a task plugin, where slurmd asks it before it suspends a
 * job. */
#include "src/slurmd/slurmstepd/slurmstepd_job.h"
GS_EXPORT int task_p_slurmd_batch_request(batch_job_launch_msg_t *request);
GS_EXPORT int task_p_slurmd_launch_request(launch_tasks_request_msg_t *request, uint32_t node_id,
					   char **err_msg);
GS_EXPORT int task_p_slurmd_suspend_job(uint32_t job_id);
GS_EXPORT int task_p_slurmd_resume_job(uint32_t job_id);
GS_EXPORT int task_p_pre_setuid(stepd_step_rec_t *step);
#ifdef GS_TASK_GLOBAL_ID
#define GS_TASK_IDS uint32_t local_id, uint32_t global_id
#else
#define GS_TASK_IDS uint32_t local_id
#endif
#ifdef GS_TASK_PRE_LAUNCH_PRIV
GS_EXPORT int task_p_pre_launch_priv(stepd_step_rec_t *step, GS_TASK_IDS);
#else
GS_EXPORT int task_p_pre_set_affinity(stepd_step_rec_t *step, uint32_t task);
GS_EXPORT int task_p_set_affinity(stepd_step_rec_t *step, uint32_t task);
GS_EXPORT int task_p_post_set_affinity(stepd_step_rec_t *step, uint32_t task);
#endif
GS_EXPORT int task_p_pre_launch(stepd_step_rec_t *step);
GS_EXPORT int task_p_post_term(stepd_step_rec_t *step, stepd_step_task_info_t *task);
GS_EXPORT int task_p_post_step(stepd_step_rec_t *step);
GS_EXPORT int task_p_add_pid(pid_t pid);
#endif

#ifdef GS_IN_SLURMCTLD
/* Only for plugins of slurmctld: its partitions, nodes and jobs. */
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

/* What slurmctld looks up in a job_submit plugin. */
GS_EXPORT int job_submit(job_desc_msg_t *job, uint32_t submit_uid, char **err_msg);
#ifdef GS_JOB_MODIFY_TEXT
GS_EXPORT int job_modify(job_desc_msg_t *change, job_record_t *job, uint32_t submit_uid,
			 char **err_msg);
#else
GS_EXPORT int job_modify(job_desc_msg_t *change, job_record_t *job, uint32_t submit_uid);
#endif

/* The name of the default partition; NULL: there is none. */
static inline char *gs_default_partition(void)
{
	return default_part_loc ? default_part_loc->name : NULL;
}

/* The partition's PriorityTier plus 1; 0: there is no such partition.  Under slurmctld's lock. */
static inline uint32_t gs_partition_tier(const char *partition)
{
	part_record_t *part = find_part_record((char *)(uintptr_t)partition);

	return part ? (uint32_t)part->priority_tier + 1 : 0;
}

/* Is the host one of the partition's nodes?  Under slurmctld's lock of both. */
static inline int gs_partition_has(const char *partition, const char *host)
{
	part_record_t *part = find_part_record((char *)(uintptr_t)partition);
	node_record_t *node = find_node_record2((char *)(uintptr_t)host);

	return part && part->node_bitmap && node && bit_test(part->node_bitmap, node->index);
}
#endif

#endif
