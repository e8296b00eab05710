/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real gpushared (live_daemon.h) for the tests of device memory, and what it says of that. */
#ifndef TESTSUITE_UNIT_LIVE_MEMORY_H
#define TESTSUITE_UNIT_LIVE_MEMORY_H

#include <jansson.h>

#include "live_daemon.h"

#define MIB UINT64_C(1048576)
#define LIVE(f) cmocka_unit_test_setup_teardown(f, memory_setup, memory_teardown)

/* One for each test: *state is its struct live. */
int memory_setup(void **state);
int memory_teardown(void **state);

/* The same daemon with other lines in its configuration, once it has read them. */
void memory_reload(struct live *l, const char *extra);

/* A job in the memory report, which is the caller's still; the job must be there. */
json_t *memory_job_row(json_t *all, uint32_t job);

/* A figure of that report, which must be there: a job's, or 0: the first GPU's. */
double memory_figure(const struct live *l, uint32_t job, const char *key);

#endif
