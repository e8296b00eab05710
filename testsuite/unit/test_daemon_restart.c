/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushared comes back: the dead, the numbers of local jobs, and what is in the history. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/clock.h"
#include "config.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/steps/step_line.h"
#include "live_util.h"

static void test_restart_drops_the_dead(void **state)
{
	struct live *l = *state;
	char taken[16];
	uint32_t job;
	FILE *f;
	char path[128];
	int ready[2];
	pid_t owner;

	assert_int_equal(pipe(ready), 0);
	owner = fork();
	if (owner == 0) {
		live_local(l, 40, 0, "low", &job);
		if (write(ready[1], &job, sizeof(job)) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &job, sizeof(job)), sizeof(job));
	live_stop(l, SIGKILL);
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	snprintf(path, sizeof(path), "%s.state", l->socket);
	f = fopen(path, "a");
	assert_non_null(f);
	fputs("step of nonsense\n", f);
	fclose(f);
	live_start(l);
	live_status_gpu(l, "shares_taken", taken, sizeof(taken));
	assert_string_equal(taken, "0");
	assert_int_equal(live_logged(l, "which registered it, is gone"), 1);
	assert_int_equal(live_logged(l, "makes no sense"), 1);
	assert_int_equal(live_logged(l, "set aside"), 1);
	strcat(path, ".corrupt");
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(live_hello_refused(l, job), GS_REFUSED_UNKNOWN_STEP);
	close(ready[0]);
	close(ready[1]);
}

/* ---- the ids of local jobs ------------------------------------------------- */

#define LAST_LOCAL_JOB (UINT32_MAX - 1)

/* The id of a job that begins and ends. */
static uint32_t one_job(const struct live *l)
{
	unsigned over = live_logged(l, ": over: ");
	uint32_t job;
	int own = live_local(l, 10, 0, "low", &job);

	close(own);
	for (int i = 0; i < 500 && live_logged(l, ": over: ") == over; i++)
		usleep(10000);
	assert_int_equal(live_logged(l, ": over: "), over + 1);
	return job;
}

static void write_state(const struct live *l, const char *text)
{
	FILE *f = live_open_state(l, "w");

	fputs(text, f);
	assert_int_equal(fchmod(fileno(f), 0600), 0);
	fclose(f);
}

/* A daemon that finds such a state file (NULL: none). */
static void restart_with(struct live *l, const char *text)
{
	char path[128];

	live_stop(l, SIGTERM);
	snprintf(path, sizeof(path), "%s.state", l->socket);
	unlink(path);
	if (text)
		write_state(l, text);
	live_start(l);
}

static void test_local_ids_go_on(void **state)
{
	struct live *l = *state;
	uint32_t job = one_job(l);

	assert_int_equal(job, GS_LOCAL_JOB_FIRST);
	live_stop(l, SIGTERM);
	live_start(l);
	assert_int_equal(one_job(l), job + 1);
	live_stop(l, SIGKILL);
	live_start(l);
	assert_int_equal(one_job(l), job + 2);
	/* Nothing is known, or nonsense: begin anew. */
	restart_with(l, NULL);
	assert_int_equal(one_job(l), job);
	restart_with(l, "no such thing\n");
	assert_int_equal(one_job(l), job);
	/* Not beyond the range, where the hand-over is measured. */
	restart_with(l, "gpushare state 2 4294967295\n");
	assert_int_equal(one_job(l), job);
	restart_with(l, "gpushare state 2 99999999999999\n");
	assert_int_equal(one_job(l), job);
	restart_with(l, "gpushare state 2 12\n");
	assert_int_equal(one_job(l), job);
	assert_int_equal(live_logged(l, "of another version"), 4);
	assert_int_equal(live_logged(l, "set aside"), 4);
	/* After a boot its numbers of processes are others', but a job's id is not given twice. */
	restart_with(l, "gpushare state 2 4026531850 boot 0-1\nstep of nonsense\n");
	assert_int_equal(one_job(l), job + 10);
	assert_int_equal(live_logged(l, "before the node booted"), 1);
	assert_int_equal(live_logged(l, "set aside"), 4);
}

/* A folder in the state file's place: the daemon starts, and has its file afterwards. */
static void test_folder_as_state(void **state)
{
	struct live *l = *state;
	char path[128];

	live_stop(l, SIGTERM);
	snprintf(path, sizeof(path), "%s.state", l->socket);
	assert_int_equal(mkdir(path, 0755), 0);
	live_start(l);
	one_job(l);
	assert_int_equal(live_logged(l, "set aside"), 1);
	assert_int_equal(access(path, F_OK), 0);
	strcat(path, ".corrupt");
	assert_int_equal(rmdir(path), 0);
}

/* A daemon that is killed, and one that finds the line of its only step behind another first line.
 */
static void restart_with_first_line(struct live *l, const char *first)
{
	char path[128], line[512], kept[1024];
	FILE *f;

	live_stop(l, SIGKILL);
	snprintf(path, sizeof(path), "%s.state", l->socket);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_non_null(strstr(line, " boot "));
	assert_non_null(
		fgets(line, sizeof(line), f)); /* the step, whose registrant is still there */
	fclose(f);
	snprintf(kept, sizeof(kept), "%s%s", first, line);
	write_state(l, kept);
	live_start(l);
}

/* The registrant of the step lives, and yet the step is not taken for the old one's: another boot.
 */
static void test_a_boot_ends_all_steps(void **state)
{
	struct live *l = *state;
	char taken[16];
	uint32_t job;
	int own = live_local(l, 10, 0, "low", &job);

	restart_with_first_line(l, "gpushare state 2 4026531850 boot 0-1\n");
	live_status_gpu(l, "shares_taken", taken, sizeof(taken));
	assert_string_equal(taken, "0");
	close(own);
}

/* A daemon that finds that line of a process which is stopped: is it stopped still? */
static int stays_stopped(struct live *l, pid_t pid, const char *boot, const char *line)
{
	char text[512];

	kill(pid, SIGSTOP);
	for (int i = 0; i < 5000 && !gs_proc_stopped_by_signal(pid); i++)
		usleep(1000);
	snprintf(text, sizeof(text), "gpushare state 2 4026531850 boot %s\n%s", boot, line);
	restart_with(l, text);
	usleep(20000);
	return gs_proc_stopped_by_signal(pid);
}

/* A process that a daemon had woken, or stopped again without being sure, while its step is gone:
 * it runs on. Nobody is signalled because of a line of another boot, of a process that has ended,
 * or a part of a line. */
static void test_woken_process(void **state)
{
	struct live *l = *state;
	char line[128], late[128];
	struct gs_proc proc;
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	assert_int_equal(gs_proc_read(pid, &proc), 0);
	snprintf(line, sizeof(line), "woken 5 0 %d %" PRIu64 " 1 -\n", (int)pid, proc.start);
	snprintf(late, sizeof(late), "woken 5 0 %d %" PRIu64 " 1 -\n", (int)pid, proc.start + 1);
	assert_true(stays_stopped(l, pid, "0-1", line));
	assert_true(stays_stopped(l, pid, "-", late));
	assert_int_equal(live_logged(l, "set aside"), 0);
	line[strlen(line) - 3] = '\0';
	assert_true(stays_stopped(l, pid, "-", line));
	assert_int_equal(live_logged(l, "set aside"), 1);
	assert_int_equal(live_logged(l, "goes on, though its job may be suspended"), 0);
	snprintf(line, sizeof(line), "woken 5 0 %d %" PRIu64 " 1 -\n", (int)pid, proc.start);
	assert_false(stays_stopped(l, pid, "-", line));
	assert_int_equal(live_logged(l, "goes on, though its job may be suspended"), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A user has more steps than a gpushared would admit: from one that admitted more, or with others'
 * steps that have ended since. All come back, as far as there are places. */
static void test_a_users_many_steps_come_back(void **state)
{
	enum { STEPS = GS_STEPS_MAX + 1 };
	struct live *l = *state;
	struct gs_step_info info = {
		.job_id = 7, .uid = 4711, .shares = 10, .job_shares = 10, .memory = 1 << 20
	};
	char line[GS_STATE_LINE_MAX], *text = NULL;
	struct gs_proc proc;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(gs_proc_read(getpid(), &proc), 0);
	info.registrant = getpid();
	info.start = proc.start;
	fputs("gpushare state 2 4026531850 boot -\n", f);
	for (info.step_id = 0; info.step_id < STEPS; info.step_id++) {
		assert_true(gs_state_print(&info, line, sizeof(line)) < (int)sizeof(line));
		fprintf(f, "%s\n", line);
	}
	fclose(f);
	restart_with(l, text);
	free(text);
	assert_int_equal(live_logged(l, "known from before"), GS_STEPS_MAX);
	assert_int_equal(live_logged(l, "dropped: there are 1024 steps already"), 1);
}

static void test_local_ids_go_round(void **state)
{
	struct live *l = *state;
	uint32_t first, job;
	int own = live_local(l, 10, 0, "low", &first);

	restart_with_first_line(l, "gpushare state 2 4294967294\n");
	assert_int_equal(live_logged(l, "known from before"), 1);
	assert_int_equal(one_job(l), LAST_LOCAL_JOB);
	job = one_job(l); /* not the first: somebody has it */
	assert_int_equal(first, GS_LOCAL_JOB_FIRST);
	assert_int_equal(job, GS_LOCAL_JOB_FIRST + 1);
	close(own);
}

#ifdef HAVE_SQLITE
/* What a reboot leaves: the socket's folder is gone, the history is there. */
static void test_history_knows_local_ids(void **state)
{
	struct live *l = *state;
	char path[128], line[192];
	uint32_t job;

	snprintf(path, sizeof(path), "%s/h.db", l->dir);
	snprintf(line, sizeof(line), "HistoryFile=%s\n", path);
	live_configure(l, line);
	restart_with(l, NULL);
	job = one_job(l);
	assert_int_equal(one_job(l), job + 1);
	restart_with(l, NULL);
	assert_int_equal(one_job(l), job + 2);
	restart_with(l, "no such thing\n");
	assert_int_equal(one_job(l), job + 3);
	/* Whoever knows more is believed. */
	restart_with(l, "gpushare state 2 4026531842\n");
	assert_int_equal(one_job(l), job + 4);
	restart_with(l, "gpushare state 2 4026532000\n");
	assert_int_equal(one_job(l), 4026532000u);
	/* Round the range's end: the greatest number is the older one. */
	restart_with(l, "gpushare state 2 4294967294\n");
	unlink(path);
	live_stop(l, SIGTERM);
	write_state(l, "gpushare state 2 4294967294\n");
	live_start(l);
	assert_int_equal(one_job(l), LAST_LOCAL_JOB);
	assert_int_equal(one_job(l), GS_LOCAL_JOB_FIRST);
	restart_with(l, NULL);
	assert_int_equal(one_job(l), GS_LOCAL_JOB_FIRST + 1);
	live_stop(l, SIGTERM);
	unlink(path);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_restart_drops_the_dead),       LIVE(test_local_ids_go_on),
		LIVE(test_local_ids_go_round),           LIVE(test_folder_as_state),
		LIVE(test_a_boot_ends_all_steps),        LIVE(test_woken_process),
		LIVE(test_a_users_many_steps_come_back),
#ifdef HAVE_SQLITE
		LIVE(test_history_knows_local_ids),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
