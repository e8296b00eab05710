/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushared with a stand-in for MPS; see mps_rig.h. */
#define _GNU_SOURCE
#include "mps_rig.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"

#define PATIENCE_NS (20 * GS_NS_PER_S)

void mps_stand_in_first(void)
{
	const char *src = getenv("srcdir");
	char folder[PATH_MAX], path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/testsuite/stubs", src ? src : ".");
	assert_non_null(realpath(path, folder));
	snprintf(path, sizeof(path), "%s:/usr/local/bin:/usr/bin:/bin", folder);
	setenv("PATH", path, 1);
}

void mps_configure(const struct mps_rig *r, const char *extra)
{
	FILE *f = fopen(r->l.conf, "w");

	assert_non_null(f);
	fprintf(f,
		"Socket=%s\nPidFile=%s\nLogFile=%s\nReportToSlurm=no\nAllowLocal=yes\n"
		"EvictDeadline=300ms\nGpu=0 Memory=1000M\nPolicy=rr\nMemoryParameters=check=0\n"
		"Isolation=mps\nMpsDir=%s\n%s",
		r->l.socket, r->l.pid_file, r->l.log, r->dir, extra);
	assert_int_equal(fclose(f), 0);
}

pid_t mps_pid_of(const struct mps_rig *r, const char *file)
{
	char path[160];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", r->dir, file);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	fclose(f);
	return pid;
}

void mps_tell(const struct mps_rig *r, const char *file, int number)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", r->dir, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%d\n", number);
	fclose(f);
}

void mps_await_lines(const char *file, const char *text, unsigned n)
{
	uint64_t until = gs_clock_ns() + PATIENCE_NS;

	while (live_lines(file, text) < n && gs_clock_ns() < until)
		usleep(5000);
	assert_int_equal(live_lines(file, text), n);
}

void mps_await_end(pid_t pid)
{
	uint64_t until = gs_clock_ns() + PATIENCE_NS;

	while (kill(pid, 0) == 0 && waitpid(pid, NULL, WNOHANG) != pid && gs_clock_ns() < until)
		usleep(5000);
	assert_int_equal(kill(pid, 0), -1);
}

void mps_stop_daemon(struct mps_rig *r)
{
	pid_t pid = r->l.pid;

	r->l.pid = 0;
	assert_int_equal(kill(pid, SIGTERM), 0);
	mps_await_end(pid);
}

int mps_setup(void **state)
{
	struct mps_rig *r = calloc(1, sizeof(*r));

	mps_stand_in_first();
	live_begin(&r->l);
	live_stop(&r->l, SIGTERM);
	snprintf(r->dir, sizeof(r->dir), "%s/mps", r->l.dir);
	snprintf(r->record, sizeof(r->record), "%s/record", r->dir);
	mps_configure(r, "");
	*state = r;
	return 0;
}

int mps_teardown(void **state)
{
	struct mps_rig *r = *state;
	char command[128];
	pid_t pid;

	if (r->l.pid)
		mps_stop_daemon(r);
	pid = mps_pid_of(r, "control.pid"); /* of a test that left it, or failed */
	if (pid > 0)
		kill(pid, SIGKILL);
	pid = mps_pid_of(r, "servers");
	if (pid > 0)
		kill(pid, SIGKILL);
	snprintf(command, sizeof(command), "rm -rf %s", r->dir);
	assert_int_equal(system(command), 0);
	live_end(&r->l);
	free(r);
	return 0;
}
