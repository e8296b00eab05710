/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A registered job step and its reservation, as all rooms of the daemon see them. steps.h registers
 * and ends them.
 *
 * A reservation belongs to an allocation. A job's batch, interactive or extern step has the job's
 * allocation, and the job's other steps run within it, as in Slurm. A step of a job without such a
 * step has an allocation of its own.
 */
#ifndef GPUSHARE_DAEMON_STEP_H
#define GPUSHARE_DAEMON_STEP_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/period.h"
#include "gpushare/arbiter/step_usage.h"
#include "gpushare/daemon/base/daemon.h"
#include "gpushare/daemon/base/moves.h"
#include "gpushare/proto/msg.h"
#include "gpushare/proto/user_name.h"

#define GS_STEP_ANY 0xffffffffu
/* Slurm's numbers of the steps that srun does not start (slurm.h). */
#define GS_STEP_EXTERN 0xfffffffcu
#define GS_STEP_BATCH 0xfffffffbu
#define GS_STEP_INTERACTIVE 0xfffffffau
#define GS_FINISHED_MAX 1000 /* how many steps that have ended stay in the report */
#define GS_STEPS_MAX 1024
#define GS_PRIORITY_MAX 1000 /* as in gpushare.conf */
/* gs_step_info.priority_set; the values are in the state file. */
/* requested by the job; only root's request may exceed the partition's */
#define GS_PRIORITY_REQUESTED 1
#define GS_PRIORITY_ORDER 2 /* gpusharectl priority */

struct gs_alloc {
	uint64_t id;    /* its id as a "step" of the device's ledger */
	uint32_t steps; /* how many steps use it */
	uint32_t shares;
	struct gs_device *device;
	uint64_t bytes; /* bytes that it has reserved, or waits for */
	int admitted;   /* it has its reservation */
	int late;       /* it may have it, but there was no memory to note that; tried again */
	int said;       /* it has been logged that it waits */
	uint64_t arrived_ns;
	/* set while its memory is on the host or being moved (checkpoint.h); else NULL */
	struct gs_away *away;
	uint64_t away_peak; /* the most bytes that its clients held before that; 0: none */
	int suspended; /* its job is suspended, so its memory is to be on the host (suspend.h) */
	struct gs_noticed *noticed; /* its processes are stopped (noticed.h); NULL: not all */
	uint64_t worked_ns;     /* when one of its steps that have ended last had work; 0: never */
	uint64_t keep_until_ns; /* its memory is not moved to the host before this time */
	char not_taken[192];    /* why no other step's memory was moved out for it; "" */
};

/* What a step says of how its programs share the GPU with others. */
struct gs_step_sharing {
	uint32_t force_ms; /* they are evicted this often, even if nobody waits; 0: never */
	int no_corun;      /* they run beside no equals, also where CoRun= would let them */
};

/* The contents of a registration. */
struct gs_step_info {
	uint32_t job_id, step_id;
	uid_t uid;
	uint32_t shares;
	uint32_t job_shares; /* its job's on this node; 0: not known */
	uint32_t gpu;
	uint64_t memory; /* bytes; 0: in proportion to the shares */
	/* GS_PRIORITY_REQUESTED or _ORDER; 0: the partition's priority holds */
	uint32_t priority_set, priority;
	char partition[64], qos[64], account[64]; /* "": none */
	uint32_t tier;                            /* as in gs_config_who */
	pid_t registrant;
	uint64_t start;   /* start time of that process (proc.h) */
	uint64_t program; /* see common/program.h; 0: not known; not in the state file */
	int local;        /* started by `gpusharectl run` */
	struct gs_period period;
	struct gs_step_sharing sharing;
	int admitted; /* it had its reservation, as the state file says */
};

/* The energy of its GPU that the step has used (energy.h). */
struct gs_step_energy {
	uint64_t active_ns; /* active time of the usage that mj includes already */
	double mj;
	int known; /* NVML has reported the GPU's energy */
};

struct gs_step {
	TAILQ_ENTRY(gs_step) link;
	struct gs_step_info info;
	char user[GS_USER_NAME_MAX];
	int32_t priority;
	uint64_t reservation;   /* bytes */
	uint64_t peak;          /* the most bytes that it held; kept when the step has ended */
	struct gs_alloc *alloc; /* NULL once the step has ended */
	/* fires when its registrant ends; NULL: only the sweep notices that */
	struct event *gone;
	/* its job's cgroup, which has the kernel's limit (dmem_steps.h); NULL */
	char *dmem_cgroup;
	/* enum gs_doing (gpu.h) of its busiest client when gs_devices_sync() last ran */
	uint8_t doing;
	int64_t begun_s, ended_s; /* seconds since the epoch; ended_s 0: it has not ended */
	uint64_t reported;        /* what has been written to the job's AdminComment */
	char killed[192];         /* why gpushared had its job killed; "" */
	int kill_requested;       /* slurmctld was asked to kill it, and has not refused */
	uint64_t missed_said;     /* so many missed deadlines are in the log (deadlines.h) */
	struct gs_moves moves;    /* moves of its allocation since the step began */
	struct gs_step_energy energy;
	struct gs_step_usage live;  /* belongs to the arbiter while the step has clients */
	struct gs_step_usage usage; /* a copy of `live` by gs_devices_sync() */
};

/* The registered step with that id; NULL: there is none. */
struct gs_step *gs_step_find(struct gs_daemon *d, uint32_t job_id, uint32_t step_id);

/* How many shares of the device are taken. */
uint32_t gs_steps_shares(const struct gs_daemon *d, const struct gs_device *device);

/* Writes the step's name, such as "0", "batch", "extern" or "interactive", into buf, for which 16
 * bytes are enough. Returns buf. */
const char *gs_step_name(uint32_t step_id, char *buf, size_t size);

#endif
