/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On top of live_daemon.h: a fixture, figures out of the reports, a client's moves. */
#ifndef TESTSUITE_LIVE_UTIL_H
#define TESTSUITE_LIVE_UTIL_H

#include <stddef.h>
#include <stdint.h>

#include "live_daemon.h"

/* A daemon per test: *state is its struct live. */
int live_setup(void **state);
int live_teardown(void **state);
#define LIVE(f) cmocka_unit_test_setup_teardown(f, live_setup, live_teardown)

/* A figure of the job's first step in the report. */
double live_figure(const struct live *l, uint32_t job, const char *key);
/* A value of GPU 0 in the status, as text. */
void live_status_gpu(const struct live *l, const char *key, char *buf, size_t size);
/* The daemon still serves whoever behaves. */
void live_serves(const struct live *l);
/* The log has, or within 20 s gets, exactly one line with the text. */
void live_await_log(const struct live *l, const char *text);

/* TORUN -> RUNNING, started. */
void live_run_slot(struct gs_page *page, unsigned i);
/* From that state to DONE, all block-tasks done. */
void live_end_slot(struct gs_page *page, unsigned i, uint32_t from);

#endif
