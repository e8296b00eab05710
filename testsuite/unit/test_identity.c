/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose step a process is: the text of cgroup files, and random trees below a made-up /proc. */
#define _GNU_SOURCE
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpushare/daemon/base/identity.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/step_cgroup.h"

#define TREES 1000
#define STEPS_MAX 6
#define PROCESSES_MAX 40
#define USER 1000

/* ---- one text against another ------------------------------------------- */

#define V1_STEPD "7:freezer:/slurm_n1/uid_0/job_5\n4:memory:/slurm_n1/uid_0/job_5/step_0\n0::/\n"
#define V1_TASK(job, step) \
	"7:freezer:/slurm_n1/uid_0/job_" #job "/step_" #step \
	"\n4:memory:/slurm_n1/uid_0/job_" #job "/step_" #step "/task_0\n0::/\n"
#define SCOPE "0::/system.slice/slurmstepd.scope"
#define V2_STEPD SCOPE "/job_5/step_0/slurm\n"

static enum gs_in_cgroup in(const char *process, const char *registrant)
{
	return gs_step_cgroup_find(process, registrant, 5, 0, NULL);
}

static void test_version_1(void **state)
{
	(void)state;
	assert_int_equal(in(V1_TASK(5, 0), V1_STEPD), GS_IN_THIS_STEP);
	assert_int_equal(in(V1_TASK(5, 1), V1_STEPD), GS_IN_OTHER_STEP);
	assert_int_equal(in(V1_TASK(5, batch), V1_STEPD), GS_IN_OTHER_STEP);
	assert_int_equal(in(V1_TASK(6, 0), V1_STEPD), GS_IN_NO_STEP);
	assert_int_equal(in(V1_TASK(55, 0), V1_STEPD), GS_IN_NO_STEP);
	/* One hierarchy is enough, and another's path is none of this one's. */
	assert_int_equal(in("4:memory:/slurm_n1/uid_0/job_5/step_0/task_3\n", V1_STEPD),
			 GS_IN_THIS_STEP);
	assert_int_equal(in("3:cpuset:/slurm_n1/uid_0/job_5/step_0\n", V1_STEPD), GS_IN_NO_STEP);
	/* Another cluster of the same host. */
	assert_int_equal(in("7:freezer:/slurm_n2/uid_0/job_5/step_0\n", V1_STEPD), GS_IN_NO_STEP);
	/* The freezer, by which Slurm tracks processes, has the last word. */
	assert_int_equal(in("4:memory:/slurm_n1/uid_0/job_5/step_1\n"
			    "7:freezer:/slurm_n1/uid_0/job_5/step_0\n",
			    V1_STEPD),
			 GS_IN_THIS_STEP);
}

static void test_version_2(void **state)
{
	uint32_t other = 0;

	(void)state;
	assert_int_equal(in(SCOPE "/job_5/step_0/user/task_0\n", V2_STEPD), GS_IN_THIS_STEP);
	assert_int_equal(in(SCOPE "/job_5/step_0+1/user/task_0\n", V2_STEPD), GS_IN_THIS_STEP);
	/* What a step makes below its own, such as a container's, is its own. */
	assert_int_equal(in(SCOPE "/job_5/step_0/user/task_0/job_5/step_7\n", V2_STEPD),
			 GS_IN_THIS_STEP);
	assert_int_equal(gs_step_cgroup_find(SCOPE "/job_5/step_extern/user/task_special\n",
					     V2_STEPD, 5, 0, &other),
			 GS_IN_OTHER_STEP);
	assert_int_equal(other, GS_STEP_EXTERN);
	/* A user owns cgroups elsewhere, and may name them so. */
	assert_int_equal(in("0::/user.slice/user-1000.slice/job_5/step_0\n", V2_STEPD),
			 GS_IN_NO_STEP);
	assert_int_equal(in("0::/user.slice/slurmstepd.scope/job_5/step_0\n", V2_STEPD),
			 GS_IN_NO_STEP);
	/* A cluster within a job: the deepest slurmstepd's is the path that counts. */
	assert_int_equal(in(SCOPE "/job_5/step_9/x/job_5/step_0/user\n",
			    SCOPE "/job_5/step_9/x/job_5/step_0/slurm\n"),
			 GS_IN_THIS_STEP);
}

static void test_texts_that_are_none(void **state)
{
	static const char *const odd[] = {
		"",
		"\n",
		"0::\n",
		"0::/\n",
		"::",
		"job_5/step_0",
		"0:/job_5/step_0",
		"0::/job_5",
		"0::/job_5/",
		"0::/job_5/step_",
	};
	static const char *const no_number[] = {
		"step_",      "step_x", "step_0x",         "step_-1",          "step_0+",
		"step_0+1+2", "step",   "step_4294967290", "step_99999999999", "step_batch1",
	};
	uint32_t id;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_int_equal(in(odd[i], V2_STEPD), GS_IN_NO_STEP);
		assert_int_equal(in(odd[i], "0::/job_5\n"), GS_IN_NO_STEP);
		assert_int_equal(in(SCOPE "/job_5/step_0\n", odd[i]), GS_IN_NO_STEP);
	}
	for (size_t i = 0; i < sizeof(no_number) / sizeof(no_number[0]); i++)
		assert_int_equal(gs_step_cgroup_number(no_number[i], &id), -1);
	assert_int_equal(gs_step_cgroup_number("step_17/task_0", &id), 0);
	assert_int_equal(id, 17);
	assert_int_equal(gs_step_cgroup_number("step_interactive", &id), 0);
	assert_int_equal(id, GS_STEP_INTERACTIVE);
}

/* ---- random trees ------------------------------------------------------- */

static char root[64];
static uint64_t seed = 88172645463325252u;

static unsigned any(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % n);
}

enum kind { STRANGER, STEPD, TASK };
enum grouping { NO_CGROUPS, VERSION_1, VERSION_2 };

struct process {
	enum kind kind;
	int step;   /* that it is of; -1: none */
	int parent; /* -1: process 1, as of those that are daemons */
};

struct tree {
	struct gs_daemon d;
	struct gs_step step[STEPS_MAX];
	unsigned nstep, n;
	struct process process[PROCESSES_MAX];
	enum grouping grouping;
};

static pid_t pid_of(int i)
{
	return i < 0 ? 1 : 100 + i;
}

static void put(pid_t pid, const char *file, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d", root, (int)pid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%d/%s", root, (int)pid, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const char *group_of(const struct tree *t, const struct process *p, char *text, size_t size)
{
	const struct gs_step_info *info = p->step < 0 ? NULL : &t->step[p->step].info;
	char name[16];

	if (!info && any(2)) /* somebody's own cgroup that looks like a step's */
		snprintf(text, size,
			 "3:freezer:/user/job_%u/step_0\n0::/user.slice/job_%u/step_0\n",
			 t->step[0].info.job_id, t->step[0].info.job_id);
	else if (!info || t->grouping == NO_CGROUPS)
		snprintf(text, size, "3:freezer:/\n0::/system.slice/slurmd.service\n");
	else if (t->grouping == VERSION_1)
		snprintf(text, size, "5:cpuset:/\n3:freezer:/slurm/uid_%u/job_%u%s%s\n0::/\n", USER,
			 info->job_id, p->kind == STEPD ? "" : "/step_",
			 p->kind == STEPD ? "" : gs_step_name(info->step_id, name, sizeof(name)));
	else
		snprintf(text, size, SCOPE "/job_%u/step_%s%s\n", info->job_id,
			 gs_step_name(info->step_id, name, sizeof(name)),
			 p->kind == STEPD ? "/slurm" : "/user/task_0");
	return text;
}

/* What is on disk for a process: its parent and start, and its cgroups. */
static void write_process(const struct tree *t, int i)
{
	const struct process *p = &t->process[i];
	char text[512];

	snprintf(text, sizeof(text), "%d (a ) b) S %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %d 0 0\n",
		 (int)pid_of(i), (int)pid_of(p->parent), 1000 + i);
	put(pid_of(i), "stat", text);
	put(pid_of(i), "cgroup", group_of(t, p, text, sizeof(text)));
}

/* Steps of a few jobs, processes below their slurmstepds, some of which have become daemons or
 * begin another step, and strangers. */
static void grow(struct tree *t)
{
	memset(t, 0, sizeof(*t));
	TAILQ_INIT(&t->d.steps);
	t->grouping = any(3);
	t->nstep = 1 + any(STEPS_MAX);
	t->n = t->nstep + any(PROCESSES_MAX - STEPS_MAX);
	for (unsigned i = 0; i < t->nstep; i++) {
		struct gs_step *s = &t->step[i];

		s->info.job_id = 5 + i / 2;
		s->info.step_id = i % 2 ? any(5) : GS_STEP_BATCH;
		s->info.uid = USER;
		s->info.registrant = pid_of((int)i);
		s->info.start = 1000 + i;
		TAILQ_INSERT_TAIL(&t->d.steps, s, link);
		/* The slurmstepd of a nested step may descend from another's task. */
		t->process[i] =
			(struct process) { STEPD, (int)i, i && any(4) == 0 ? (int)any(i) : -1 };
	}
	for (unsigned i = t->nstep; i < t->n; i++) {
		int parent = (int)any(i);

		if (any(6) == 0)
			t->process[i] = (struct process) { STRANGER, -1, -1 };
		else
			t->process[i] = (struct process) {
				t->process[parent].kind == STRANGER ? STRANGER : TASK,
				t->process[parent].step,
				any(3) ? parent : -1,
			};
	}
	for (unsigned i = 0; i < t->n; i++)
		write_process(t, (int)i);
}

/* Without cgroups a daemon is nobody's. */
static int expected(const struct tree *t, int i)
{
	if (t->grouping != NO_CGROUPS)
		return t->process[i].step;
	for (int at = i; at >= 0; at = t->process[at].parent)
		if (t->process[at].kind == STEPD)
			return t->process[at].step;
	return -1;
}

static unsigned wrong_in(struct tree *t)
{
	unsigned wrong = 0;

	for (unsigned i = t->nstep; i < t->n; i++) {
		struct gs_claim claim = { USER, pid_of((int)i), 1000 + i, any(20) };
		int step = expected(t, (int)i);
		enum gs_refusal code;
		struct gs_error err;
		struct gs_step *s = gs_identify(&t->d, root, &claim, &code, &err);

		wrong += s != (step < 0 ? NULL : &t->step[step]);
		claim.start++; /* another process had the number when it connected */
		wrong += gs_identify(&t->d, root, &claim, &code, &err) != NULL;
	}
	return wrong;
}

static void test_random_trees(void **state)
{
	unsigned processes = 0, wrong = 0;
	struct tree *t = calloc(1, sizeof(*t));

	(void)state;
	assert_non_null(t);
	for (unsigned i = 0; i < TREES; i++) {
		grow(t);
		processes += t->n - t->nstep;
		wrong += wrong_in(t);
	}
	print_message("%u trees, %u processes: %u wrong\n", TREES, processes, wrong);
	assert_int_equal(wrong, 0);
	assert_true(processes > 5 * TREES);
	free(t);
}

/* ---- single cases -------------------------------------------------------- */

static void one_step(struct tree *t, uint32_t job_id, int local)
{
	memset(t, 0, sizeof(*t));
	TAILQ_INIT(&t->d.steps);
	t->grouping = VERSION_2;
	t->nstep = t->n = 1;
	t->step[0].info = (struct gs_step_info) { .job_id = job_id,
						  .step_id = 0,
						  .uid = USER,
						  .registrant = pid_of(0),
						  .start = 1000,
						  .local = local };
	TAILQ_INSERT_TAIL(&t->d.steps, &t->step[0], link);
	t->process[0] = (struct process) { STEPD, 0, -1 };
	write_process(t, 0);
}

static void test_other_user_in_the_cgroup(void **state)
{
	struct tree t;
	struct gs_claim claim = { USER + 1, pid_of(1), 1001, 0 };
	enum gs_refusal code;
	struct gs_error err;

	(void)state;
	one_step(&t, 5, 0);
	t.process[1] = (struct process) { TASK, 0, 0 };
	write_process(&t, 1);
	/* `su`, or a container's user: what is in the job's cgroup is the job's. */
	assert_ptr_equal(gs_identify(&t.d, root, &claim, &code, &err), &t.step[0]);
	t.grouping = NO_CGROUPS;
	write_process(&t, 1);
	assert_null(gs_identify(&t.d, root, &claim, &code, &err));
}

static void test_number_of_an_ancestor_used_again(void **state)
{
	struct gs_claim claim = { USER, pid_of(1), 999, 5 };
	enum gs_refusal code;
	struct gs_error err;
	struct tree t;

	(void)state;
	one_step(&t, 5, 0);
	t.process[1] = (struct process) { TASK, 0, 0 };
	t.grouping = NO_CGROUPS;
	write_process(&t, 1);
	claim.start = 1001;
	assert_ptr_equal(gs_identify(&t.d, root, &claim, &code, &err), &t.step[0]);
	/* Born before what is its parent by number now: the parent is another process. */
	put(pid_of(1), "stat", "101 (a) S 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 999 0 0\n");
	claim.start = 999;
	assert_null(gs_identify(&t.d, root, &claim, &code, &err));
	assert_int_equal(code, GS_REFUSED_NOT_YOURS);
}

static void test_step_without_shares(void **state)
{
	struct tree t;
	struct gs_claim claim = { USER, pid_of(1), 1001, 5 };
	enum gs_refusal code;
	struct gs_error err;

	(void)state;
	one_step(&t, 5, 0);
	t.process[1] = (struct process) { TASK, 0, 0 };
	write_process(&t, 1);
	put(pid_of(1), "cgroup", SCOPE "/job_5/step_1/user/task_0\n");
	assert_null(gs_identify(&t.d, root, &claim, &code, &err));
	assert_int_equal(code, GS_REFUSED_UNKNOWN_STEP);
	assert_non_null(strstr(err.text, "job 5.1, in which this process is, has no shares here"));
}

/* gpusharectl run within a job: the program asks for the one or the other. */
static void test_local_step_within_a_job(void **state)
{
	struct gs_claim claim = { USER, pid_of(2), 1002, 0 };
	struct gs_step own = { .info = { .job_id = 0xf0000000u,
					 .uid = USER,
					 .registrant = pid_of(1),
					 .start = 1001,
					 .local = 1 } };
	enum gs_refusal code;
	struct gs_error err;
	struct tree t;

	(void)state;
	one_step(&t, 5, 0);
	for (int i = 1; i <= 2; i++) {
		t.process[i] = (struct process) { TASK, 0, i - 1 };
		write_process(&t, i);
	}
	TAILQ_INSERT_TAIL(&t.d.steps, &own, link);
	claim.job_id = own.info.job_id;
	assert_ptr_equal(gs_identify(&t.d, root, &claim, &code, &err), &own);
	claim.job_id = 5;
	assert_ptr_equal(gs_identify(&t.d, root, &claim, &code, &err), &t.step[0]);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	(void)state;
	/* Some thirty thousand small files: in memory, if there is such a place. */
	snprintf(root, sizeof(root), "%s/gs-identity.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_1),
		cmocka_unit_test(test_version_2),
		cmocka_unit_test(test_texts_that_are_none),
		cmocka_unit_test(test_random_trees),
		cmocka_unit_test(test_other_user_in_the_cgroup),
		cmocka_unit_test(test_number_of_an_ancestor_used_again),
		cmocka_unit_test(test_step_without_shares),
		cmocka_unit_test(test_local_step_within_a_job),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
