/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a job asks of gpushare, held against the partitions' limits and the
 * GPUs that it may land on.  Pure: text and numbers in, a verdict out.
 */
#ifndef GPUSHARE_PLUGINS_JOB_SUBMIT_REQUEST_H
#define GPUSHARE_PLUGINS_JOB_SUBMIT_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "gpushare/config/config.h"

/* The partitions a job may name; the kinds of GPU that they may have. */
#define GS_REQUEST_PARTITIONS_MAX 256
#define GS_REQUEST_KINDS_MAX (GS_CONFIG_NODE_TYPES_MAX + GS_CONFIG_GPUS_MAX)

/* Where Slurm keeps a request: --gres and --gpus-per-node, --gpus, ... */
enum gs_per { GS_PER_NODE, GS_PER_JOB, GS_PER_SOCKET, GS_PER_TASK, GS_PER_COUNT };

struct gs_request {
	const char
		*tres[GS_PER_COUNT]; /* Slurm's text: "gres:gpushare:25,gres:gpu:1"; may be NULL */
	uint64_t memory;             /* bytes of --gpushare-mem; 0: not given */
	int priority;                /* --gpushare-priority is given */
	int period, deadline;        /* --gpushare-period, --gpushare-deadline are given */
	int corun;                   /* --gpushare-corun is given */
	int exclusive;               /* --exclusive, where that takes gres/gpu's whole GPUs */
	uint32_t tasks;              /* --ntasks; 0: not given */
	uint32_t tasks_per_node;     /* --ntasks-per-node; 0: not given */
	uint32_t sockets;            /* --sockets-per-node; 0: not given */
	uint32_t nodes;              /* --nodes, the least number; 0: not given */
};

struct gs_gpu_kind {
	const char *name; /* a gres type ("gpushare:h200:25") chooses it; NULL: not by that */
	uint64_t memory;  /* bytes of one GPU */
	uint32_t shares;  /* a whole GPU */
	int too_small;    /* set by gs_request_judge: cannot hold the memory */
};

struct gs_site {
	struct {
		const char *name;
		const struct gs_config_partition *limits; /* NULL: none */
	} partition[GS_REQUEST_PARTITIONS_MAX];
	size_t npartition;
	int more_partitions;                           /* the job names more than that */
	struct gs_gpu_kind kind[GS_REQUEST_KINDS_MAX]; /* those that the partitions' nodes have; 0:
							  not known */
	size_t nkind;
	int types_known;   /* of all nodes' shares; otherwise a type is Slurm's to judge */
	char types[256];   /* "a100, h100"; "": they have none */
	int queue_on_node; /* memory beyond the shares is waited for on the node, not in Slurm's
			      queue */
};

struct gs_verdict {
	uint64_t shares; /* that the job is to have on a node; 0: it does not ask for gpushare per
			    node */
	int rewrite;     /* its request says something else */
	int raised;      /* because of its memory */
};

/* One gpushare request within a text of Slurm's. */
struct gs_gres_item {
	size_t begin, end; /* of "gpushare..." within the text; equal: there is none */
	char type[64];     /* "": none */
	uint64_t count;    /* 0: it names no number */
};

/* Does the text, which may be NULL, ask for whole GPUs of gres/gpu? */
int gs_gres_has_gpu(const char *text);

/*
 * Find gpushare in the text, which may be NULL.  0; -1 with the reason: named
 * twice, or a count that is zero, negative or not a number ("25%", "8G").
 */
int gs_gres_find(const char *text, struct gs_gres_item *item, struct gs_error *err);

/*
 * Append to the list the types that shares have in a node's gres ("gpushare:a100:100,gpu:a100:1"),
 * each once and as far as there is room.
 */
void gs_gres_types(const char *node_gres, char *list, size_t size);

/* Is the type in such a list?  Slurm does not mind its case. */
int gs_gres_has_type(const char *list, const char *type);

/*
 * The text with that request for `count` shares; where it has none, one is added
 * with Slurm's prefix, "gres:" or "gres/".  To be freed; NULL: no memory.
 */
char *gs_gres_rewrite(const char *text, const struct gs_gres_item *item, const char *prefix,
		      uint64_t count);

/*
 * May the job be submitted, and with how many shares?  More memory than its
 * shares stand for raises them, so that they suffice on every kind of GPU that
 * is large enough, unless it is waited for on the node; the others are marked
 * too_small.  A partition's limit holds for what the memory takes in either
 * case.  0; -1 with the reason for the user.
 */
int gs_request_judge(const struct gs_request *request, struct gs_site *site,
		     struct gs_verdict *verdict, struct gs_error *err);

#endif
