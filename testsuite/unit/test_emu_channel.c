/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams of a context share its channels, as measured on an H200 (src/device/emu/channel.h): who
 * goes on and who stalls behind whom, and that everybody goes on once the blocked are released.
 */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "emu_util.h"

#define STREAMS 64
#define STALL_MS 60     /* who has not got on by then is taken to stall */
#define PATIENCE_S 20.0 /* who has not got on by then never will */

/* busy is over once its word is set; tick is over at once. */
static const char ptx[] = HEAD
	".visible .entry busy(.param .u64 w)\n{\n.reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p;\nld.param.u64 %rd1, [w];\n"
	"again:\nld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p, %r1, 0;\n@%p bra again;\nret;\n}\n"
	".visible .entry tick()\n{\nret;\n}\n";

static struct {
	CUcontext ctx;
	CUfunction busy, tick;
	volatile uint32_t *word; /* of each stream: what it waits for */
	CUdeviceptr device;
	CUstream stream[STREAMS];
	int n;
} here;

/* A context with so many connections; NULL: unset. */
static void begin(const char *connections)
{
	void *host;

	if (connections)
		setenv("CUDA_DEVICE_MAX_CONNECTIONS", connections, 1);
	else
		unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
	OK(cuCtxCreate(&here.ctx, NULL, 0, 0));
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "2", 1); /* it was read: this one is for nobody */
	here.busy = emu_test_kernel(ptx, "busy");
	here.tick = emu_test_kernel(ptx, "tick");
	OK(cuMemHostAlloc(&host, STREAMS * 4, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuMemHostGetDevicePointer(&here.device, host, 0));
	here.word = host;
	memset(host, 0, STREAMS * 4);
	here.n = 0;
}

/* All are released, and get to their end. */
static int end(void **state)
{
	double limit = emu_test_seconds() + PATIENCE_S;
	int late = 0;

	(void)state;
	for (int i = 0; i < STREAMS; i++)
		here.word[i] = 1;
	for (int i = 0; i < here.n; i++) {
		while (cuStreamQuery(here.stream[i]) == CUDA_ERROR_NOT_READY &&
		       emu_test_seconds() < limit)
			emu_test_sleep_ms(1);
		late |= cuStreamQuery(here.stream[i]) != CUDA_SUCCESS;
	}
	if (late)
		return -1;
	return cuCtxDestroy(here.ctx) == CUDA_SUCCESS ? 0 : -1;
}

static int add(unsigned int flags, int priority)
{
	assert_true(here.n < STREAMS);
	OK(cuStreamCreateWithPriority(&here.stream[here.n], flags, priority));
	return here.n++;
}

static int fresh(void)
{
	return add(CU_STREAM_NON_BLOCKING, 0);
}

static int blocked_in(int k)
{
	OK(cuStreamWaitValue32(here.stream[k], here.device + 4 * (CUdeviceptr)k, 1,
			       CU_STREAM_WAIT_VALUE_GEQ));
	return k;
}

/* So many more streams that wait for their words; the first of them. */
static int blocked(int n)
{
	int first = here.n;

	while (n--)
		blocked_in(fresh());
	return first;
}

static void release(int k)
{
	here.word[k] = 1;
}

static int ticking_in(int k)
{
	OK(cuLaunchKernel(here.tick, 1, 1, 1, 1, 1, 1, 0, here.stream[k], NULL, NULL));
	return k;
}

/* One more stream with a kernel that is over at once, if it begins. */
static int ticking(void)
{
	return ticking_in(fresh());
}

/* So many more streams with a kernel that is at work. */
static int busy(int n)
{
	int first = here.n;

	while (n--) {
		CUdeviceptr word = here.device + 4 * (CUdeviceptr)here.n;
		void *params[] = { &word };

		OK(cuLaunchKernel(here.busy, 1, 1, 1, 1, 1, 1, 0, here.stream[fresh()], params,
				  NULL));
	}
	return first;
}

static void goes(int k)
{
	double limit = emu_test_seconds() + PATIENCE_S;

	while (cuStreamQuery(here.stream[k]) == CUDA_ERROR_NOT_READY && emu_test_seconds() < limit)
		emu_test_sleep_ms(1);
	OK(cuStreamQuery(here.stream[k]));
}

static void stalls(int k)
{
	emu_test_sleep_ms(STALL_MS);
	assert_int_equal(cuStreamQuery(here.stream[k]), CUDA_ERROR_NOT_READY);
}

static void ten_leave_one_idle(void **state)
{
	(void)state;
	begin("12");
	blocked(6);
	busy(4);
	for (int i = 0; i < 20; i++) /* one at a time: it is idle again each time */
		goes(ticking());
}

static void of_eleven_one_is_shared(void **state)
{
	int first, one;

	(void)state;
	begin("12");
	first = blocked(6);
	busy(5);
	one = ticking();
	stalls(one);
	release(first);
	goes(one);
}

static void shared_in_turn(void **state)
{
	int first, more[11];

	(void)state;
	begin("12");
	first = blocked(6);
	busy(5);
	for (int i = 0; i < 11; i++)
		more[i] = ticking();
	for (int i = 6; i < 11;
	     i++) /* with a busy one: what has been dispatched is in nobody's way */
		goes(more[i]);
	for (int i = 5; i >= 0; i--) {
		stalls(more[i]);
		release(first + i);
		goes(more[i]);
	}
}

/* One blocked stream, so many that wait for its event, and one more. */
static int behind_dependents(int n)
{
	CUevent event;
	int origin;

	begin("12");
	origin = blocked(1);
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cuEventRecord(event, here.stream[origin]));
	for (int i = 0; i < n; i++)
		OK(cuStreamWaitEvent(here.stream[fresh()], event, 0));
	return ticking();
}

static void dependents(void **state)
{
	int one;

	goes(behind_dependents(9));
	assert_int_equal(end(state), 0);
	one = behind_dependents(10);
	stalls(one);
	release(0);
	goes(one);
}

static void whatever_the_stream(void **state)
{
	int one[3];

	(void)state;
	begin("12");
	blocked(11);
	one[0] = ticking_in(add(CU_STREAM_NON_BLOCKING, -5));
	one[1] = ticking_in(add(CU_STREAM_DEFAULT, 0));
	one[2] = ticking_in(add(CU_STREAM_DEFAULT, -5));
	for (int i = 0; i < 3; i++)
		stalls(one[i]);
	for (int i = 0; i < 3; i++) {
		release(i);
		goes(one[i]);
	}
}

/* The legacy default stream is blocked, so many blocking streams wait for it, and one more. */
static int behind_the_default_stream(int n)
{
	begin("12");
	here.stream[here.n++] = CU_STREAM_LEGACY;
	blocked_in(0);
	for (int i = 0; i < n; i++)
		ticking_in(add(CU_STREAM_DEFAULT, 0));
	return ticking();
}

static void waiting_for_the_default_stream(void **state)
{
	int one;

	goes(behind_the_default_stream(9));
	assert_int_equal(end(state), 0);
	one = behind_the_default_stream(10);
	stalls(one);
	release(0);
	goes(one);
}

static void first_in_first_out(void **state)
{
	int first, one;

	(void)state;
	begin("2"); /* a single channel */
	first = busy(1);
	goes(ticking());
	ticking_in(first); /* waits for the one that is at work, and so does what comes behind it */
	one = ticking();
	stalls(one);
	release(first);
	goes(one);
}

static void touch(void *user)
{
	__atomic_store_n((int *)user, 1, __ATOMIC_SEQ_CST);
}

/* Values go through channels; copies, memsets and host functions do not. */
static void engines_of_their_own(void **state)
{
	int writer, other, touched = 0;
	CUdeviceptr memory;
	uint32_t got = 0;

	(void)state;
	begin("2");
	memory = emu_test_zeroed(8);
	OK(cuCtxSynchronize());
	blocked(1);
	writer = fresh();
	OK(cuStreamWriteValue32(here.stream[writer], memory, 5, 0));
	other = fresh();
	OK(cuMemsetD32Async(memory + 4, 7, 1, here.stream[other]));
	OK(cuMemcpyDtoHAsync(&got, memory + 4, 4, here.stream[other]));
	OK(cuLaunchHostFunc(here.stream[other], touch, &touched));
	goes(other);
	assert_int_equal(got, 7);
	assert_int_equal(touched, 1);
	stalls(writer);
	release(0);
	goes(writer);
	OK(cuMemcpyDtoH(&got, memory, 4));
	assert_int_equal(got, 5);
}

static void as_many_as_connections_say(void **state)
{
	static const struct {
		const char *connections;
		int channels;
	} of[] = {
		{ NULL, 7 }, { "12", 11 }, { "32", 31 }, { "3", 2 },   { "2", 1 },
		{ "1", 1 },  { "0", 7 },   { "33", 7 },  { "20x", 7 }, { "", 7 },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		int one;

		begin(of[i].connections);
		blocked(of[i].channels - 1);
		goes(ticking());
		blocked(1);
		one = ticking();
		stalls(one);
		assert_int_equal(end(state), 0);
	}
	begin("12"); /* for the end */
}

/* Two contexts have channels of their own. */
static void of_each_context(void **state)
{
	CUcontext second;
	CUfunction tick;
	CUstream stream;

	(void)state;
	begin("2");
	blocked(1);
	OK(cuCtxCreate(&second, NULL, 0, 0));
	tick = emu_test_kernel(ptx, "tick");
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchKernel(tick, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	here.stream[here.n] = stream;
	goes(here.n);
	OK(cuCtxDestroy(second));
	OK(cuCtxSetCurrent(here.ctx));
}

/* So many branches of so many kernels. */
static CUgraphExec graph_of(int branches, int length)
{
	CUDA_KERNEL_NODE_PARAMS tick = { .func = here.tick,
					 .gridDimX = 1,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 1,
					 .blockDimY = 1,
					 .blockDimZ = 1 };
	CUgraphExec exec;
	CUgraph graph;

	OK(cuGraphCreate(&graph, 0));
	for (int i = 0; i < branches; i++) {
		CUgraphNode before = NULL, node;

		for (int k = 0; k < length; k++) {
			OK(cuGraphAddKernelNode(&node, graph, &before, before != NULL, &tick));
			before = node;
		}
	}
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphDestroy(graph));
	return exec;
}

/* The graph behind a blocked stream, and one more stream. */
static int behind_a_graph(int branches, int length)
{
	CUgraphExec exec;

	begin("12");
	exec = graph_of(branches, length);
	OK(cuGraphLaunch(exec, here.stream[blocked(1)]));
	OK(cuGraphExecDestroy(exec));
	return ticking();
}

static void graphs_of_few_branches(void **state)
{
	static const int shape[][2] = { { 8, 1 }, { 8, 3 }, { 1, 12 } };

	for (int i = 0; i < 3; i++) {
		goes(behind_a_graph(shape[i][0], shape[i][1]));
		assert_int_equal(end(state), 0);
	}
	begin("12");
}

static void a_graph_of_many_branches(void **state)
{
	int one;

	(void)state;
	one = behind_a_graph(12, 2);
	stalls(one);
	release(0);
	goes(one);
	blocked(5); /* it has given its channels back: six are idle */
	for (int i = 0; i < 12; i++)
		goes(ticking());
}

/* A branch shares the channel of a blocked stream: the graph is over when that goes on. */
static void a_graph_that_shares(void **state)
{
	CUgraphExec exec;
	int first, one;

	(void)state;
	begin("4");
	first = blocked(1);
	exec = graph_of(3, 1);
	one = fresh();
	OK(cuGraphLaunch(exec, here.stream[one]));
	OK(cuGraphExecDestroy(exec));
	stalls(one);
	release(first);
	goes(one);
}

/* There the tasks begin in the order of the program, but for those behind what waits. */
static void deterministic(void)
{
	int first, one;

	emu_test_environment("1", "64M");
	setenv("GPUSHARE_EMU_DETERMINISTIC", "1", 1);
	OK(cuInit(0));
	begin("3");
	first = blocked(1);
	blocked(1);
	one = ticking();
	emu_test_zeroed(4); /* in the default stream: gets past it */
	here.stream[here.n] = CU_STREAM_LEGACY;
	goes(here.n);
	stalls(one);
	release(first);
	goes(one);
	assert_int_equal(end(NULL), 0);
	emu_test_cleanup();
}

static void on_a_deterministic_device(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (!child) {
		alarm(60);
		deterministic();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Multiprocessors for all the kernels that are at work at once: one that has work looks for more
 * when that is over. */
static int start(void **state)
{
	(void)state;
	emu_test_environment("8", "64M");
	OK(cuInit(0));
	return 0;
}

#define TEST(f) cmocka_unit_test_teardown(f, end)

int main(void)
{
	const struct CMUnitTest alone[] = {
		cmocka_unit_test(on_a_deterministic_device),
	};
	const struct CMUnitTest tests[] = {
		TEST(ten_leave_one_idle),
		TEST(of_eleven_one_is_shared),
		TEST(shared_in_turn),
		TEST(dependents),
		TEST(whatever_the_stream),
		TEST(waiting_for_the_default_stream),
		TEST(first_in_first_out),
		TEST(engines_of_their_own),
		TEST(as_many_as_connections_say),
		TEST(of_each_context),
		TEST(graphs_of_few_branches),
		TEST(a_graph_of_many_branches),
		TEST(a_graph_that_shares),
	};
	int failed;

	alarm(240);
	failed = cmocka_run_group_tests(alone, NULL, NULL); /* before this process has a device */
	return failed + cmocka_run_group_tests(tests, start, emu_test_end);
}
