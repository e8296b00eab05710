/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose step a process is: real processes in real cgroups, as slurmstepd lays them out. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpushare/daemon/base/identity.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/step.h"

#define TREES 500 /* in each of the two kinds of hierarchy, where both are to be had */
#define NODES_MAX 12
#define STEPS_MAX 3
#define JOB 7000
#define PATH 384 /* of a cgroup's folder */
#define PATIENCE_S 120

enum kind { STEPD, TASK };

/* A process of the tree, as it is planned before any of it is forked. */
struct node {
	enum kind kind;
	int parent;
	int step;
	int new_session;
	int exits; /* its children become process 1's, or the next reaper's */
};

struct tree {
	struct node node[NODES_MAX];
	unsigned n, nstep;
	struct gs_step step[STEPS_MAX];
	struct gs_daemon d;
	pid_t pid[NODES_MAX]; /* of those that stay */
};

/* What each process that stays says of itself. */
struct word {
	int node;
	pid_t pid;
};

static char base[256]; /* below which the jobs' cgroups are */
static int version;    /* of the cgroups */
static uint64_t seed = 2463534242u;

static unsigned any(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % n);
}

/* The first mount point of that kind at which this process may make a cgroup; 0: there is none. */
static int find_base(int kind)
{
	char device[256], mount[256], type[64], options[512];
	FILE *f = fopen("/proc/mounts", "re");
	int found = 0;

	while (f && !found &&
	       fscanf(f, "%255s %255s %63s %511s %*d %*d\n", device, mount, type, options) == 4) {
		if (kind == 2 ? strcmp(type, "cgroup2") != 0 :
				strcmp(type, "cgroup") != 0 || !strstr(options, "freezer"))
			continue;
		snprintf(base, sizeof(base), "%.200s/gs-identity.%d", mount, (int)getpid());
		found = mkdir(base, 0755) == 0;
	}
	if (f)
		fclose(f);
	version = kind;
	return found;
}

static void group_of(const struct tree *t, int step, enum kind kind, char *path, size_t size)
{
	const struct gs_step_info *info = &t->step[step].info;

	if (version == 1 && kind == STEPD)
		snprintf(path, size, "%s/job_%u", base, info->job_id);
	else
		snprintf(path, size, "%s/job_%u/step_%u%s", base, info->job_id, info->step_id,
			 version == 1  ? "" :
			 kind == STEPD ? "/slurm" :
					 "/user");
}

static int enter(const char *group)
{
	char path[2 * PATH], pid[16];
	int fd, n, rc;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = snprintf(pid, sizeof(pid), "%d", (int)getpid());
	rc = write(fd, pid, (size_t)n) == n ? 0 : -1;
	close(fd);
	return rc;
}

/* Each step's folders; make 0: remove them, which succeeds once the last process is gone. */
static int folders(const struct tree *t, int make)
{
	int rc = 0;

	for (unsigned i = 0; i < t->nstep; i++) {
		const struct gs_step_info *info = &t->step[i].info;
		unsigned job = info->job_id, step = info->step_id;
		char path[4][PATH];

		snprintf(path[0], PATH, "%s/job_%u", base, job);
		snprintf(path[1], PATH, "%s/job_%u/step_%u", base, job, step);
		snprintf(path[2], PATH, "%s/job_%u/step_%u/slurm", base, job, step);
		snprintf(path[3], PATH, "%s/job_%u/step_%u/user", base, job, step);
		for (int k = 0; make && k < (version == 1 ? 2 : 4); k++)
			if (mkdir(path[k], 0755) < 0 && errno != EEXIST)
				rc = -1;
		for (int k = version == 1 ? 1 : 3; !make && k >= 0; k--)
			if (rmdir(path[k]) < 0 && errno == EBUSY && k > 0)
				rc = -1;
	}
	return rc;
}

static void plan(struct tree *t)
{
	memset(t, 0, sizeof(*t));
	TAILQ_INIT(&t->d.steps);
	t->nstep = 1 + any(STEPS_MAX);
	t->n = t->nstep + 2 + any(NODES_MAX - STEPS_MAX - 2);
	for (unsigned i = 0; i < t->nstep; i++) {
		t->step[i].info.job_id = JOB + any(2);
		t->step[i].info.step_id = i;
		t->step[i].info.uid = getuid();
		/* The later ones begin within the first one's tasks. */
		t->node[i] = (struct node) { STEPD, i ? (int)any(i) : -1, (int)i, (int)any(2), 0 };
	}
	for (unsigned i = t->nstep; i < t->n; i++) {
		int parent = (int)any(i);

		t->node[i] = (struct node) { TASK, parent, t->node[parent].step, (int)any(2),
					     any(3) == 0 };
	}
}

/* Slurm puts a step's first processes into its cgroup; the rest are there by being born. */
static void begin(const struct tree *t, const struct node *node)
{
	char group[PATH];

	group_of(t, node->step, node->kind, group, sizeof(group));
	if ((node->kind == STEPD || t->node[node->parent].kind == STEPD) && enter(group) < 0)
		_exit(1);
	if (node->new_session)
		setsid();
}

/* The node that this process is by now, a child of that one; -1: it is still the parent. */
static int fork_children(const struct tree *t, int i)
{
	for (unsigned c = 0; c < t->n; c++)
		if (t->node[c].parent == i && fork() == 0)
			return (int)c;
	return -1;
}

static _Noreturn void run_tree(const struct tree *t, int pipe_fd)
{
	struct word word = { .node = 0 };
	pid_t parent = 0;
	int child;

	while (begin(t, &t->node[word.node]), word.pid = getpid(),
	       (child = fork_children(t, word.node)) >= 0) {
		parent = word.pid;
		word.node = child;
	}
	if (t->node[word.node].exits)
		_exit(0);
	if (t->node[word.node].parent >= 0 && t->node[t->node[word.node].parent].exits)
		while (getppid() == parent)
			usleep(100);
	if (write(pipe_fd, &word, sizeof(word)) != sizeof(word))
		_exit(1);
	for (;;)
		pause();
}

static int start(struct tree *t)
{
	int ends[2], staying = 0;
	struct word word;

	assert_int_equal(pipe(ends), 0);
	if (fork() == 0)
		run_tree(t, ends[1]);
	close(ends[1]);
	for (unsigned i = 0; i < t->n; i++)
		staying += !t->node[i].exits;
	for (int i = 0; i < staying; i++) {
		assert_int_equal(read(ends[0], &word, sizeof(word)), sizeof(word));
		t->pid[word.node] = word.pid;
	}
	close(ends[0]);
	for (unsigned i = 0; i < t->nstep; i++) {
		struct gs_proc proc;

		assert_int_equal(gs_proc_read(t->pid[i], &proc), 0);
		t->step[i].info.registrant = t->pid[i];
		t->step[i].info.start = proc.start;
		TAILQ_INSERT_TAIL(&t->d.steps, &t->step[i], link);
	}
	return staying - (int)t->nstep;
}

static void end(struct tree *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->pid[i])
			kill(t->pid[i], SIGKILL);
	/* The orphans are this process's by now. */
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	assert_int_equal(folders(t, 0), 0);
}

/* NULL: nobody's. */
static const struct gs_step *step_of(struct tree *t, pid_t pid)
{
	struct gs_claim claim = { .uid = getuid(), .pid = pid, .job_id = JOB + any(3) };
	enum gs_refusal code;
	struct gs_proc proc;
	struct gs_error err;

	assert_int_equal(gs_proc_read(pid, &proc), 0);
	claim.start = proc.start;
	return gs_identify(&t->d, GS_PROC_ROOT, &claim, &code, &err);
}

static void random_trees(int kind)
{
	unsigned processes = 0, wrong = 0;
	struct tree t;

	if (!find_base(kind)) {
		print_message("skipped: no cgroup of version %d can be made here\n", kind);
		skip();
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	alarm(PATIENCE_S); /* a tree that never stands is a failure, not a pause */
	for (unsigned i = 0; i < TREES; i++) {
		plan(&t);
		assert_int_equal(folders(&t, 1), 0);
		processes += (unsigned)start(&t);
		for (unsigned k = t.nstep; k < t.n; k++)
			if (t.pid[k])
				wrong += step_of(&t, t.pid[k]) != &t.step[t.node[k].step];
		wrong += step_of(&t, getpid()) != NULL;
		end(&t);
	}
	alarm(0);
	rmdir(base);
	print_message("version %d: %u trees, %u processes: %u wrong\n", kind, TREES, processes,
		      wrong);
	assert_int_equal(wrong, 0);
	assert_true(processes > TREES);
}

static void test_version_1(void **state)
{
	(void)state;
	random_trees(1);
}

static void test_version_2(void **state)
{
	(void)state;
	random_trees(2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_1),
		cmocka_unit_test(test_version_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
