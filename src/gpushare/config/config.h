/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare.conf: `Key=Value` lines in slurm.conf's manner; # begins a comment;
 * keys are case-insensitive; one value per line except for the records:
 *
 *	Gpu=0 Memory=1G [Shares=100] [File=/dev/nvidia0]
 *	NodeType=h200 Nodes=gpu[01-16] Memory=141G [Shares=100]
 *	Class=interactive Priority=10 [Policy=frs]
 *	Partition=high [Priority=10] [Class=interactive] [MaxShares=50] [DefaultShares=25]
 *[AllowGpushare=yes] QOS=urgent [Priority=100] [Class=interactive] JobEnv=NAME=VALUE (set in every
 *job's environment; may be repeated)
 *
 * PolicyParameters= and MemoryParameters= are lists of name=value with commas
 * between them, like Slurm's SchedulerParameters=.
 *
 * Gpu lines are the node's own, for gpushared; NodeType lines and the limits of
 * the partitions are the cluster's, for slurmctld's job_submit/gpushare.  Whose
 * priority no line gives has its partition's PriorityTier.  Pure but for
 * gs_config_load, which reads one file.
 */
#ifndef GPUSHARE_CONFIG_CONFIG_H
#define GPUSHARE_CONFIG_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define GS_CONFIG_GPUS_MAX 16
#define GS_CONFIG_PARTITIONS_MAX 256
#define GS_CONFIG_QOS_MAX 256
#define GS_CONFIG_CLASSES_MAX 7
#define GS_CONFIG_NODE_TYPES_MAX 64
#define GS_CONFIG_PRIORITY_MAX 1000

/* Isolation=: contexts of their own, or clients of one MPS server. */
enum gs_isolation { GS_ISOLATION_CONTEXTS, GS_ISOLATION_MPS };

/* MountShim= */
enum gs_mount_shim { GS_MOUNT_STEP, GS_MOUNT_NODE, GS_MOUNT_NO };

struct gs_config_gpu {
	uint32_t index;
	uint32_t shares; /* a whole GPU, default 100 */
	uint64_t memory; /* bytes that may be reserved in all */
	char *file;      /* device file, for hwloc and for people; NULL: none */
	char *uuid;      /* GPU-... or MIG-...; NULL: that of the file */
	char *policy;    /* NULL: that of the Policy key */
};

struct gs_config_partition {
	char *name;
	int32_t priority;        /* larger is more urgent; 0..1000; -1: the line does not say */
	uint32_t max_shares;     /* of a job on a node; 0: no limit */
	uint32_t default_shares; /* of a job that names no number; 0: Slurm's, which is 1 */
	int allow;               /* may its jobs ask for gpushare? */
	uint32_t class;          /* number of its class, as gs_config_class() */
};

/* What holds for a QOS goes before what holds for the partition. */
struct gs_config_qos {
	char *name;
	int32_t priority; /* 0..1000; -1: the partition's */
	uint32_t class;   /* as gs_config_class(); 0: the partition's */
};

/* A class of partitions and QOS: served before the classes of lower priority (sched/sched.h). */
struct gs_config_class {
	char *name;
	char *policy;     /* NULL: the GPU's */
	int32_t priority; /* -1000..1000; partitions of no class are one of priority 0 */
};

/* The GPUs of nodes that are alike. */
struct gs_config_node_type {
	char *name;
	char *nodes;     /* Slurm's host list, not looked into */
	uint64_t memory; /* bytes of one GPU that may be reserved in all */
	uint32_t shares; /* one GPU, default 100 */
};

#define KEY_STRING(field) char *field;
#define KEY_PATH(field) char *field;
#define KEY_POLICY(field) char *field;
#define KEY_WAKE(field) char *field; /* of memory/wake.def */
#define KEY_DURATION(field) uint64_t field;
#define KEY_PERIOD(field) uint64_t field;
#define KEY_SIZE(field) uint64_t field;
#define KEY_PERCENT(field) uint64_t field;
#define KEY_AMOUNT(field) uint64_t field; /* a size, or 0 */
#define KEY_BOOL(field) int field;
#define KEY_ABSENT(field) int field;     /* enum gs_absent of proto/msg.h */
#define KEY_COUNT(field) uint32_t field; /* 0..1000 */
#define KEY_SIGNAL(field) int field;     /* enum gs_signal of proto/msg.h */
#define KEY_LEVEL(field) int field;      /* enum gs_log_level */
#define KEY_PREEMPT(field) int field;    /* 1: by checkpoints */
#define KEY_SUSPEND(field) int field;    /* 1: by checkpoints */
#define KEY_OVERDUE(field) int field;    /* 1: kill */
#define KEY_ADMISSION(field) int field;  /* enum gs_admission of memory/rbdm.h */
#define KEY_QUEUE(field) int field;      /* 1: node */
#define KEY_ISOLATION(field) int field;  /* enum gs_isolation */
#define KEY_CPU(field) int field;        /* -1: none */
#define KEY_UNMANAGED(field) int field;  /* 1: kill */
#define KEY_MIG(field) int field;        /* 1: unverified */
#define KEY_MOUNT(field) int field;      /* enum gs_mount_shim */
#define KEY_MACHINE(field) int field;    /* enum gs_machine_code of proto/msg.h */
#define KEY_COPIES(field) int field;     /* enum gs_copy_policy of arbiter/copy_policy.h */
#define KEY_CORUN(field) int field;      /* 1: smk */
#define KEY_CHUNK(field) uint64_t field; /* bytes; 0: no, UINT64_MAX: auto */
#define KEY_ARBITER(field) int field;    /* 0: auto, 1: poll, 2: sleep */
#define KEY(name, field, type, def, words) KEY_##type(field)
#define LIST(name, words) /* its parameters have the fields */
#define PARAMETER(list, name, field, type, def, words) KEY_##type(field)
struct gs_config {
#include "gpushare/config/keys.def"
#include "gpushare/config/parameters.def"
	struct gs_config_gpu gpu[GS_CONFIG_GPUS_MAX];
	size_t ngpu;
	struct gs_config_partition partition[GS_CONFIG_PARTITIONS_MAX];
	size_t npartition;
	struct gs_config_qos qos[GS_CONFIG_QOS_MAX];
	size_t nqos;
	struct gs_config_class class[GS_CONFIG_CLASSES_MAX];
	size_t nclass;
	struct gs_config_node_type node_type[GS_CONFIG_NODE_TYPES_MAX];
	size_t nnode_type;
	int policy_given; /* a Policy= line names one */
	char *job_env;    /* "A=B\n" lines; never NULL */
};
#undef KEY
#undef LIST
#undef PARAMETER
#undef KEY_STRING
#undef KEY_PATH
#undef KEY_POLICY
#undef KEY_WAKE
#undef KEY_DURATION
#undef KEY_PERIOD
#undef KEY_SIZE
#undef KEY_AMOUNT
#undef KEY_PERCENT
#undef KEY_BOOL
#undef KEY_ABSENT
#undef KEY_SIGNAL
#undef KEY_COUNT
#undef KEY_LEVEL
#undef KEY_PREEMPT
#undef KEY_SUSPEND
#undef KEY_OVERDUE
#undef KEY_ADMISSION
#undef KEY_CORUN
#undef KEY_QUEUE
#undef KEY_MACHINE
#undef KEY_ISOLATION
#undef KEY_CPU
#undef KEY_ARBITER
#undef KEY_MOUNT
#undef KEY_UNMANAGED
#undef KEY_MIG

/* The word for it in the file. */
const char *gs_isolation_name(int isolation);

/*
 * Parse len bytes as if they were the file `name`.  Returns NULL and
 * "name:line: reason" for the first thing wrong: unknown key or parameter, one
 * given twice, one of an earlier version, bad value, duplicate GPU, node type or partition, neither
 * a Gpu nor a NodeType line.
 */
struct gs_config *gs_config_parse(const char *name, const char *text, size_t len,
				  struct gs_error *err);

/* Read and parse a file (at most 1 MiB). */
struct gs_config *gs_config_load(const char *path, struct gs_error *err);

void gs_config_free(struct gs_config *config); /* NULL is fine */

/* Of what a job is, in slurmctld's words. */
struct gs_config_who {
	const char *partition, *qos; /* "": none */
	uint32_t tier;               /* the partition's PriorityTier plus 1; 0: not known */
};

/*
 * Priority on the GPU, 0..1000: what the QOS line says, else the partition's,
 * else the PriorityTier (at most 1000), else 1.
 */
int32_t gs_config_priority(const struct gs_config *config, const struct gs_config_who *who);

/* The line of a partition; NULL if it has none. */
const struct gs_config_partition *gs_config_partition(const struct gs_config *config,
						      const char *name);

/* The line of a QOS; NULL if it has none. */
const struct gs_config_qos *gs_config_qos(const struct gs_config *config, const char *name);

/* The class that the QOS names, else the partition: i + 1 for class[i]; 0 if neither does. */
uint32_t gs_config_class(const struct gs_config *config, const struct gs_config_who *who);

/* Does the file name a partition or a QOS that is more urgent than a job of this class and
 * priority? */
int gs_config_has_above(const struct gs_config *config, uint32_t class, int32_t priority);

/* The GPU of that index; NULL if there is none. */
const struct gs_config_gpu *gs_config_gpu(const struct gs_config *config, uint32_t index);

/* Is it an instance of a GPU in MIG mode, by its UUID or its device file? */
int gs_config_is_instance(const struct gs_config_gpu *gpu);

#endif
