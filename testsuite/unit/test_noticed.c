/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of a suspended job's processes where something fails meanwhile; slurmctld, the state
 * file and the moves of memory are played. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/log.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/checkpoint/noticed.h"
#include "gpushare/daemon/checkpoint/noticed_core.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/memory/memory.h"

#define JOB 5

/* A job of two steps in one allocation, and a process of it. */
static struct play {
	struct gs_daemon d;
	struct gs_config config;
	struct gs_device device;
	struct gs_alloc alloc;
	struct gs_step step[2];
	struct gs_connection conn;
	uint32_t ticket; /* of the last question */
	int full;        /* the state file cannot be written */
} play;

int gs_state_save(struct gs_daemon *d)
{
	(void)d;
	return play.full ? -1 : 0;
}

void gs_memory_step(struct gs_daemon *d)
{
	(void)d;
}

void gs_memory_step_soon(struct gs_daemon *d)
{
	(void)d;
}

void gs_command_stopped(struct gs_arbiter *arbiter, struct gs_gpu_client *client, int stopped)
{
	(void)arbiter;
	(void)client;
	(void)stopped;
}

static uint32_t inquire(struct gs_daemon *d, uint32_t job_id)
{
	assert_int_equal(job_id, JOB);
	return d->slurm ? ++play.ticket : 0;
}

/* A process that ends at the latest with this one, also where a test fails. */
static pid_t sleeper(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static int begin(void **unused)
{
	struct gs_connection *conn = &play.conn;
	struct gs_proc proc;

	(void)unused;
	memset(&play, 0, sizeof(play));
	play.config.suspend_memory = 1;
	play.alloc.device = &play.device;
	play.alloc.admitted = 1;
	play.d.config = &play.config;
	play.d.slurm = (void *)&play;
	LIST_INIT(&play.d.conns);
	TAILQ_INIT(&play.d.steps);
	for (uint32_t i = 0; i < 2; i++) {
		play.step[i].info.job_id = JOB;
		play.step[i].info.step_id = i;
		play.step[i].alloc = &play.alloc;
		TAILQ_INSERT_TAIL(&play.d.steps, &play.step[i], link);
	}
	conn->pid = sleeper();
	assert_int_equal(gs_proc_read(conn->pid, &proc), 0);
	conn->start = proc.start;
	conn->d = &play.d;
	conn->step = &play.step[1];
	conn->device = &play.device;
	conn->client = (void *)&play;
	LIST_INSERT_HEAD(&play.d.conns, conn, link);
	gs_noticed_set_inquire(inquire);
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	gs_noticed_forget(&play.alloc);
	kill(play.conn.pid, SIGKILL);
	waitpid(play.conn.pid, NULL, 0);
	return 0;
}

static int becomes(int stopped)
{
	for (int i = 0; i < 5000; i++) {
		if (gs_proc_stopped_by_signal(play.conn.pid) == stopped)
			return 1;
		usleep(1000);
	}
	return 0;
}

static void stop(void)
{
	kill(play.conn.pid, SIGSTOP);
	assert_true(becomes(1));
}

/* What the thread of suspended.c does, again and again, until a question is out. */
static void look_until_asked(void)
{
	uint32_t before = play.ticket;

	for (int i = 0; i < 5000 && play.ticket == before; i++) {
		gs_noticed_step(&play.d);
		usleep(1000);
	}
	assert_true(play.ticket > before);
}

static void answer(enum gs_is_suspended is)
{
	look_until_asked();
	gs_noticed_answer(&play.d, play.ticket, is);
}

/* Slurm suspends the job, and its processes are awake for the move. */
static void wake_for_move(void)
{
	struct gs_error err;

	stop();
	play.conn.registration.stopped = 1;
	answer(GS_IS_SUSPENDED);
	assert_true(gs_noticed_is_moving(&play.alloc));
	assert_int_equal(gs_noticed_wake(&play.d, &play.alloc, &err), 0);
	assert_true(becomes(0));
}

/* Its memory has to stay. */
static void end_move(void)
{
	play.alloc.suspended = 0;
	gs_noticed_step(&play.d);
	assert_false(gs_noticed_is_moving(&play.alloc));
}

static void found_process(uint32_t step, int pid, uint64_t start)
{
	char line[GS_STATE_LINE_MAX];

	snprintf(line, sizeof(line), "woken %d %u %d %" PRIu64 " 1 -", JOB, step, pid, start);
	assert_int_equal(gs_noticed_part.parse(&play.d, line), 1);
}

static void found(uint32_t step)
{
	found_process(step, (int)play.conn.pid, play.conn.start);
}

static void it_is_stopped_again(void **unused)
{
	(void)unused;
	wake_for_move();
	end_move();
	assert_true(becomes(1));
	answer(GS_IS_SUSPENDED);
	assert_true(becomes(1));
}

/* ReportToSlurm goes off before slurmctld is asked once more: Slurm may have resumed the job. */
static void it_goes_on_if_nobody_can_be_asked(void **unused)
{
	(void)unused;
	wake_for_move();
	end_move();
	assert_true(becomes(1));
	play.d.slurm = NULL;
	gs_noticed_step(&play.d);
	assert_true(becomes(0));
	assert_null(play.alloc.noticed);
}

/* Slurm stops it once more, by its cgroup this time, and that cannot be written down. */
static void it_is_stopped_once_the_file_can_be_written(void **unused)
{
	(void)unused;
	wake_for_move();
	play.alloc.noticed->unwritten = 1;
	play.full = 1;
	end_move();
	assert_true(becomes(0));
	answer(GS_IS_SUSPENDED);
	assert_true(becomes(0));
	play.full = 0;
	answer(GS_IS_SUSPENDED);
	assert_true(becomes(1));
	answer(GS_IS_SUSPENDED);
	assert_true(play.alloc.noticed->confirmed);
	assert_true(becomes(1));
}

/* The plugin asks for one more move while they are awake for the first one's end. */
static void what_was_found_is_stopped_after_all(void **unused)
{
	struct gs_error err;

	(void)unused;
	found(0);
	answer(GS_IS_SUSPENDED);
	assert_true(gs_noticed_is_moving(&play.alloc));
	play.alloc.suspended = 1;
	play.full = 1;
	assert_int_equal(gs_noticed_wake(&play.d, &play.alloc, &err), -1);
	play.full = 0;
	end_move();
	assert_true(becomes(1));
}

/* The step that its line names was over as this daemon began; the job's other one is not. */
static void another_step_stands_for_it(void **unused)
{
	char text[GS_STATE_LINE_MAX] = "";
	FILE *f = tmpfile();

	(void)unused;
	assert_non_null(f);
	wake_for_move();
	assert_int_equal(gs_noticed_part.print_rest(&play.d, f), 1);
	rewind(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	gs_noticed_forget(&play.alloc);
	TAILQ_REMOVE(&play.d.steps, &play.step[0], link);
	assert_int_equal(gs_noticed_part.parse(&play.d, text), 1);
	play.alloc.suspended = 0;
	answer(GS_IS_SUSPENDED);
	end_move();
	assert_true(becomes(1));
}

/* Is that the whole log of what happens when all lines have been read? NULL: nothing. */
static int says_when_loaded(const char *line)
{
	char path[] = "test_noticed.XXXXXX", text[512] = "", more[8];
	int fd = mkstemp(path), rc;
	FILE *f;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(gs_log_open("test", path, GS_LOG_INFO), 0);
	gs_noticed_part.loaded(&play.d);
	gs_log_close();
	f = fopen(path, "r");
	assert_non_null(f);
	if (!fgets(text, sizeof(text), f))
		rc = !line;
	else
		rc = line && strstr(text, line) && !fgets(more, sizeof(more), f);
	fclose(f);
	unlink(path);
	return rc;
}

/* More processes than the list has room for: which are there, and end when the test does. */
static void found_children(pid_t child[GS_WOKEN_MAX])
{
	for (int i = 0; i < GS_WOKEN_MAX; i++) {
		struct gs_proc proc;

		child[i] = sleeper();
		assert_int_equal(gs_proc_read(child[i], &proc), 0);
		found_process(0, child[i], proc.start);
	}
}

static void it_says_how_many_are_left_out(void **unused)
{
	pid_t child[GS_WOKEN_MAX];

	(void)unused;
	for (int i = 0; i <= GS_WOKEN_MAX; i++)
		found_process(0, 100 + i, 1); /* they have ended, and take no room */
	found_children(child);
	assert_true(says_when_loaded(NULL));
	found(1);
	assert_true(says_when_loaded(
		"job 5.0: forgets processes that an earlier gpushared has woken, 1 of them"));
	assert_true(says_when_loaded(NULL));
	for (int i = 0; i < GS_WOKEN_MAX; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
}

/* Each look wakes the event loop. */
static void nobody_looks_at_steps_without_programs(void **unused)
{
	struct gs_away_process p = { .pid = play.conn.pid };
	struct gs_away away = { 0 };

	(void)unused;
	assert_true(gs_noticed_matters(&play.d));
	play.config.suspend_memory = 0;
	assert_false(gs_noticed_matters(&play.d));
	play.config.suspend_memory = 1;
	play.step[1].info.local = 1;
	assert_false(gs_noticed_matters(&play.d));
	play.step[1].info.local = 0;
	play.conn.client = NULL; /* it has ended, or its memory is on the host */
	assert_false(gs_noticed_matters(&play.d));
	play.alloc.away = &away;
	assert_false(gs_noticed_matters(&play.d));
	LIST_INSERT_HEAD(&away.processes, &p, link);
	assert_true(gs_noticed_matters(&play.d));
	play.alloc.away = NULL;
	found(0); /* an earlier daemon has woken it */
	assert_true(gs_noticed_matters(&play.d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_stopped_again, begin, end),
		cmocka_unit_test_setup_teardown(it_goes_on_if_nobody_can_be_asked, begin, end),
		cmocka_unit_test_setup_teardown(it_is_stopped_once_the_file_can_be_written, begin,
						end),
		cmocka_unit_test_setup_teardown(what_was_found_is_stopped_after_all, begin, end),
		cmocka_unit_test_setup_teardown(another_step_stands_for_it, begin, end),
		cmocka_unit_test_setup_teardown(it_says_how_many_are_left_out, begin, end),
		cmocka_unit_test_setup_teardown(nobody_looks_at_steps_without_programs, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
