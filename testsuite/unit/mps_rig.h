/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Isolation=mps: gpushared and a stand-in for nvidia-cuda-mps-control, which
 * writes down what it is told (testsuite/stubs).
 */
#ifndef TESTSUITE_UNIT_MPS_RIG_H
#define TESTSUITE_UNIT_MPS_RIG_H

#include <sys/types.h>

#include "live_daemon.h"

struct mps_rig {
	struct live l;
	char dir[96], record[128];
};

/* One for each test: *state is its struct mps_rig. The daemon is configured and does not run. */
int mps_setup(void **state);
int mps_teardown(void **state);

/* gpushared takes the first control program in its PATH, which is this one's from here on. */
void mps_stand_in_first(void);
void mps_configure(const struct mps_rig *r, const char *extra);
/* Ends gpushared, which may wait for MPS. */
void mps_stop_daemon(struct mps_rig *r);

/* A number in a file of the stand-in's; 0: there is none. */
pid_t mps_pid_of(const struct mps_rig *r, const char *file);
/* Writes one. */
void mps_tell(const struct mps_rig *r, const char *file, int number);

/* The file has, or soon gets, so many lines with the text. */
void mps_await_lines(const char *file, const char *text, unsigned n);
/* Waits until the process is gone. If this test has become its parent, reaps it. */
void mps_await_end(pid_t pid);

#endif
