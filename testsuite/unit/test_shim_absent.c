/* SPDX-License-Identifier: GPL-2.0-or-later */
/* No daemon: what a program does by DaemonAbsent, one that starts then and one that had the time
 * slice. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "gpushare/proto/msg.h"
#include "shim_rig.h"

/* What a program found, as its exit status. */
enum found { RAN = 1, NOT_READY, NO_MEMORY, GOES_ON, STAYS_AWAY, OTHERWISE };

static char folder[] = "/tmp/absentXXXXXX";
static struct sockaddr_un address = { .sun_family = AF_UNIX };

static enum found found(CUresult rc)
{
	switch (rc) {
	case CUDA_SUCCESS:
		return RAN;
	case CUDA_ERROR_SYSTEM_NOT_READY:
		return NOT_READY;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return NO_MEMORY;
	default:
		return OTHERWISE;
	}
}

static enum found launches(void)
{
	CUmodule module;
	CUresult rc = cuModuleLoadData(&module, shim_rig_ptx);

	if (rc != CUDA_SUCCESS)
		return found(rc);
	if (cuModuleGetFunction(&kernel, module, "k") != CUDA_SUCCESS)
		return OTHERWISE;
	return found(launch(kernel, LONG_GRID));
}

/* Where no file may have a byte, its words included: to try would end the program. */
static enum found launches_without_files(void)
{
	FILE *words = tmpfile();

	return words && dup2(fileno(words), STDERR_FILENO) >= 0 &&
			       setrlimit(RLIMIT_FSIZE, &(struct rlimit) { 0, 0 }) == 0 ?
		       launches() :
		       OTHERWISE;
}

/* Nobody hears that the daemon is not there. */
static enum found launches_unheard(void)
{
	int ends[2];

	return pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0 && close(ends[0]) == 0 &&
			       close(ends[1]) == 0 ?
		       launches() :
		       OTHERWISE;
}

static enum found allocates(void)
{
	CUdeviceptr p;

	return found(cuMemAlloc_v2(&p, 4096));
}

/* It had the time slice when its daemon went away. */
static enum found had_the_turn(void)
{
	struct shim_session *s;
	enum found is = launches();
	uint64_t until = gs_clock_ns() + 10 * GS_NS_PER_S;

	s = shim_session_peek();
	if (is != RAN || !s || !gs_page_load(s->page->grant))
		return OTHERWISE;
	s->absent = GS_ABSENT_FAIL;
	s->connected = 1;
	while ((s->connected || gs_page_load(s->page->grant)) && gs_clock_ns() < until)
		usleep(1000);
	return found(launch(kernel, LONG_GRID));
}

/* The driver has been asked for it, or is within that time. */
static int relaunched(uint64_t patience_ns)
{
	uint64_t until = gs_clock_ns() + patience_ns;
	char calls[4096];

	for (;; usleep(1000)) {
		fake_driver_calls(calls, sizeof(calls));
		if (strstr(calls, "relaunch-variant") || gs_clock_ns() >= until)
			return strstr(calls, "relaunch-variant") != NULL;
	}
}

/* Its kernel had left for somebody else when its daemon went away. */
static enum found was_evicted(uint32_t absent, uint64_t patience_ns)
{
	struct shim_session *s = shim_session();
	struct gs_slot *slot;
	enum found is;
	int back;

	if (s)
		s->variant_min_ns = 0;
	is = launches();

	if (is != RAN || !s)
		return OTHERWISE;
	page = s->page;
	slot = active();
	s->absent = GS_ABSENT_WAIT;
	usleep(200 * 1000); /* nobody gives itself the time slice any more */
	atomic_store(&page->grant, 0);
	gs_page_store(slot->started, 1);
	gs_page_store(slot->done, 1);
	gs_page_store(slot->state, GS_K_READY);
	s->absent = absent;
	s->connected = 1;
	for (uint64_t until = gs_clock_ns() + patience_ns; gs_clock_ns() < until; usleep(1000))
		if (gs_page_load(slot->state) == GS_K_RUNNING)
			break;
	usleep(10 * 1000);
	/* That it is away is the agent's to find; of a kernel that runs the driver is told then. */
	for (uint64_t until = gs_clock_ns() + 5 * GS_NS_PER_S;
	     s->connected && gs_clock_ns() < until; usleep(1000))
		;
	back = relaunched(gs_page_load(slot->state) == GS_K_RUNNING ? 5 * GS_NS_PER_S : 0);
	if (s->connected || !back != (gs_page_load(slot->state) == GS_K_READY))
		return OTHERWISE;
	return back ? GOES_ON : STAYS_AWAY;
}

static enum found evicted_under_run(void)
{
	return was_evicted(GS_ABSENT_RUN, 5 * GS_NS_PER_S);
}

static enum found evicted_under_wait(void)
{
	return was_evicted(GS_ABSENT_WAIT, 500 * GS_NS_PER_MS);
}

/* It was launched, so it ends; the next one is not. */
static enum found evicted_under_fail(void)
{
	enum found is = was_evicted(GS_ABSENT_FAIL, 5 * GS_NS_PER_S);

	return is == GOES_ON ? found(launch(kernel, LONG_GRID)) : is;
}

static void *wait_for_it(void *unused)
{
	allocates();
	return unused;
}

/* One thread waits for the daemon when another forks; what the child found, which does not want to
 * wait. */
static enum found forks_meanwhile(void)
{
	pthread_t thread;
	int status;
	pid_t pid;

	if (pthread_create(&thread, NULL, wait_for_it, NULL) != 0)
		return OTHERWISE;
	usleep(300 * 1000);
	pid = fork();
	if (pid == 0) {
		setenv("GPUSHARE_ABSENT", "run", 1);
		alarm(10);
		_exit(launches());
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ?
		       (enum found)WEXITSTATUS(status) :
		       OTHERWISE;
}

/* A program that starts with this in its environment; NULL: nothing is said. */
static pid_t start(const char *absent, enum found (*does)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	fake_driver_install();
	setenv("GPUSHARE_SOCKET", address.sun_path, 1);
	unsetenv("GPUSHARE_ABSENT");
	if (absent)
		setenv("GPUSHARE_ABSENT", absent, 1);
	alarm(20);
	_exit(does());
}

static enum found outcome(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return (enum found)WEXITSTATUS(status);
}

static void test_run(void **unused)
{
	(void)unused;
	assert_int_equal(outcome(start("run", launches)), RAN);
	assert_int_equal(outcome(start("run", allocates)), RAN);
	assert_int_equal(outcome(start(NULL, launches)), RAN);
	assert_int_equal(outcome(start("no such word", launches)), RAN);
	assert_int_equal(outcome(start("run", launches_without_files)), RAN);
	assert_int_equal(outcome(start("run", launches_unheard)), RAN);
}

static void test_fail(void **unused)
{
	(void)unused;
	assert_int_equal(outcome(start("fail", launches)), NOT_READY);
	/* Nobody knows how much is its own. */
	assert_int_equal(outcome(start("fail", allocates)), NO_MEMORY);
}

/* Of a daemon that is there at last, and refuses. */
static void refuse_one(void)
{
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), one;
	struct gs_error err = { "" };
	struct gs_msg msg;

	assert_true(sock >= 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(sock, 4), 0);
	one = accept(sock, NULL, NULL);
	assert_true(one >= 0);
	assert_int_equal(gs_msg_recv(one, &msg, GS_TO_DAEMON, NULL, &err), 1);
	assert_int_equal(msg.header.type, GS_MSG_HELLO);
	gs_msg_init(&msg, GS_MSG_REFUSED, msg.header.tag);
	msg.refused.code = GS_REFUSED_NOT_YOURS;
	gs_msg_str(msg.refused.reason, sizeof(msg.refused.reason), "this is a test");
	assert_int_equal(gs_msg_send(one, &msg, -1), 0);
	close(one);
	close(sock);
	unlink(address.sun_path);
}

static void test_wait(void **unused)
{
	pid_t pid = start("wait", launches);
	int status;

	(void)unused;
	usleep(1500 * 1000);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	refuse_one();
	assert_int_equal(outcome(pid), NO_MEMORY); /* as whoever is turned away */
}

static void test_a_child_of_one_that_waits(void **unused)
{
	(void)unused;
	assert_int_equal(outcome(start("wait", forks_meanwhile)), RAN);
}

static void test_the_turn_ends_with_the_daemon(void **unused)
{
	(void)unused;
	assert_int_equal(outcome(start("run", had_the_turn)), NOT_READY);
}

static void test_what_was_evicted(void **unused)
{
	(void)unused;
	assert_int_equal(outcome(start("run", evicted_under_run)), GOES_ON);
	assert_int_equal(outcome(start("run", evicted_under_wait)), STAYS_AWAY);
	assert_int_equal(outcome(start("run", evicted_under_fail)), NOT_READY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_fail),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_a_child_of_one_that_waits),
		cmocka_unit_test(test_the_turn_ends_with_the_daemon),
		cmocka_unit_test(test_what_was_evicted),
	};
	int failures;

	if (!mkdtemp(folder))
		return 1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/sock", folder);
	failures = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failures;
}
