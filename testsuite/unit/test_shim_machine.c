/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variants of machine code: the driver gets exactly the cut with the guard, after a kernel of our
 * own has done what it should; and what is refused is refused with its reason.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cubin_data.h"
#include "device/cubin/cubin.h"
#include "device/ptx/guard.h"
#include "device/shim/variant/machine.h"
#include "device/shim/variant/machine_code.h"
#include "device/shim/variant/machine_test.h"
#include "device/shim/launch/request.h"
#include "device/shim/variant/variant.h"
#include "fake_driver.h"
#include "live_daemon.h"
#include "shim_rig.h"

extern void *shim_slot[SHIM_FN_COUNT];
#define PUT(symbol, function) shim_slot[SHIM_FN_##symbol] = (void *)(uintptr_t)(function)

/* ---- a driver of sm_90, whose modules of machine code and functions are these records ---- */

#define MODULES_MAX 64

struct module {
	const void *image; /* as it was given */
	uint8_t *bytes;    /* a copy; NULL: it was no machine code */
	size_t size;
	char function[64];
};

static struct module modules[MODULES_MAX];
static unsigned int nmodules;
static int wrong; /* blocks that should leave run */
static int never; /* the GPU does not come to it */
static CUresult (*load_other)(CUmodule *module, const void *image, unsigned int n,
			      CUjit_option *options, void **values);
static CUresult (*function_other)(CUfunction *f, CUmodule module, const char *name);
static __typeof__(&cuLaunchKernel) launch_other;

static struct module *is_ours(const void *handle)
{
	const struct module *m = handle;

	return m >= modules && m < modules + nmodules ? &modules[m - modules] : NULL;
}

static CUresult fake_load(CUmodule *module, const void *image, unsigned int n,
			  CUjit_option *options, void **values)
{
	struct module *m = &modules[nmodules];
	int is_elf = memcmp(image, ELFMAG, SELFMAG) == 0;

	if (!is_elf && memcmp(image, "\x50\xed\x55\xba", 4) != 0)
		return load_other(module, image, n, options, values);
	assert_true(nmodules++ < MODULES_MAX);
	m->image = image;
	m->size = is_elf ? shim_cubin_length(image) : 0;
	m->bytes = m->size ? malloc(m->size) : NULL;
	if (m->bytes)
		memcpy(m->bytes, image, m->size);
	*module = (CUmodule)m;
	return CUDA_SUCCESS;
}

static CUresult fake_plain(CUmodule *module, const void *image)
{
	return fake_load(module, image, 0, NULL, NULL);
}

/* One function of each is enough for a test. */
static CUresult fake_function(CUfunction *f, CUmodule module, const char *name)
{
	struct module *m = is_ours(module);

	if (!m)
		return function_other(f, module, name);
	if (strstr(name, PTX_PERSISTENT_SUFFIX))
		return CUDA_ERROR_NOT_FOUND;
	snprintf(m->function, sizeof(m->function), "%s", name);
	*f = (CUfunction)m;
	return CUDA_SUCCESS;
}

/* What the machine code of our own kernel and its guard does. */
static void run_test_kernel(const struct module *m, const unsigned char *params)
{
	struct cubin *c = cubin_open(m->bytes, m->size, NULL);
	struct gs_guard guard;
	uint32_t offset, size, *cells;
	uint64_t *w;

	assert_true(c && cubin_param(c, 0, 1, &offset, &size) == 0 && size == sizeof(guard));
	cubin_close(c);
	memcpy(&cells, params, sizeof(cells));
	memcpy(&guard, params + offset, sizeof(guard));
	w = (uint64_t *)(uintptr_t)guard.word;
	for (uint64_t b = guard.base; b < SHIM_MACHINE_BLOCKS; b++) {
		uint64_t b1 = (b >> guard.group) + 1, old = *w;

		*w = old > b1 ? old : b1;
		if (wrong || (old ^ GS_GUARD_LEAVE) >= b1)
			cells[b]++;
	}
}

static CUresult fake_launch(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
			    unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
			    CUstream stream, void **params, void **extra)
{
	struct module *m = is_ours(f);

	if (!m || strcmp(m->function, SHIM_MACHINE_KERNEL) != 0)
		return launch_other(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
	assert_true(extra && gx == SHIM_MACHINE_BLOCKS);
	run_test_kernel(m, extra[1]);
	return CUDA_SUCCESS;
}

static CUresult fake_set8(CUdeviceptr at, unsigned char value, size_t n, CUstream stream)
{
	(void)stream;
	memset((void *)(uintptr_t)at, value, n);
	return CUDA_SUCCESS;
}

static CUresult fake_set32(CUdeviceptr at, unsigned int value, size_t n, CUstream stream)
{
	(void)stream;
	for (size_t i = 0; i < n; i++)
		((uint32_t *)(uintptr_t)at)[i] = value;
	return CUDA_SUCCESS;
}

static CUresult fake_back(void *to, CUdeviceptr from, size_t n, CUstream stream)
{
	(void)stream;
	memcpy(to, (void *)(uintptr_t)from, n);
	return CUDA_SUCCESS;
}

static CUresult fake_query(CUstream stream)
{
	(void)stream;
	return never ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static int sm_major = 9;

static CUresult fake_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? FAKE_SMS :
		 attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? sm_major :
									     0;
	return CUDA_SUCCESS;
}

static CUresult fake_no_table(const void **table, const CUuuid *id)
{
	(void)table, (void)id;
	return CUDA_ERROR_NOT_FOUND;
}

static uint8_t *several;
static size_t several_size;

static int setup(void **state)
{
	assert_int_equal(shim_rig_setup(state), 0);
	load_other = (__typeof__(load_other))shim_slot[SHIM_FN_cuModuleLoadDataEx];
	function_other = (__typeof__(function_other))shim_slot[SHIM_FN_cuModuleGetFunction];
	launch_other = (__typeof__(launch_other))shim_slot[SHIM_FN_cuLaunchKernel];
	PUT(cuModuleLoadDataEx, fake_load);
	PUT(cuModuleLoadData, fake_plain);
	PUT(cuModuleGetFunction, fake_function);
	PUT(cuLaunchKernel, fake_launch);
	PUT(cuMemsetD8Async, fake_set8);
	PUT(cuMemsetD32Async, fake_set32);
	PUT(cuMemcpyDtoHAsync_v2, fake_back);
	PUT(cuStreamQuery, fake_query);
	PUT(cuDeviceGetAttribute, fake_attribute);
	PUT(cuGetExportTable, fake_no_table);
	several = cubin_data_read("several.cubin", &several_size);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < nmodules; i++)
		free(modules[i].bytes);
	free(several);
	return 0;
}

static int idle(void **state)
{
	struct shim_session *s = shim_session();

	s->variant_min_ns = 0;
	s->machine_code = GS_MACHINE_VERIFIED;
	gs_page_store(page->shared, 0);
	wrong = never = 0;
	sm_major = 9;
	return shim_rig_idle(state);
}

/* ---- the program's part ---- */

/* The kernel's handle, of a module loaded anew from the image. */
static CUfunction get(const void *image, const char *name)
{
	CUmodule module;
	CUfunction f;

	assert_int_equal(cuModuleLoadData(&module, image), CUDA_SUCCESS);
	assert_ptr_equal(is_ours(module)->image, image); /* untouched, not even copied */
	assert_int_equal(cuModuleGetFunction(&f, module, name), CUDA_SUCCESS);
	return f;
}

/* Its first launch, at which its variant is made; the newest module that the driver got then. */
static struct shim_code *first_launch(CUfunction f)
{
	assert_int_equal(launch(f, 1), CUDA_SUCCESS);
	finish_all();
	EVENTUALLY(all_prepared());
	return shim_kernel_find(f)->code;
}

static void assert_is_guarded(const struct shim_code *code, const char *name, enum cubin_guard kind,
			      int clusters)
{
	const struct shim_variant *v = code->variants;
	const struct module *m;
	struct cubin_guarded want;

	assert_non_null(v);
	assert_int_equal(v->transform, PTX_TRANSFORM_GUARDED);
	assert_int_equal(v->made_of, GS_MADE_OF_MACHINE_CODE);
	assert_int_equal(
		cubin_guard_kernel(several, several_size, name, kind, clusters, &want, NULL), 1);
	m = is_ours(v->f);
	assert_non_null(m);
	assert_string_equal(m->function, name);
	assert_int_equal(m->size, want.size);
	assert_memory_equal(m->bytes, want.image, want.size);
	assert_int_equal(v->params.nparam, want.param);
	assert_int_equal(v->params.ctl_offset, want.param_offset);
	assert_int_equal(v->by_cluster, clusters);
	free(want.image);
}

/* ---- tests ---- */

/* Before anything else: where the kernel of our own goes wrong nothing is guarded, ever. */
static void guards_that_do_not_work(void **unused)
{
	int status = -1;
	pid_t pid = fork();

	(void)unused;
	if (pid == 0) {
		struct shim_code *code;
		unsigned int n;

		wrong = 1;
		page = shim_session()->page;
		/* Before a daemon has said that it may be nothing is made of machine code. */
		if (shim_session()->machine_code != GS_MACHINE_NO)
			_exit(4);
		shim_session()->machine_code = GS_MACHINE_VERIFIED;
		shim_session()->variant_min_ns = 0;
		for (int i = 0; i < 1000 && !gs_page_load(page->grant); i++)
			usleep(10000);
		code = first_launch(get(several, "add"));
		if (code->variants || code->reason != PTX_REASON_MACHINE_DIFFERS)
			_exit(2);
		wrong = 0;
		n = nmodules;
		code = first_launch(get(several, "turn"));
		_exit(code->reason == PTX_REASON_MACHINE_DIFFERS && nmodules == n + 1 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The driver gets the program's image, each guard of our own kernel once, and the cut. */
static void the_driver_gets_the_cut(void **unused)
{
	unsigned int before = nmodules;
	struct shim_code *code;

	(void)unused;
	code = first_launch(get(several, "add"));
	assert_int_equal(nmodules, before + 1 + CUBIN_GUARD_COUNT + 1);
	assert_is_guarded(code, "add", CUBIN_GUARD_MAXB, 0);
	code = first_launch(get(several, "turn"));
	assert_int_equal(nmodules, before + 1 + CUBIN_GUARD_COUNT + 1 + 2);
	assert_is_guarded(code, "turn", CUBIN_GUARD_MAXB, 0);
}

/* It is launched with the program's parameters, and the guard behind them. */
static void it_is_launched(void **unused)
{
	static const unsigned char given[20] = { 1,  2,  3,  4,  5,  6,  7,  8, 9,
						 10, 11, 12, 13, 14, 15, 16, 17 };
	size_t len = sizeof(given);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)given,
			  CU_LAUNCH_PARAM_BUFFER_SIZE, &len, CU_LAUNCH_PARAM_END };
	CUfunction f = get(several, "add");
	const struct shim_variant *v = first_launch(f)->variants;
	const unsigned char *params = fake_driver_params();
	struct gs_guard guard;

	(void)unused;
	assert_non_null(v);
	not_compared(f);
	assert_int_equal(cuLaunchKernel(f, LONG_GRID, 1, 1, 32, 1, 1, 0, STREAM, NULL, extra),
			 CUDA_SUCCESS);
	assert_ptr_equal(fake_launched, v->f);
	assert_int_equal(fake_driver_grid(), LONG_GRID);
	assert_memory_equal(params, given, sizeof(given));
	memcpy(&guard, params + 24, sizeof(guard));
	assert_true(guard.word != 0);
	assert_int_equal(guard.base, 0);
	assert_int_equal(guard.group, 0);
	finish_all();
	EVENTUALLY(all_prepared());
}

static void clusters_decide_as_a_whole(void **unused)
{
	(void)unused;
	assert_is_guarded(first_launch(get(several, "meet")), "meet", CUBIN_GUARD_MAXB, 1);
}

static void each_refusal_has_its_reason(void **unused)
{
	static const struct {
		const char *kernel;
		enum ptx_reason reason;
	} row[] = {
		{ "of_module", PTX_REASON_MACHINE_VARIABLES },
		{ "many_bytes", PTX_REASON_PARAMETERS },
		{ "whole_grid", PTX_REASON_COOPERATIVE },
	};
	unsigned int before = nmodules;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		const struct shim_code *code = first_launch(get(several, row[i].kernel));

		assert_null(code->variants);
		assert_string_equal(ptx_reason_name(code->reason), ptx_reason_name(row[i].reason));
	}
	assert_int_equal(nmodules, before + 3);
}

static void not_if_it_is_not_wanted(void **unused)
{
	unsigned int before = nmodules;
	struct shim_code *code;

	(void)unused;
	shim_session()->machine_code = GS_MACHINE_NO;
	code = first_launch(get(several, "add"));
	assert_null(code->variants);
	assert_int_equal(code->reason, PTX_REASON_MACHINE_CODE);
	shim_session()->machine_code = GS_MACHINE_ALL;
	sm_major = 10;
	code = first_launch(get(several, "add"));
	assert_null(code->variants);
	assert_int_equal(code->reason, PTX_REASON_MACHINE_ARCHITECTURE);
	assert_int_equal(nmodules, before + 2);
}

/* What is in gpushare.conf, and what the programs of jobs have of it. */
struct told {
	const char *lines;
	enum gs_machine_code machine_code;
	uint64_t variant_min_ns;
	enum ptx_reason reason; /* why there is no variant; NONE: there is one */
};

/* A program of a job of a real gpushared; its exit status is 0 if it obeys that daemon. */
static void obey(const struct live *l, uint32_t job, const struct told *want)
{
	char number[16];
	struct shim_session *s;
	struct shim_code *code;

	snprintf(number, sizeof(number), "%u", job);
	setenv("GPUSHARE_SOCKET", l->socket, 1);
	setenv("GPUSHARE_JOB_ID", number, 1);
	s = shim_session();
	page = s->page;
	if (!s->connected || s->machine_code != want->machine_code ||
	    s->variant_min_ns != want->variant_min_ns)
		_exit(2);
	code = first_launch(get(several, "add"));
	if (want->reason != PTX_REASON_NONE)
		_exit(!code->variants && code->reason == want->reason ? 0 : 3);
	_exit(code->variants ? 0 : 4);
}

/* The gpushared of the next test, which ends with it, also when it fails. */
static struct live live;

static int begin_live(void **state)
{
	live_begin(&live);
	return idle(state);
}

static int end_live(void **state)
{
	(void)state;
	live_end(&live);
	return 0;
}

/* What gpushare.conf says comes with WELCOME, and programs do it. */
static void as_gpushare_conf_says(void **unused)
{
	static const struct told row[] = {
		{ "MachineCode=verified\n", GS_MACHINE_VERIFIED, 0, PTX_REASON_NONE },
		{ "MachineCode=all\n", GS_MACHINE_ALL, 0, PTX_REASON_NONE },
		{ "MachineCode=no\n", GS_MACHINE_NO, 0, PTX_REASON_MACHINE_CODE },
		{ "VariantMin=1h\n", GS_MACHINE_VERIFIED, 3600 * GS_NS_PER_S,
		  PTX_REASON_NOT_BUILT },
		{ "VariantMin=2h\n", GS_MACHINE_VERIFIED, UINT64_MAX, PTX_REASON_NOT_BUILT },
	};
	uint32_t job;

	(void)unused;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int status = -1, sock;
		pid_t pid;

		live_stop(&live, SIGTERM);
		live_configure(&live, row[i].lines);
		live_start(&live);
		sock = live_local(&live, 10, 0, "high", &job);
		pid = fork();
		if (pid == 0)
			obey(&live, job, &row[i]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		close(sock);
	}
}

/* A container of compressed machine code: the cubin in it is unpacked, and its kernel guarded. */
static void a_container_is_unpacked(void **unused)
{
	struct cubin_guarded want;
	const uint8_t *is, *should;
	Elf64_Shdr h, h2;
	size_t size;
	uint8_t *image = cubin_data_read("several.fatbin", &size);
	const struct shim_variant *v;

	(void)unused;
	v = first_launch(get(image, "add"))->variants;
	assert_non_null(v);
	assert_int_equal(
		cubin_guard_kernel(several, several_size, "add", CUBIN_GUARD_MAXB, 0, &want, NULL),
		1);
	is = cubin_data_section(is_ours(v->f)->bytes, ".text.add", &h);
	should = cubin_data_section(want.image, ".text.add", &h2);
	assert_true(is && should && h.sh_size == h2.sh_size);
	assert_memory_equal(is, should, h.sh_size);
	free(want.image);
	free(image);
}

/* What its launches have shown decides which guard it gets: short blocks are asked in groups. */
static void short_blocks_are_asked_in_groups(void **unused)
{
	CUfunction f = get(several, "add");
	struct shim_kernel *k = shim_kernel_find(f);
	struct shim_time *t;

	(void)unused;
	shim_session()->variant_min_ns = GS_NS_PER_MS;
	gs_page_store(page->shared, 1);
	first_launch(f);
	assert_null(k->code->variants);
	t = shim_kernel_time(k, (const unsigned int[]) { 32, 1, 1 }, LONG_GRID * 1000);
	t->tpt_ps = 1000000; /* 1 us of the whole GPU: 8 at once take 8 us each */
	t->due = 0;
	assert_int_equal(launch(f, LONG_GRID * 1000), CUDA_SUCCESS);
	finish_all();
	EVENTUALLY(k->code->variants);
	assert_is_guarded(k->code, "add", CUBIN_GUARD_MAXT, 0);
	assert_int_equal(((struct shim_variant *)k->code->variants)->group, 4);
	EVENTUALLY(all_prepared());
}

static void the_guard_fits_the_blocks(void **unused)
{
	uint8_t group;

	(void)unused;
	assert_int_equal(shim_machine_guard(0, 1000, &group), CUBIN_GUARD_MAXB);
	assert_int_equal(group, 0);
	assert_int_equal(shim_machine_guard(20000, 0, &group), CUBIN_GUARD_MAXB);
	/* 1,000 at once that take 20 us each; a little less. */
	assert_int_equal(shim_machine_guard(20000, 1000, &group), CUBIN_GUARD_MAXB);
	assert_int_equal(shim_machine_guard(19000, 1000, &group), CUBIN_GUARD_MAXT);
	assert_int_equal(group, 10);
	assert_int_equal(shim_machine_guard(1, 1000, &group), CUBIN_GUARD_MAXT);
	assert_int_equal(group, 24);
	/* The guard for groups of one unit would leave what it remembers behind. */
	assert_int_equal(shim_machine_guard(15000000, 1, &group), CUBIN_GUARD_MAXB);
	assert_int_equal(group, 0);
}

#define TEST(f) cmocka_unit_test_setup(f, idle)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(guards_that_do_not_work),
		cmocka_unit_test_setup_teardown(as_gpushare_conf_says, begin_live, end_live),
		TEST(the_driver_gets_the_cut),
		TEST(it_is_launched),
		TEST(clusters_decide_as_a_whole),
		TEST(each_refusal_has_its_reason),
		TEST(not_if_it_is_not_wanted),
		TEST(a_container_is_unpacked),
		TEST(short_blocks_are_asked_in_groups),
		TEST(the_guard_fits_the_blocks),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
