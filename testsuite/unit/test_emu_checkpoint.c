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

/* A process that holds most of the device, says so, and checks its memory when it is told to go on. */
static int holder(int say, int hear, size_t bytes)
{
	CUdeviceptr p;
	CUcontext ctx;
	unsigned int last = 0;
	char c = 'x';

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) || cuMemAlloc(&p, bytes) ||
	    cuMemsetD32(p, 0xc0ffee, bytes / 4) || cuCtxSynchronize())
		return 2;
	if (write(say, &c, 1) != 1 || read(hear, &c, 1) != 1)
		return 3;
	if (cuMemcpyDtoH(&last, p + bytes - 4, 4))
		return 4;
	return last != 0xc0ffee;
}

static void another_process(void **unused)
{
	int say[2], hear[2], status;
	size_t available, total, most;
	CUdeviceptr p;
	CUcontext ctx;
	pid_t child;
	char c;

	(void)unused;
	OK(cuInit(0));
	OK(cuDeviceTotalMem(&total, 0));
	most = total / 4 * 3;
	assert_int_equal(pipe(say) | pipe(hear), 0);
	child = fork();
	if (child == 0)
		_exit(holder(say[1], hear[0], most));
	assert_int_equal(read(say[0], &c, 1), 1);
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	assert_int_equal(cuMemAlloc(&p, most), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuCheckpointProcessLock(child, &(CUcheckpointLockArgs){ .timeoutMs = 10000 }));
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
	assert_int_equal(write(hear[1], "x", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(cuCheckpointProcessLock(child, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuDevicePrimaryCtxRelease(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(memory_goes_and_comes), cmocka_unit_test(another_process) };
	int rc;

	alarm(60);
	emu_test_environment("2", "67108864");
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	emu_test_cleanup();
	return rc;
}
