/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl check: what was looked at, what is wrong, what to do about it. */
#ifndef GPUSHARE_CTL_FINDINGS_H
#define GPUSHARE_CTL_FINDINGS_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/config/config.h"
#include "gpushare/install/slurm_conf.h"

enum gs_finding { GS_GOOD, GS_DOUBT, GS_WRONG, GS_UNCHECKED };

struct gs_check_item {
	enum gs_finding finding;
	const char *name; /* what was looked at, one word */
	char *text;       /* what was found */
	char *fix;        /* what to do; NULL: nothing */
};

struct gs_check {
	const char *socket;      /* the daemon's, if the user named it; NULL: the configuration's */
	const char *config_path; /* of gpushare.conf */
	const char *slurm_conf_path; /* of slurm.conf; never NULL */
	int slurm_conf_given;        /* the user has named it: SlurmConf= would not count */
	struct gs_config *config;    /* NULL: not good */
	struct gs_slurm_conf *slurm; /* NULL: cannot be read */
	struct gs_check_item *item;
	size_t n;
};

/* Note a finding; fix may be NULL.  The texts are copied. */
void gs_check_add(struct gs_check *c, enum gs_finding finding, const char *name, const char *fix,
		  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* How many of one kind there are. */
size_t gs_check_count(const struct gs_check *c, enum gs_finding finding);

/* Print them to stdout, for people or as JSON. */
void gs_check_print(const struct gs_check *c);
void gs_check_print_json(const struct gs_check *c);

/* Release them, and what the checks have read. */
void gs_check_release(struct gs_check *c);

/* gpushare.conf: syntax, who may write it; GPUs' devices, shim, driver, folders, MPS.  Sets
 * c->config. */
void gs_check_node(struct gs_check *c);

/* slurm.conf, gres.conf, plugstack.conf, cgroup.conf.  Sets c->slurm. */
void gs_check_slurm(struct gs_check *c);

/* The plugins' files, and that Slurm's programs load them. */
void gs_check_plugins(struct gs_check *c);

/* munge, gpushared and slurmctld: do they answer, do they fit? */
void gs_check_services(struct gs_check *c);

/*
 * Run a program, of PATH or of the system's folders, and collect what it says, both streams, at
 * most size - 1 bytes and 10 s.  Its exit status; -1: it is not there or did not end.
 */
int gs_check_run(char *const *argv, char *out, size_t size);

#endif
