/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes, their boards and their windows; see mixes_workers.h. */
#define _GNU_SOURCE
#include "gpushare/bench/mixes_workers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/bench/process.h"

#define FLOOD_BATCH 64
#define START_NS (50 * GS_NS_PER_MS)
#define STOP_NS \
	(30 * GS_NS_PER_S) /* a program of low priority may have its last step behind all \
			    * that others have queued */
#define QUIT_NS (10 * GS_NS_PER_S)
#define POLL_MS 5
#define NUMBER 24

uint64_t mixes_period(const struct mixes_setup *setup, enum mixes_program program)
{
	return program == MIXES_TICK ? setup->every_ns :
				       mixes_kind[program].period_ms * GS_NS_PER_MS;
}

static const struct mixes_side *side_of(const struct mixes_workers *workers,
					const struct mixes_member *m)
{
	return &workers->mix->side[m->side];
}

/* The command line of one of the tool's own. */
struct own_words {
	char self[PATH_MAX], tasks[NUMBER], iterations[NUMBER], period[NUMBER], batch[NUMBER];
};

static int own_words(struct own_words *w, const struct mixes_setup *setup,
		     enum mixes_program program, struct gs_error *err)
{
	const struct bench_yard *yard = &setup->yard;
	uint64_t ns = program == MIXES_TICK ? setup->tick_ns :
		      program == MIXES_LONG ? setup->long_ns :
					      setup->flood_ns;
	int flood = program == MIXES_FLOOD;
	double scale = flood ? (double)ns / (double)yard->wave_ns : 1;
	double iterations = yard->iterations * scale;
	ssize_t n = readlink("/proc/self/exe", w->self, sizeof(w->self) - 1);

	if (n < 0)
		return gs_fail_errno(err, "cannot read /proc/self/exe");
	w->self[n] = '\0';
	snprintf(w->tasks, NUMBER, "%llu",
		 (unsigned long long)((flood ? 1 : bench_waves(yard, ns)) * yard->resident));
	snprintf(w->iterations, NUMBER, "%u", iterations < 1 ? 1 : (unsigned)iterations);
	snprintf(w->period, NUMBER, "%llu", (unsigned long long)mixes_period(setup, program));
	snprintf(w->batch, NUMBER, "%d", flood ? FLOOD_BATCH : 1);
	return 0;
}

const enum bench_share mixes_share[MIXES_WAYS] = {
	[MIXES_MPS] = BENCH_MPS,
	[MIXES_MPS_PRIORITIES] = BENCH_MPS,
	[MIXES_CONTEXTS] = BENCH_CONTEXTS,
	[MIXES_GS_MPS] = BENCH_GS_MPS,
};

static int start_member(struct mixes_workers *workers, struct mixes_member *m, enum mixes_way way,
			const char *board, struct gs_error *err)
{
	const struct mixes_setup *setup = workers->setup;
	const struct mixes_side *side = side_of(workers, m);
	const struct mixes_kind *kind = &mixes_kind[side->program];
	struct own_words own = { 0 };
	char script[PATH_MAX], meeting[PATH_MAX], rank[NUMBER], period[NUMBER];
	char *torch[] = { (char *)setup->python,
			  script,
			  (char *)kind->name,
			  (char *)board,
			  (char *)setup->device,
			  rank,
			  meeting,
			  period,
			  NULL };
	char *native[] = { own.self,       "mixes-program", (char *)board, own.tasks,
			   own.iterations, own.period,      own.batch,     NULL };
	int low = workers->mix->urgent && m->side == 1;
	const struct bench_launch launch = {
		.share = mixes_share[way],
		.argv = kind->torch ? torch : native,
		.log = m->log,
		.gpu = m->rank,
		.shares = side->shares,
		.memory = kind->torch ? setup->memory : 0,
		.priority = workers->mix->urgent && !low ? 2 : 1,
		.client_priority = way == MIXES_MPS_PRIORITIES ? low : -1,
	};

	if (!kind->torch && own_words(&own, setup, side->program, err) < 0)
		return -1;
	snprintf(script, sizeof(script), "%s/mixes_torch.py", setup->scripts);
	snprintf(meeting, sizeof(meeting), "%s/meeting-%u", workers->stage->folder, m->side);
	snprintf(rank, sizeof(rank), "%u", m->rank);
	snprintf(period, sizeof(period), "%llu",
		 (unsigned long long)mixes_period(setup, side->program));
	m->pid = bench_stage_launch(workers->stage, &launch, err);
	return m->pid < 0 ? -1 : 0;
}

/* What a program that ended said last. */
static void last_words(const struct mixes_member *m, char *words, size_t room)
{
	char line[512];
	FILE *f = fopen(m->log, "re");

	words[0] = '\0';
	while (f && fgets(line, sizeof(line), f))
		if (strcspn(line, "\n") > 0)
			snprintf(words, room, "%.*s", (int)strcspn(line, "\n"), line);
	if (f)
		fclose(f);
}

/*
 * WNOWAIT leaves it a zombie, so that the number of its process group is not given to another
 * before the group is ended.
 */
static int ended(const struct mixes_member *m, siginfo_t *info)
{
	siginfo_t own;

	info = info ? info : &own;
	info->si_pid = 0;
	return waitid(P_PID, (id_t)m->pid, info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	       info->si_pid != 0;
}

/* Returns -1 with how it ended. */
static int fail_ended(const struct mixes_workers *workers, struct mixes_member *m,
		      const siginfo_t *info, struct gs_error *err)
{
	const char *name = mixes_kind[side_of(workers, m)->program].name;
	char words[160];

	last_words(m, words, sizeof(words));
	return gs_fail(err, "%s ended with %s %d: %.160s", name,
		       info->si_code == CLD_EXITED ? "status" : "signal", info->si_status, words);
}

/* Does it live?  -1 with the reason. */
static int alive(const struct mixes_workers *workers, struct mixes_member *m, struct gs_error *err)
{
	siginfo_t info = { 0 };

	if (bench_interrupted)
		return gs_fail(err, "interrupted");
	return ended(m, &info) ? fail_ended(workers, m, &info, err) : 0;
}

/* Until each of those is ready for its next window. */
static int wait_for_all(struct mixes_workers *workers, uint32_t who, uint64_t until_ns,
			const char *what, struct gs_error *err)
{
	struct timespec inspect = { 0, POLL_MS * 1000000L };
	char words[120];

	for (uint32_t i = 0; i < workers->count; i++) {
		struct mixes_member *m = &workers->member[i];

		if (!(who >> i & 1))
			continue;
		while (atomic_load(&m->board->ready) != m->window + 1) {
			for (uint32_t k = 0; k < workers->count; k++)
				if (alive(workers, &workers->member[k], err) < 0)
					return -1;
			if (gs_clock_ns() > until_ns) {
				last_words(m, words, sizeof(words));
				return gs_fail(err, "%s %s: %.120s",
					       mixes_kind[side_of(workers, m)->program].name, what,
					       words);
			}
			nanosleep(&inspect, NULL);
		}
	}
	return 0;
}

static int add_member(struct mixes_workers *workers, uint32_t side, uint32_t rank,
		      enum mixes_way way, struct gs_error *err)
{
	struct mixes_member *m = &workers->member[workers->count];
	char board[PATH_MAX];

	*m = (struct mixes_member) { .side = side, .rank = rank };
	snprintf(board, sizeof(board), "%s/board-%u", workers->stage->folder, workers->count);
	snprintf(m->log, sizeof(m->log), "%s/output-%u", workers->stage->folder, workers->count);
	unlink(board);
	unlink(m->log);
	m->board = mixes_board_create(board, err);
	if (!m->board)
		return -1;
	workers->count++;
	return start_member(workers, m, way, board, err);
}

int mixes_workers_start(struct mixes_workers *workers, enum mixes_way way, struct gs_error *err)
{
	char meeting[PATH_MAX];
	int rc = 0;

	workers->count = 0;
	for (uint32_t side = 0; side < 2; side++) {
		snprintf(meeting, sizeof(meeting), "%s/meeting-%u", workers->stage->folder, side);
		unlink(meeting);
		for (uint32_t i = 0; i < workers->mix->side[side].count; i++)
			for (uint32_t rank = 0;
			     rc == 0 && rank < mixes_kind[workers->mix->side[side].program].gpus;
			     rank++)
				rc = workers->count == MIXES_MEMBERS_MAX ?
					     gs_fail(err, "too many programs") :
					     add_member(workers, side, rank, way, err);
	}
	if (rc == 0)
		rc = wait_for_all(workers, MIXES_EVERYONE,
				  gs_clock_ns() + workers->setup->start_s * GS_NS_PER_S,
				  "was not ready in time", err);
	if (rc < 0)
		mixes_workers_stop(workers, NULL);
	return rc;
}

int mixes_workers_stop(struct mixes_workers *workers, struct gs_error *err)
{
	uint64_t until = gs_clock_ns() + QUIT_NS;
	int rc = 0;

	for (uint32_t i = 0; i < workers->count; i++) {
		atomic_store(&workers->member[i].board->stopped, workers->member[i].window);
		atomic_store(&workers->member[i].board->window, MIXES_QUIT);
	}
	for (uint32_t i = 0; i < workers->count; i++) {
		struct mixes_member *m = &workers->member[i];
		struct timespec inspect = { 0, POLL_MS * 1000000L };
		siginfo_t info = { 0 };

		while (m->pid > 0 && gs_clock_ns() < until && !ended(m, &info))
			nanosleep(&inspect, NULL);
		if (info.si_pid && info.si_status && rc == 0)
			rc = fail_ended(workers, m, &info, err);
		bench_end_group(m->pid);
		mixes_board_close(m->board);
	}
	workers->count = 0;
	return rc;
}

/* Sleep until then, unless one of them ends. */
static int pass_time(struct mixes_workers *workers, uint64_t until_ns, struct gs_error *err)
{
	struct timespec inspect = { 0, 20 * 1000000L };

	while (gs_clock_ns() < until_ns) {
		for (uint32_t k = 0; k < workers->count; k++)
			if (alive(workers, &workers->member[k], err) < 0)
				return -1;
		nanosleep(&inspect, NULL);
	}
	return 0;
}

uint32_t mixes_workers_one(const struct mixes_workers *workers, uint32_t side)
{
	uint32_t who = 0, left = mixes_kind[workers->mix->side[side].program].gpus;

	for (uint32_t i = 0; i < workers->count; i++)
		if (workers->member[i].side == side && left) {
			who |= 1u << i;
			left--;
		}
	return who;
}

int mixes_workers_work(struct mixes_workers *workers, uint32_t who, uint64_t skip_ns,
		       uint64_t length_ns, struct mixes_window *window, struct gs_error *err)
{
	uint64_t begin = gs_clock_ns() + START_NS;

	*window = (struct mixes_window) { begin, begin + skip_ns, begin + skip_ns + length_ns, 0 };
	for (uint32_t i = 0; i < workers->count; i++) {
		struct mixes_member *m = &workers->member[i];

		if (!(who >> i & 1))
			continue;
		atomic_store(&m->board->begin_ns, begin);
		atomic_store(&m->board->window, ++m->window);
	}
	if (pass_time(workers, window->to_ns, err) < 0)
		return -1;
	for (uint32_t i = 0; i < workers->count; i++)
		atomic_store(&workers->member[i].board->stopped, workers->member[i].window);
	window->over_ns = gs_clock_ns();
	return wait_for_all(workers, who, window->over_ns + STOP_NS,
			    "did not stop after the window", err);
}
