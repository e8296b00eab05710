/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handover-probe: two processes that exchange the GPU, kernel for kernel, until
 * gpushared, which starts this and times them (daemon/measure.c), has seen
 * enough.  Nothing is measured here.
 *
 * SIGTERM ends a process between two kernels, never in the middle of one:
 * under MPS that would be the end of the other clients, too.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpushare/bench/driver.h"

#define EXCHANGES 1000 /* at most, should nobody end us */
#define THREADS 32
/* gpushared ends us sooner, if it is there. */
#define LIFE_S 30
/*
 * Longer than the kernels that the shim leaves untracked: such a kernel itself reports that it
 * begins.
 */
#define WAVES 4
#define TASK_NS 750000
/* The most rounds of a block-task, so that it ends whatever the device's clock shows. */
#define TURNS_MAX 1000000

/* Wait for `ns` of the device's clock, at most `turns` times. */
static const char ptx[] =
	".version 6.4\n.target sm_75\n.address_size 64\n"
	".visible .entry wait(.param .u32 ns, .param .u32 turns)\n{\n"
	"	.reg .pred %p<3>;\n	.reg .b32 %r<4>;\n	.reg .b64 %rd<5>;\n"
	"	ld.param.u32 %r3, [ns];\n	cvt.u64.u32 %rd1, %r3;\n"
	"	ld.param.u32 %r1, [turns];\n"
	"	mov.u32 %r2, 0;\n"
	"	mov.u64 %rd2, %globaltimer;\n"
	"$AGAIN:\n"
	"	mov.u64 %rd3, %globaltimer;\n"
	"	sub.s64 %rd4, %rd3, %rd2;\n"
	"	setp.ge.u64 %p1, %rd4, %rd1;\n"
	"	@%p1 bra $DONE;\n"
	"	add.s32 %r2, %r2, 1;\n"
	"	setp.lt.u32 %p2, %r2, %r1;\n"
	"	@%p2 bra $AGAIN;\n"
	"$DONE:\n"
	"	ret;\n}\n";

struct program {
	const struct bench_driver *cu;
	CUfunction wait;
	CUstream stream;
	unsigned int blocks;
};

static int told_to_end(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}

static int load(struct program *p, struct gs_error *err)
{
	int sms = 0, blocks = 0;
	CUcontext context;
	CUmodule module;
	CUdevice device;

	p->cu = bench_driver_open(NULL, err);
	if (!p->cu)
		return -1;
	if (BENCH_CU(p->cu, err, cuInit, 0) < 0 ||
	    BENCH_CU(p->cu, err, cuDeviceGet, &device, 0) < 0 ||
	    BENCH_CU(p->cu, err, cuDevicePrimaryCtxRetain, &context, device) < 0 ||
	    BENCH_CU(p->cu, err, cuCtxSetCurrent, context) < 0 ||
	    BENCH_CU(p->cu, err, cuModuleLoadData, &module, ptx) < 0 ||
	    BENCH_CU(p->cu, err, cuModuleGetFunction, &p->wait, module, "wait") < 0 ||
	    BENCH_CU(p->cu, err, cuStreamCreate, &p->stream, CU_STREAM_NON_BLOCKING) < 0 ||
	    BENCH_CU(p->cu, err, cuDeviceGetAttribute, &sms,
		     CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) < 0 ||
	    BENCH_CU(p->cu, err, cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, p->wait,
		     THREADS, 0) < 0)
		return -1;
	p->blocks = (unsigned int)(sms * blocks) * WAVES;
	return p->blocks ? 0 : gs_fail(err, "the device has no room for a block");
}

static int run_kernel(struct program *p, struct gs_error *err)
{
	unsigned int ns = TASK_NS, turns = TURNS_MAX;
	void *params[] = { &ns, &turns };

	if (BENCH_CU(p->cu, err, cuLaunchKernel, p->wait, p->blocks, 1, 1, THREADS, 1, 1, 0,
		     p->stream, params, NULL) < 0)
		return -1;
	return BENCH_CU(p->cu, err, cuStreamSynchronize, p->stream);
}

/* The turn comes through `from` and goes on through `to`, a byte each time. */
static int exchange(struct program *p, int from, int to, struct gs_error *err)
{
	char turn = 0;

	for (int i = 0; i < EXCHANGES && !told_to_end(); i++) {
		if (read(from, &turn, 1) != 1)
			return 0; /* the other one has ended */
		if (told_to_end())
			return 0;
		if (run_kernel(p, err) < 0)
			return -1;
		if (write(to, &turn, 1) != 1)
			return 0;
	}
	return 0;
}

static int program_main(int from, int to, int first)
{
	struct gs_error err = { "" };
	struct program p = { NULL };
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	alarm(LIFE_S);
	rc = load(&p, &err);
	if (rc == 0 && !told_to_end())
		rc = run_kernel(&p, &err);
	if (rc == 0 && first && write(to, "", 1) != 1)
		rc = gs_fail_errno(&err, "no turn to give");
	if (rc == 0)
		rc = exchange(&p, from, to, &err);
	if (rc < 0)
		dprintf(STDOUT_FILENO, "%s\n", err.text);
	return rc < 0;
}

static pid_t start(int from, int to, int unused_from, int unused_to, int first)
{
	pid_t pid = fork();

	if (pid == 0) {
		/* Else the end of the other one would not be seen. */
		close(unused_from);
		close(unused_to);
		_exit(program_main(from, to, first));
	}
	return pid;
}

int main(void)
{
	int there[2], back[2], status, failed = 0;
	pid_t pid[2];
	sigset_t term;

	/*
	 * Block the signal before the driver makes threads, to which it would be delivered
	 * otherwise.
	 */
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (pipe(there) < 0 || pipe(back) < 0)
		return 1;
	pid[0] = start(back[0], there[1], there[0], back[1], 1);
	pid[1] = start(there[0], back[1], back[0], there[1], 0);
	if (pid[0] < 0 || pid[1] < 0)
		failed = 1;
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	for (int i = 0; i < 2; i++) {
		if (pid[i] <= 0 || waitpid(pid[i], &status, 0) != pid[i])
			continue;
		if (WIFSIGNALED(status))
			dprintf(STDOUT_FILENO, "a program was ended by signal %d\n", WTERMSIG(status));
		failed |= status != 0;
	}
	return failed;
}
