/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cuCheckpointProcess* on the emulated device: of this process and of another. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "emu_util.h"

#define BYTES ((size_t)8 << 20)

static void state_is(int pid, CUprocessState want)
{
	CUprocessState s = CU_PROCESS_STATE_FAILED;

	OK(cuCheckpointProcessGetState(pid, &s));
	assert_int_equal(s, want);
}

static _Atomic int through;

static void *allocate(void *arg)
{
	CUdeviceptr p;

	OK(cuCtxSetCurrent(arg));
	OK(cuMemAlloc(&p, 4096));
	atomic_store(&through, 1);
	OK(cuMemFree(p));
	return NULL;
}

static void memory_goes_and_comes(void **unused)
{
	size_t before, with, away, total;
	int me = getpid();
	pthread_t thread;
	CUdeviceptr p;
	CUcontext ctx;
	unsigned char *back = malloc(BYTES);

	(void)unused;
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(cuMemGetInfo(&before, &total));
	OK(cuMemAlloc(&p, BYTES));
	OK(cuMemsetD8(p, 0x5a, BYTES));
	OK(cuCtxSynchronize());
	OK(cuMemGetInfo(&with, &total));
	assert_int_equal(before - with, BYTES);
	state_is(me, CU_PROCESS_STATE_RUNNING);
	assert_int_equal(cuCheckpointProcessCheckpoint(me, NULL), CUDA_ERROR_ILLEGAL_STATE);
	assert_int_equal(cuCheckpointProcessUnlock(me, NULL), CUDA_ERROR_ILLEGAL_STATE);
	OK(cuCheckpointProcessLock(me, NULL));
	state_is(me, CU_PROCESS_STATE_LOCKED);
	assert_int_equal(cuCheckpointProcessLock(me, NULL), CUDA_ERROR_ILLEGAL_STATE);
	assert_int_equal(pthread_create(&thread, NULL, allocate, ctx), 0);
	OK(cuCheckpointProcessCheckpoint(me, NULL));
	state_is(me, CU_PROCESS_STATE_CHECKPOINTED);
	away = ((unsigned char *)(uintptr_t)p)[BYTES - 1];
	assert_int_equal(away, 0); /* what is at the address now is not the contents */
	assert_int_equal(cuCheckpointProcessUnlock(me, NULL), CUDA_ERROR_ILLEGAL_STATE);
	OK(cuCheckpointProcessRestore(me, NULL));
	usleep(50000);
	assert_int_equal(atomic_load(&through), 0);
	OK(cuCheckpointProcessUnlock(me, NULL));
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&through), 1);
	OK(cuMemcpyDtoH(back, p, BYTES));
	for (size_t i = 0; i < BYTES; i++)
		assert_int_equal(back[i], 0x5a);
	OK(cuMemFree(p));
	OK(cuDevicePrimaryCtxRelease(0));
	free(back);
}

/*
 * A process that holds most of the device, says so, and checks its memory when
 * it is told to go on. It is this program begun anew: a fork of a process with
 * threads may find any lock taken for ever, those of the sanitizers' allocator
 * among them.
 */
static int holder(int say, int hear, size_t bytes)
{
	CUdeviceptr p;
	CUcontext ctx;
	unsigned int last = 0;
	char c = 'x';

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cuMemAlloc(&p, bytes) || cuMemsetD32(p, 0xc0ffee, bytes / 4) || cuCtxSynchronize())
		return 2;
	if (write(say, &c, 1) != 1 || read(hear, &c, 1) != 1)
		return 3;
	if (cuMemcpyDtoH(&last, p + bytes - 4, 4))
		return 4;
	return last != 0xc0ffee;
}

/* Begins a holder of `bytes`. What is left open here are the ends it does not have, so its death
 * ends a read. */
static pid_t begin_holder(size_t bytes, int *hear_it, int *tell_it)
{
	char say_fd[16], hear_fd[16], size[32];
	int say[2], hear[2];
	pid_t child;

	assert_int_equal(pipe(say) | pipe(hear), 0);
	snprintf(say_fd, sizeof(say_fd), "%d", say[1]);
	snprintf(hear_fd, sizeof(hear_fd), "%d", hear[0]);
	snprintf(size, sizeof(size), "%zu", bytes);
	child = fork();
	if (child == 0) {
		close(hear[1]);
		execl("/proc/self/exe", "holder", say_fd, hear_fd, size, (char *)NULL);
		_exit(127);
	}
	assert_true(child > 0);
	close(say[1]);
	close(hear[0]);
	*hear_it = say[0];
	*tell_it = hear[1];
	return child;
}

static void another_process(void **unused)
{
	int hear_it, tell_it, status;
	size_t available, total, most;
	CUdeviceptr p;
	CUcontext ctx;
	pid_t child;
	char c;

	(void)unused;
	OK(cuInit(0));
	OK(cuDeviceTotalMem(&total, 0));
	most = total / 4 * 3;
	child = begin_holder(most, &hear_it, &tell_it);
	assert_int_equal(read(hear_it, &c, 1), 1);
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	assert_int_equal(cuMemAlloc(&p, most), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuCheckpointProcessLock(child, &(CUcheckpointLockArgs) { .timeoutMs = 10000 }));
	OK(cuCheckpointProcessCheckpoint(child, NULL));
	state_is(child, CU_PROCESS_STATE_CHECKPOINTED);
	OK(cuMemGetInfo(&available, &total));
	assert_true(available >= most);
	OK(cuMemAlloc(&p, most));
	/* no room to come back to */
	assert_int_equal(cuCheckpointProcessRestore(child, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	state_is(child, CU_PROCESS_STATE_CHECKPOINTED);
	OK(cuMemFree(p));
	OK(cuCheckpointProcessRestore(child, NULL));
	OK(cuCheckpointProcessUnlock(child, NULL));
	assert_int_equal(write(tell_it, "x", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(cuCheckpointProcessLock(child, NULL), CUDA_ERROR_INVALID_VALUE);
	close(hear_it);
	close(tell_it);
	OK(cuDevicePrimaryCtxRelease(0));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(memory_goes_and_comes),
					    cmocka_unit_test(another_process) };
	int rc;

	alarm(60);
	if (argc == 4) /* as begin_holder() has it */
		return holder(atoi(argv[1]), atoi(argv[2]), strtoull(argv[3], NULL, 10));
	emu_test_environment("2", "67108864");
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	emu_test_cleanup();
	return rc;
}
