/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When variants are made, in the background, and what becomes of it if something is in the way. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/variant/build.h"
#include "device/shim/variant/ptxas.h"
#include "fake_driver_core.h"
#include "shim_rig.h"

#define LONG_PS UINT64_C(1000000000) /* of a block-task: LONG_GRID of them take seconds */

/* The rig's module again: nothing is known of its kernel. */
static struct shim_code *anew(void)
{
	CUmodule module;

	assert_int_equal(cuModuleUnload(FAKE_MODULE), CUDA_SUCCESS);
	assert_int_equal(cuModuleLoadData(&module, shim_rig_ptx), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&kernel, module, "k"), CUDA_SUCCESS);
	return shim_kernel_find(kernel)->code;
}

static int lazily(void **state)
{
	shim_rig_idle(state);
	shim_session()->variant_min_ns = GS_NS_PER_MS;
	gs_page_store(page->shared, 1);
	return 0;
}

static int at_once(void **state)
{
	(void)state;
	shim_session()->variant_min_ns = 0;
	gs_page_store(page->shared, 0);
	return 0;
}

/* It has been seen to take so long. */
static void taking(uint64_t ps)
{
	struct shim_time *t = shim_kernel_time(shim_kernel_find(kernel),
					       (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);

	t->tpt_ps = ps;
	t->due = 0;
}

static void launch_and_end(void)
{
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	finish_all();
	EVENTUALLY(all_prepared());
}

static void a_long_kernel_gets_one(void **unused)
{
	struct shim_code *code = anew();

	(void)unused;
	launch_and_end(); /* how long it takes is not known */
	usleep(20000);
	assert_null(code->variants);
	assert_int_equal(code->reason, PTX_REASON_NOT_BUILT);
	taking(LONG_PS);
	fake_launched = NULL;
	launch_and_end();
	assert_ptr_equal(fake_launched, FAKE_ORIGINAL);
	EVENTUALLY(code->variants);
	assert_int_equal(code->transform, PTX_TRANSFORM_PERSISTENT);
	taking(LONG_PS);
	launch_and_end();
	assert_ptr_equal(fake_launched, FAKE_VARIANT);
}

static void not_for_nothing(void **unused)
{
	struct shim_code *code = anew();

	(void)unused;
	gs_page_store(page->shared, 0);
	taking(LONG_PS);
	launch_and_end();
	gs_page_store(page->shared, 1);
	taking(1);
	launch_and_end();
	usleep(50000);
	assert_null(code->variants);
	assert_int_equal(code->build, SHIM_BUILD_NOT);
}

/* It goes as written, the reason is known, and nobody tries again. */
static void the_driver_refuses_it(void **unused)
{
	struct shim_code *code = anew();
	char calls[4096];

	(void)unused;
	fake_driver_fail("load-variant", CUDA_ERROR_INVALID_PTX);
	taking(LONG_PS);
	launch_and_end();
	EVENTUALLY(code->build == SHIM_BUILD_OVER);
	assert_int_equal(code->reason, PTX_REASON_REFUSED);
	assert_null(code->variants);
	await_call("load-variant", calls, sizeof(calls));
	taking(LONG_PS);
	launch_and_end();
	usleep(50000);
	fake_driver_calls(calls, sizeof(calls));
	assert_null(strstr(calls, "load-variant"));
	assert_int_equal(shim_kernel_why(shim_kernel_find(kernel)), PTX_REASON_REFUSED);
}

/* The module goes while it is wanted or made: there is none, and nobody crashes. */
static void the_module_goes(void **unused)
{
	struct shim_code *code;

	(void)unused;
	for (int i = 0; i < 30; i++) {
		code = anew();
		taking(LONG_PS);
		launch_and_end();
		usleep((useconds_t)(i * 50));
		assert_int_equal(cuModuleUnload(FAKE_MODULE), CUDA_SUCCESS);
		EVENTUALLY(code->build != SHIM_BUILD_WANTED);
		assert_null(code->variants);
	}
}

/* Unloads and loads the rig's module again once a variant is being made, which is asked about then.
 * Its kernel then has another handle, and nobody may use the one that it had. */
#define ANOTHER ((CUfunction)0x1100)
static CUresult (*device_attribute)(int *, CUdevice_attribute, CUdevice);
static CUresult (*function_attribute)(int *, CUfunction_attribute, CUfunction);
static _Atomic int launched, comes_back, asked_of_the_past;

static CUresult fake_another(CUfunction *f, CUmodule module, const char *name)
{
	(void)name;
	*f = module == FAKE_MODULE ? ANOTHER : FAKE_VARIANT;
	return CUDA_SUCCESS;
}

static CUresult fake_device_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
	    atomic_exchange(&comes_back, 0)) {
		EVENTUALLY(launched);
		FAKE_PUT(cuModuleGetFunction, fake_another);
		anew();
	}
	return device_attribute(value, attribute, device);
}

static CUresult fake_function_attribute(int *value, CUfunction_attribute attribute, CUfunction f)
{
	asked_of_the_past += f == FAKE_ORIGINAL && kernel == ANOTHER;
	return function_attribute(value, attribute, f);
}

static void the_module_goes_and_comes_back(void **unused)
{
	void *get_function = shim_slot[SHIM_FN_cuModuleGetFunction];
	struct shim_code *code = anew();

	(void)unused;
	memcpy(&device_attribute, &shim_slot[SHIM_FN_cuDeviceGetAttribute], sizeof(void *));
	memcpy(&function_attribute, &shim_slot[SHIM_FN_cuFuncGetAttribute], sizeof(void *));
	FAKE_PUT(cuDeviceGetAttribute, fake_device_attribute);
	FAKE_PUT(cuFuncGetAttribute, fake_function_attribute);
	taking(LONG_PS);
	comes_back = 1;
	launch_and_end();
	launched = 1;
	EVENTUALLY(!comes_back && code->build != SHIM_BUILD_WANTED);
	assert_ptr_equal(kernel, ANOTHER);
	assert_ptr_not_equal(shim_kernel_find(kernel)->code, code);
	assert_int_equal(asked_of_the_past, 0);
	assert_null(code->variants);
	FAKE_PUT(cuDeviceGetAttribute, device_attribute);
	FAKE_PUT(cuFuncGetAttribute, function_attribute);
	shim_slot[SHIM_FN_cuModuleGetFunction] = get_function;
}

static void *launch_cancelled(void *rc)
{
	pthread_cancel(pthread_self());
	*(CUresult *)rc = launch(kernel, LONG_GRID);
	return rc;
}

/* The first launch makes the variant; a thread that is cancelled meanwhile ends after it. */
static void who_makes_it_is_cancelled(void **unused)
{
	CUresult rc = CUDA_ERROR_UNKNOWN;
	struct shim_code *code;
	pthread_t thread;

	at_once(unused);
	code = anew();
	assert_int_equal(pthread_create(&thread, NULL, launch_cancelled, &rc), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(rc, CUDA_SUCCESS);
	assert_non_null(code->variants);
	finish_all();
	EVENTUALLY(all_prepared());
}

/* Holds back the thread that makes a variant, where it asks about the device. */
static _Atomic int halt, halted;

static CUresult halted_device_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	while (halt) {
		halted = 1;
		usleep(200);
	}
	return device_attribute(value, attribute, device);
}

/* The child has no thread that makes variants; it gets one of its own. */
static void child_makes_its_own(void)
{
	struct shim_code *code;

	halt = 0;
	shim_session()->variant_min_ns = 0;
	page = shim_session()->page;
	for (int i = 0; i < 1000 && !gs_page_load(page->grant); i++)
		usleep(10000);
	code = anew();
	if (launch(kernel, LONG_GRID) != CUDA_SUCCESS)
		_exit(2);
	_exit(code->variants ? 0 : 3);
}

static void fork_now(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		child_makes_its_own();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_fork_as_one_is_begun(void **unused)
{
	struct shim_code *code = anew();

	(void)unused;
	memcpy(&device_attribute, &shim_slot[SHIM_FN_cuDeviceGetAttribute], sizeof(void *));
	FAKE_PUT(cuDeviceGetAttribute, halted_device_attribute);
	halted = 0;
	halt = 1;
	taking(LONG_PS);
	launch_and_end();
	EVENTUALLY(halted);
	fork_now();
	halt = 0;
	EVENTUALLY(code->variants);
}

/* Also if it has failed: the others' threads must not wait. */
static int halt_nobody(void **unused)
{
	halt = 0;
	if (device_attribute)
		FAKE_PUT(cuDeviceGetAttribute, device_attribute);
	return at_once(unused);
}

/* GCC 12's AddressSanitizer does not look after its own locks when a program forks: the child may
 * wait for ever for one that the other thread had as it allocated memory. From which version on
 * it does is not known for sure. */
#if defined(__SANITIZE_ADDRESS__) && __GNUC__ < 14
#define FORKS_ANYWHERE 0
#else
#define FORKS_ANYWHERE 1
#endif

static void a_fork_meanwhile(void **unused)
{
	struct shim_code *code;

	(void)unused;
	if (!FORKS_ANYWHERE)
		skip();
	code = anew();
	taking(LONG_PS);
	launch_and_end();
	fork_now();
	EVENTUALLY(code->variants);
}

/* ---- the compiler --------------------------------------------------------------------- */

static char folder[] = "/tmp/test_shim_build.XXXXXX";
static _Atomic int stop;

static char *script(const char *text)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/ptxas", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", text);
	fclose(f);
	chmod(path, 0755);
	return path;
}

/* What it is told, and what it is given. */
static void a_compiler_of_its_own(void **unused)
{
	static const char text[] = ".version 8.0\n.target sm_90a\n";
	const char *program = script("echo \"$@\" >&4; cat /proc/self/fd/3 >&4");
	char *made;
	size_t len;

	(void)unused;
	stop = 0;
	made = shim_ptxas(program, text, strlen(text), 90, "-maxrregcount=32 -O3", &stop, &len);
	assert_non_null(made);
	assert_int_equal(len, strlen("-arch=sm_90a -o /proc/self/fd/4 /proc/self/fd/3 "
				     "-maxrregcount=32 -O3\n") +
				      strlen(text));
	assert_memory_equal(made, "-arch=sm_90a -o /proc/self/fd/4 /proc/self/fd/3 -maxrreg", 55);
	free(made);
	/* The program's own children are its own, and it has no other. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void it_fails(void **unused)
{
	size_t len;

	(void)unused;
	stop = 0;
	assert_null(shim_ptxas(script("exit 1"), "x", 1, 90, NULL, &stop, &len));
	assert_null(shim_ptxas(script(""), "x", 1, 90, NULL, &stop, &len)); /* it writes nothing */
	assert_null(shim_ptxas("/nonexistent/ptxas", "x", 1, 90, NULL, &stop, &len));
}

/* No file may be that long: nothing is compiled, and nobody is ended. */
static void its_input_is_too_long(void **unused)
{
	const struct rlimit limit = { 16, RLIM_INFINITY };
	char text[64] = ".version 7.0";
	struct rlimit was;
	size_t len;

	(void)unused;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_null(shim_ptxas("/bin/true", text, sizeof(text), 90, NULL, &stop, &len));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
}

static void it_does_not_end(void **unused)
{
	uint64_t from = gs_clock_ns();
	size_t len;

	(void)unused;
	stop = 1;
	assert_null(shim_ptxas(script("exec sleep 30"), "x", 1, 90, NULL, &stop, &len));
	assert_true(gs_clock_ns() - from < 20 * GS_NS_PER_S);
}

/* The one that is installed takes what is made for it. */
static void the_installed_one(void **unused)
{
	struct gs_error err;
	struct ptx_transformed *t = ptx_transform_only(
		shim_rig_ptx, strlen(shim_rig_ptx),
		PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT) | PTX_TRANSFORMS_ALONE, 0, &err);
	const char *program = shim_ptxas_path();
	size_t len = 0;
	char *made;

	(void)unused;
	stop = 0;
	assert_non_null(t);
	if (!program) {
		ptx_transformed_free(t);
		skip();
	}
	made = shim_ptxas(program, t->text, t->len, 90, NULL, &stop, &len);
	assert_non_null(made);
	assert_memory_equal(made,
			    "\x7f"
			    "ELF",
			    4);
	free(made);
	ptx_transformed_free(t);
}

static int make_folder(void **state)
{
	return mkdtemp(folder) ? shim_rig_setup(state) : -1;
}

static int remove_folder(void **unused)
{
	char path[64];

	(void)unused;
	snprintf(path, sizeof(path), "%s/ptxas", folder);
	unlink(path);
	return rmdir(folder);
}

#define LAZY(test) cmocka_unit_test_setup_teardown(test, lazily, at_once)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAZY(a_long_kernel_gets_one),
		LAZY(not_for_nothing),
		LAZY(the_driver_refuses_it),
		LAZY(the_module_goes),
		LAZY(the_module_goes_and_comes_back),
		cmocka_unit_test(who_makes_it_is_cancelled),
		cmocka_unit_test_setup_teardown(a_fork_as_one_is_begun, lazily, halt_nobody),
		LAZY(a_fork_meanwhile),
		cmocka_unit_test(a_compiler_of_its_own),
		cmocka_unit_test(it_fails),
		cmocka_unit_test(its_input_is_too_long),
		cmocka_unit_test(it_does_not_end),
		cmocka_unit_test(the_installed_one),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
