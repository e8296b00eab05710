/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A registered job step and its reservation, as everybody in the daemon sees
 * them; who registers and ends them is steps.h's.
 *
 * A reservation belongs to an *allocation*.  A job's batch, interactive or
 * extern step holds the job's; the other steps of the job run within it, as
 * they do in Slurm.  A step without such a one has an allocation of its own.
 */
#ifndef GPUSHARE_DAEMON_STEP_H
#define GPUSHARE_DAEMON_STEP_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "gpushare/arbiter/step_usage.h"
#include "gpushare/daemon/base/daemon.h"
#include "gpushare/daemon/base/moves.h"
#include "gpushare/proto/msg.h"

#define GS_STEP_ANY 0xffffffffu
/* Slurm's numbers for the steps that are not srun's (slurm.h). */
#define GS_STEP_EXTERN 0xfffffffcu
#define GS_STEP_BATCH 0xfffffffbu
#define GS_STEP_INTERACTIVE 0xfffffffau
#define GS_FINISHED_MAX 1000 /* steps that are over and stay in the report */
#define GS_STEPS_MAX 1024
#define GS_PRIORITY_MAX 1000 /* as in gpushare.conf */
/* gs_step_info.priority_set; the values are in the state file. */
#define GS_PRIORITY_REQUESTED 1 /* the job's: only root's may exceed the partition's */
#define GS_PRIORITY_ORDER 2     /* gpusharectl priority */

struct gs_alloc {
	uint64_t id;    /* "step" of the device's ledger */
	uint32_t steps; /* that use it */
	uint32_t shares;
	struct gs_device *device;
	uint64_t bytes; /* that it has reserved, or waits for */
	int admitted;   /* it has them */
	int said;       /* the log says that it waits */
	uint64_t arrived_ns;
	struct gs_away *away; /* its memory is on the host, or on the way (checkpoint.h); NULL */
	uint64_t away_peak;   /* bytes that its clients held at most before that; 0 */
	int suspended; /* its job is suspended, its memory is to be on the host (suspend.h) */
	uint64_t keep_until_ns; /* its memory is not taken back before then */
	char not_taken[192];    /* why no memory was taken back for it, "" */
};

/* What a registration says. */
struct gs_step_info {
	uint32_t job_id, step_id;
	uid_t uid;
	uint32_t shares;
	uint32_t job_shares; /* its job's on this node; 0: not known */
	uint32_t gpu;
	uint64_t memory;                 /* bytes; 0: in proportion to the shares */
	uint32_t priority_set, priority; /* GS_PRIORITY_REQUESTED, _ORDER; 0: the partition's */
	char partition[64], qos[64], account[64]; /* "": none */
	uint32_t tier;                            /* as gs_config_who */
	pid_t registrant;
	uint64_t start;    /* of that process */
	uint64_t program;  /* common/program.h; 0: not known; not in the state file */
	int local;         /* of `gpusharectl run` */
	uint32_t force_ms; /* its programs are evicted so often, whoever waits; 0: never */
	int admitted;      /* it has its memory, as the state file remembers */
};

/* What it has used of its GPU's energy (energy.h). */
struct gs_step_energy {
	uint64_t active_ns; /* of the usage, that is in mj already */
	double mj;
	int known; /* NVML has told what its GPU uses */
};

struct gs_step {
	TAILQ_ENTRY(gs_step) link;
	struct gs_step_info info;
	char user[32];
	int32_t priority;
	uint64_t reservation;   /* bytes */
	uint64_t peak;          /* bytes; kept when the step is over */
	struct gs_alloc *alloc; /* NULL once it is over */
	struct event *gone;     /* its registrant's end; NULL: only the sweep sees it */
	char *dmem_cgroup;      /* its job's, which has the kernel's limit (dmem_steps.h); NULL */
	uint32_t clients;
	uint8_t doing; /* enum gs_doing (gpu.h) of its busiest client, as gs_devices_sync() has
			  found */
	int64_t begun_s, ended_s; /* of the epoch; ended 0: not yet */
	uint64_t reported;        /* what the job's AdminComment says already */
	char killed[192];         /* why gpushared had its job killed, "" */
	int kill_requested;       /* slurmctld was asked to, and has not refused */
	struct gs_moves moves;    /* its allocation's, since it began */
	struct gs_step_energy energy;
	struct gs_step_usage live;  /* the arbiter's, while the step has clients */
	struct gs_step_usage usage; /* as gs_devices_sync() has copied it */
};

/* The registered step, NULL. */
struct gs_step *gs_step_find(struct gs_daemon *d, uint32_t job_id, uint32_t step_id);

/* Shares of the device that are taken. */
uint32_t gs_steps_shares(const struct gs_daemon *d, const struct gs_device *device);

/* "0", "batch", "extern", "interactive", into buf, which is returned: 16 bytes are enough. */
const char *gs_step_name(uint32_t step_id, char *buf, size_t size);

#endif
