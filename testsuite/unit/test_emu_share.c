/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes on one emulated device: the compute in slices, the memory in sum,
 * and what comes back when one dies.  The test process itself never opens the
 * device: every user of it is a child that this file starts again.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "emu_util.h"

static const char spin[] = HEAD
	".visible .entry spin(.param .u64 p, .param .u32 turns)\n{\n.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [turns];\n"
	"again:\nsub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra again;\nred.global.add.u32 [%rd1], 1;\nret;\n}\n"
	".visible .entry forever(.param .u64 p)\n{\n.reg .b32 %r<2>; .reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 1;\nagain:\nbra again;\n}\n";

/* A child that runs fn with its end of a pipe pair; the parent's ends are returned. */
struct child {
	pid_t pid;
	int from, to;
};

static struct child start(void (*fn)(int in, int out))
{
	int up[2], down[2];
	struct child c;

	assert_int_equal(pipe2(up, O_CLOEXEC), 0);
	assert_int_equal(pipe2(down, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (!c.pid) {
		close(up[0]);
		close(down[1]);
		alarm(60);
		fn(down[0], up[1]);
		_exit(0);
	}
	close(up[1]);
	close(down[0]);
	c.from = up[0];
	c.to = down[1];
	return c;
}

static void say(int fd, char what)
{
	if (write(fd, &what, 1) != 1)
		_exit(3);
}

static char hear(int fd)
{
	char c = 0;

	return read(fd, &c, 1) == 1 ? c : 0;
}

static int finish(struct child *c)
{
	int status;

	/* its siblings hold copies of the pipe's ends: an end of file would not come */
	if (write(c->to, "q", 1) != 1)
		assert_int_equal(errno, EPIPE);
	close(c->from);
	close(c->to);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define MUST(call) \
	do { \
		CUresult rc_ = (call); \
		if (rc_ != CUDA_SUCCESS) { \
			fprintf(stderr, "%s: %d\n", #call, rc_); \
			_exit(9); \
		} \
	} while (0)

static void open_device(void)
{
	CUcontext ctx;

	MUST(cuInit(0));
	MUST(cuCtxCreate(&ctx, NULL, 0, 0));
}

static void launch(const char *name, CUdeviceptr *p, uint32_t rounds, unsigned int blocks)
{
	void *params[] = { p, &rounds };
	CUmodule m;
	CUfunction f;

	MUST(cuMemAlloc(p, 64));
	MUST(cuMemsetD8(*p, 0, 64));
	MUST(cuModuleLoadData(&m, spin));
	MUST(cuModuleGetFunction(&f, m, name));
	MUST(cuCtxSynchronize());
	MUST(cuLaunchKernel(f, blocks, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

/* Runs a kernel that takes a while, twice: alone for its own measure, and when told. */
static void worker(int in, int out)
{
	CUdeviceptr p;
	uint32_t v;

	open_device();
	say(out, 'r');
	if (hear(in) != 'g')
		_exit(4);
	launch("spin", &p, 1000000, 4);
	MUST(cuCtxSynchronize());
	MUST(cuMemcpyDtoH(&v, p, 4));
	if (v != 4 * 32)
		_exit(5);
	say(out, 'd');
	hear(in);
}

/* Owns the compute for good, or until others get their slices. */
static void hog(int in, int out)
{
	volatile uint32_t *v;
	CUdeviceptr p;

	open_device();
	launch("forever", &p, 0, 8);
	v = (volatile uint32_t *)(uintptr_t)p; /* device memory of this process is its own memory */
	while (!*v)
		emu_test_sleep_ms(1);
	say(out, 'r');
	hear(in);
	_exit(0);
}

static void holder(int in, int out)
{
	CUdeviceptr p;

	open_device();
	MUST(cuMemAlloc(&p, 40u << 20));
	say(out, 'r');
	hear(in);
	MUST(cuMemFree(p));
	say(out, 'f');
	hear(in);
}

/* Tries to get 40 MiB on each 't'; says y or n. */
static void asker(int in, int out)
{
	CUdeviceptr p;

	open_device();
	say(out, 'r');
	while (hear(in) == 't') {
		if (cuMemAlloc(&p, 40u << 20) == CUDA_SUCCESS) {
			MUST(cuMemFree(p));
			say(out, 'y');
		} else {
			say(out, 'n');
		}
	}
}

static void time_slices(void **state)
{
	struct child a = start(hog), b;
	double t;

	(void)state;
	assert_int_equal(hear(a.from), 'r');
	b = start(worker);
	assert_int_equal(hear(b.from), 'r');
	t = emu_test_seconds();
	say(b.to, 'g');
	assert_int_equal(hear(b.from), 'd'); /* although a never ends */
	t = emu_test_seconds() - t;
	print_message("beside an endless kernel: %.0f ms\n", t * 1e3);
	assert_int_equal(finish(&b), 0);
	kill(a.pid, SIGKILL);
	assert_int_equal(finish(&a), 128 + SIGKILL);
}

static void killed_owner(void **state)
{
	struct child a = start(hog), b;
	double alone, after;

	(void)state;
	assert_int_equal(hear(a.from), 'r');
	b = start(worker);
	assert_int_equal(hear(b.from), 'r');
	kill(a.pid, SIGKILL);
	assert_int_equal(finish(&a), 128 + SIGKILL);
	after = emu_test_seconds();
	say(b.to, 'g');
	assert_int_equal(hear(b.from), 'd');
	after = emu_test_seconds() - after;
	assert_int_equal(finish(&b), 0);
	b = start(worker);
	assert_int_equal(hear(b.from), 'r');
	alone = emu_test_seconds();
	say(b.to, 'g');
	assert_int_equal(hear(b.from), 'd');
	alone = emu_test_seconds() - alone;
	assert_int_equal(finish(&b), 0);
	print_message("after the owner's death: %.0f ms, alone: %.0f ms\n", after * 1e3,
		      alone * 1e3);
	/* "within a second", on a machine that has other things to do */
	assert_true(after < 3 * alone + 1.0);
}

/* An owner that is stopped rather than dead keeps nobody waiting for long. */
static void stopped_owner(void **state)
{
	struct child a = start(hog), b;

	(void)state;
	assert_int_equal(hear(a.from), 'r');
	b = start(worker);
	assert_int_equal(hear(b.from), 'r');
	kill(a.pid, SIGSTOP);
	say(b.to, 'g');
	assert_int_equal(hear(b.from), 'd');
	assert_int_equal(finish(&b), 0);
	kill(a.pid, SIGCONT);
	kill(a.pid, SIGKILL);
	assert_int_equal(finish(&a), 128 + SIGKILL);
}

static void memory_in_sum(void **state)
{
	struct child a = start(holder), b = start(asker);

	(void)state;
	assert_int_equal(hear(a.from), 'r');
	assert_int_equal(hear(b.from), 'r');
	say(b.to, 't');
	assert_int_equal(hear(b.from), 'n');
	say(a.to, 'x');
	assert_int_equal(hear(a.from), 'f');
	say(b.to, 't');
	assert_int_equal(hear(b.from), 'y');
	assert_int_equal(finish(&a), 0);
	/* a death gives back too */
	a = start(holder);
	assert_int_equal(hear(a.from), 'r');
	say(b.to, 't');
	assert_int_equal(hear(b.from), 'n');
	kill(a.pid, SIGKILL);
	assert_int_equal(finish(&a), 128 + SIGKILL);
	say(b.to, 't');
	assert_int_equal(hear(b.from), 'y');
	assert_int_equal(finish(&b), 0);
}

static void tries_to_open(int in, int out)
{
	(void)in;
	say(out, cuInit(0) == CUDA_SUCCESS ? 'y' : 'n');
}

/* Corrupt files: refused when opened, survived when they change under a user. */
static void hostile_file(void **state)
{
	struct child a = start(asker), b;
	char path[128], junk[8192];
	struct stat st;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/device", emu_dir);
	assert_int_equal(hear(a.from), 'r');
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 100), 0);
	say(a.to, 't');
	assert_int_equal(hear(a.from), 'n');
	memset(junk, 0xff, sizeof(junk));
	assert_int_equal(pwrite(fd, junk, sizeof(junk), 0), (ssize_t)sizeof(junk));
	say(a.to, 't');
	assert_int_equal(hear(a.from), 'n');
	assert_int_equal(finish(&a), 0);
	b = start(tries_to_open);
	assert_int_equal(hear(b.from), 'n');
	assert_int_equal(finish(&b), 0);
	assert_non_null(strstr(emu_test_log(), "corrupt"));
	/* right in the head, wild behind it: counters that overflow, an owner that does not exist
	 */
	unlink(path);
	b = start(tries_to_open);
	assert_int_equal(hear(b.from), 'y');
	assert_int_equal(finish(&b), 0);
	close(fd);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, junk, 1024, 48), 1024);
	b = start(worker);
	assert_int_equal(hear(b.from), 'r');
	say(b.to, 'g');
	assert_int_equal(hear(b.from), 'd');
	assert_int_equal(finish(&b), 0);
	close(fd);
	unlink(path);
}

/* A forked child has no device, cannot get one, and its life does not keep the parent's place. */
static void forker(int in, int out)
{
	CUdeviceptr p;
	pid_t pid;
	int n;

	open_device();
	MUST(cuMemAlloc(&p, 40u << 20));
	pid = fork();
	if (!pid) {
		alarm(20);
		if (cuDeviceGetCount(&n) != CUDA_ERROR_NOT_INITIALIZED ||
		    cuInit(0) != CUDA_ERROR_NOT_INITIALIZED ||
		    cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED)
			_exit(7);
		say(out, 'c');
		hear(in);
		_exit(0);
	}
	hear(in);
	_exit(0); /* the child lives on */
}

static void forked_child(void **state)
{
	struct child a = start(forker), b = start(asker);

	(void)state;
	assert_int_equal(hear(b.from), 'r');
	assert_int_equal(hear(a.from), 'c');
	say(b.to, 't');
	assert_int_equal(hear(b.from), 'n');
	kill(a.pid, SIGKILL);
	assert_int_equal(waitpid(a.pid, NULL, 0), a.pid);
	say(b.to, 't');
	assert_int_equal(hear(b.from), 'y');
	close(a.from);
	close(a.to);
	assert_int_equal(finish(&b), 0);
}

static int setup(void **state)
{
	(void)state;
	emu_test_environment("2", "64M");
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_in_sum), cmocka_unit_test(time_slices),
		cmocka_unit_test(killed_owner),  cmocka_unit_test(stopped_owner),
		cmocka_unit_test(forked_child),  cmocka_unit_test(hostile_file),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, setup, emu_test_end);
}
