/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the shim gives the driver instead of a program's image (shim/image.c),
 * over devices that the test makes up.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/fatbin/fatbin.h"
#include "device/shim/image.h"
#include "device/shim/origin.h"
#include "device/shim/shim.h"

#define DEVICES 2

static int sm_of[DEVICES]; /* 75; 0: the driver does not say */
static int devices, has_context;
static char last_log[512];
static enum ptx_reason why;

static CUresult fake_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	if (device < 0 || device >= DEVICES || !sm_of[device])
		return CUDA_ERROR_INVALID_DEVICE;
	*value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? sm_of[device] / 10 :
									     sm_of[device] % 10;
	return CUDA_SUCCESS;
}

static CUresult fake_device(CUdevice *device)
{
	*device = 0;
	return has_context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult fake_count(int *count)
{
	*count = devices;
	return CUDA_SUCCESS;
}

static int emulated;

/* Of an emulated device, or of a driver that does not know it. */
static CUresult fake_table(const void **table, const CUuuid *id)
{
	static const struct gs_emu_export offers = { sizeof(offers), NULL };

	(void)id;
	*table = emulated ? &offers : NULL;
	return emulated ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

void *shim_real(enum shim_fn fn)
{
	switch (fn) {
	case SHIM_FN_cuGetExportTable:
		return (void *)(uintptr_t)fake_table;
	case SHIM_FN_cuDeviceGetAttribute:
		return (void *)(uintptr_t)fake_attribute;
	case SHIM_FN_cuCtxGetDevice:
		return (void *)(uintptr_t)fake_device;
	case SHIM_FN_cuDeviceGetCount:
		return (void *)(uintptr_t)fake_count;
	default:
		fail_msg("an unexpected driver function, %d", (int)fn);
		return NULL;
	}
}

void shim_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_log, sizeof(last_log), fmt, ap);
	va_end(ap);
}

static int one_device(void **state)
{
	(void)state;
	sm_of[0] = 75;
	sm_of[1] = 0;
	devices = 1;
	has_context = 1;
	emulated = 0;
	last_log[0] = '\0';
	return 0;
}

static void path_of(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", FATBIN_DATA, name);
}

/* As a program has it: in memory, and nobody knows its length. */
static void *image(const char *name, size_t *len)
{
	char path[1024];
	struct stat st;
	void *data;
	int fd;

	path_of(path, sizeof(path), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	data = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(data);
	assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	*len = (size_t)st.st_size;
	return data;
}

/* The PTX inside a container that is to be loaded. */
static char *inside(const struct ptx_transformed *t, struct gs_fatbin_entry *e)
{
	struct gs_fatbin fb;
	struct gs_error err;
	char *text;
	size_t at = 0, len;

	assert_non_null(t);
	assert_non_null(t->text);
	assert_int_equal(gs_fatbin_open(t->text, t->len, &fb, &err), 0);
	assert_int_equal(fb.bytes.len, t->len);
	assert_int_equal(gs_fatbin_next(&fb, &at, e, &err), 1);
	assert_int_equal(gs_fatbin_best_ptx(&fb, 120, &text, &len, &err), 1);
	return text;
}

static void check_variants(const struct ptx_transformed *t)
{
	struct gs_fatbin_entry e;
	char *text = inside(t, &e);

	assert_int_equal(t->nkernel, 2);
	assert_non_null(strstr(text, ".entry axpy("));
	assert_non_null(strstr(text, ".entry axpy" PTX_PERSISTENT_SUFFIX "("));
	assert_non_null(strstr(text, ".entry copy" PTX_PERSISTENT_SUFFIX "("));
	assert_int_equal(e.sm, 75);
	free(text);
}

static void every_packing_is_transformed(void **state)
{
	static const char *const name[] = { "plain.fatbin", "zstd.fatbin", "lz4.fatbin",
					    "cuda12.fatbin" };

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		size_t len;
		void *data = image(name[i], &len);
		struct ptx_transformed *t = shim_image_transform(data, 0, &why);

		check_variants(t);
		ptx_transformed_free(t);
		free(data);
	}
}

/* What cudart passes: the wrapper, to cuLibraryLoadData, often before there is a context. */
static void cudarts_wrapper_is_transformed(void **state)
{
	struct {
		uint32_t magic, version;
		const void *data, *more;
	} wrapper = { 0x466243B1, 1, NULL, NULL };
	struct ptx_transformed *t;
	size_t len;
	void *data = image("zstd.fatbin", &len);

	(void)state;
	wrapper.data = data;
	has_context = 0;
	t = shim_image_transform(&wrapper, 1, &why);
	check_variants(t);
	ptx_transformed_free(t);
	/* The linker's: its parts are linked by the driver. */
	wrapper.version = 2;
	assert_null(shim_image_transform(&wrapper, 1, &why));
	assert_int_equal(why, PTX_REASON_RELOCATABLE);
	free(data);
}

static void options_go_along(void **state)
{
	struct gs_fatbin_entry e;
	size_t len;
	void *data = image("options.fatbin", &len);
	struct ptx_transformed *t = shim_image_transform(data, 0, &why);
	char *text = inside(t, &e);

	(void)state;
	assert_non_null(memmem(e.options.data, e.options.len, "-maxrregcount=32", 16));
	free(text);
	ptx_transformed_free(t);
	free(data);
}

static void left(const char *name, int library, enum ptx_reason reason)
{
	size_t len;
	void *data = image(name, &len);

	last_log[0] = '\0';
	assert_null(shim_image_transform(data, library, &why));
	assert_int_equal(why, reason);
	if (!strstr(last_log, ptx_reason_words(reason)))
		fail_msg("%s: '%s', not '%s'", name, last_log, ptx_reason_words(reason));
	free(data);
}

static void what_cannot_be_replaced_is_left_alone(void **state)
{
	(void)state;
	left("machine.fatbin", 0, PTX_REASON_MACHINE_CODE);
	left("relocatable.fatbin", 0, PTX_REASON_RELOCATABLE);
	left("lto.fatbin", 0, PTX_REASON_RELOCATABLE);
	sm_of[0] = 90;
	left("newer.fatbin", 0, PTX_REASON_OLDER_PTX);
	sm_of[0] = 70;
	left("zstd.fatbin", 0, PTX_REASON_OTHER_PTX);
	sm_of[0] = 0;
	left("zstd.fatbin", 0, PTX_REASON_DEVICES);
	sm_of[0] = 75;
	has_context = 0;
	left("zstd.fatbin", 0, PTX_REASON_DEVICES);
	assert_null(shim_image_transform(NULL, 0, &why));
	assert_null(shim_image_transform("", 0, &why));
	assert_null(shim_image_transform("\x7f"
					 "ELF",
					 0, &why));
	assert_null(shim_image_transform(".version", 0, &why));
	assert_int_equal(why, PTX_REASON_UNREADABLE);
}

static struct ptx_transformed *input(const char *name)
{
	struct ptx_transformed *t;
	size_t len;
	void *data = image(name, &len);

	t = shim_image_transform_input(data, len, &why);
	free(data);
	return t;
}

/* What goes to the linker may be relocatable, where the driver would compile it anyway. */
static void the_linker_gets_relocatable_text(void **state)
{
	static const char *const others[] = { "relocatable.fatbin", "lto.fatbin", "machine.fatbin",
					      "library.so" };
	struct gs_fatbin_entry e;
	struct ptx_transformed *t = input("zstd.fatbin");
	struct gs_error err;

	(void)state;
	check_variants(t);
	ptx_transformed_free(t);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_null(input(others[i]));
	/* No machine code of it for this device. */
	sm_of[0] = 80;
	t = input("relocatable.fatbin");
	check_variants(t);
	free(inside(t, &e));
	assert_int_equal(gs_fatbin_relocatable(&e, &err), 1);
	ptx_transformed_free(t);
	assert_null(input("lto.fatbin"));
	left("relocatable.fatbin", 0, PTX_REASON_RELOCATABLE);
}

/* A library is for every device: PTX that fits one of them only will not do. */
static void libraries_need_devices_that_are_alike(void **state)
{
	struct ptx_transformed *t;
	size_t len;
	void *data = image("zstd.fatbin", &len);

	(void)state;
	devices = 2;
	sm_of[1] = 90;
	left("zstd.fatbin", 1, PTX_REASON_DEVICES);
	sm_of[1] = 75;
	t = shim_image_transform(data, 1, &why);
	check_variants(t);
	ptx_transformed_free(t);
	free(data);
}

/* A header that claims more than there is: found before anything behind it is read. */
static void a_length_beyond_the_mapping_is_noticed(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	size_t len;
	void *data = image("zstd.fatbin", &len);
	uint8_t *map = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *at;
	uint64_t claimed = (uint64_t)1 << 30;

	(void)state;
	assert_true(map != MAP_FAILED && len < (size_t)page);
	assert_int_equal(munmap(map + page, (size_t)page), 0);
	at = map + page - len;
	memcpy(at, data, len);
	memcpy(at + 8, &claimed, sizeof(claimed));
	assert_null(shim_image_transform(at, 0, &why));
	assert_non_null(strstr(last_log, "length"));
	munmap(map, (size_t)page);
	free(data);
}

static void every_flipped_bit_is_survived(void **state)
{
	size_t len;
	uint8_t *data = image("options.fatbin", &len);

	(void)state;
	for (size_t bit = 0; bit < len * 8; bit++) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (bit / 8 < 8 || bit / 8 > 15) /* a longer claim is the test above */
			ptx_transformed_free(shim_image_transform(data, 0, &why));
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(data);
}

/* No kernel can be preempted: the image stays, the reasons are kept for the report. */
static void nothing_gained_nothing_replaced(void **state)
{
	static const char text[] = ".version 7.0\n.target sm_90\n.address_size 64\n"
				   ".visible .entry k()\n.reqnctapercluster 2\n{\n\tret;\n}\n";
	struct ptx_transformed *t = shim_image_transform(text, 0, &why);

	(void)state;
	assert_non_null(t);
	assert_null(t->text);
	assert_int_equal(t->nkernel, 1);
	assert_int_equal(t->kernel[0].transform, PTX_TRANSFORM_AS_IS);
	ptx_transformed_free(t);
}

/* What was transformed is kept for the next process, and told apart from what was not. */
static void the_cache_is_used(void **state)
{
	char dir[64] = "", path[512], command[600], *text = NULL;
	const char *tmp = getenv("TMPDIR");
	struct ptx_transformed *t, *again;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	snprintf(dir, sizeof(dir), "%s/gpushare-cache.XXXXXX",
		 tmp && strlen(tmp) < 30 ? tmp : "/tmp");
	assert_non_null(mkdtemp(dir));
	assert_non_null(f);
	fprintf(f, ".version 7.0\n.target sm_75\n.address_size 64\n");
	for (int i = 0; i < 300; i++)
		fprintf(f,
			".visible .entry kernel_%d(.param .u64 p)\n{\n\t.reg .b32 %%r<2>;\n"
			"\tmov.u32 %%r1, %%ctaid.x;\n\tret;\n}\n",
			i);
	fclose(f);
	setenv("GPUSHARE_CACHE", dir, 1);
	emulated = 1; /* where that many are transformed */
	t = shim_image_transform(text, 0, &why);
	snprintf(command, sizeof(command), "echo %s/*.module", dir);
	f = popen(command, "r");
	assert_true(f && fgets(path, sizeof(path), f));
	assert_int_equal(pclose(f), 0);
	path[strcspn(path, "\n")] = '\0';
	assert_int_equal(access(path, R_OK), 0);
	again = shim_image_transform(text, 0, &why);
	assert_non_null(t);
	assert_non_null(again);
	assert_string_equal(t->text, again->text);
	assert_int_equal(again->nkernel, 300);
	setenv("GPUSHARE_CACHE", "", 1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	ptx_transformed_free(again);
	ptx_transformed_free(t);
	free(text);
}

/* Its variants were made when it was built: loaded as it is, and described all the same. */
static void variants_that_are_there_are_used(void **state)
{
	struct gs_fatbin_entry e;
	size_t len;
	void *data = image("zstd.fatbin", &len);
	struct ptx_transformed *t = shim_image_transform(data, 0, &why), *again, *text;
	char *inner = inside(t, &e);

	(void)state;
	again = shim_image_transform(t->text, 0, &why);
	text = shim_image_transform(inner, 0, &why);
	assert_non_null(again);
	assert_non_null(text);
	assert_null(again->text);
	assert_null(text->text);
	assert_int_equal(again->nkernel, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_string_equal(again->kernel[i].name, t->kernel[i].name);
		assert_int_equal(again->kernel[i].transform, PTX_TRANSFORM_PERSISTENT);
		assert_int_equal(again->kernel[i].ctl_offset, t->kernel[i].ctl_offset);
	}
	free(inner);
	ptx_transformed_free(text);
	ptx_transformed_free(again);
	ptx_transformed_free(t);
	free(data);
}

static struct ptx_transformed *of_file(const char *path, int library)
{
	struct ptx_transformed *t;
	struct shim_file file;

	shim_file_read(&file, path);
	t = shim_image_transform_read(&file, library, &why);
	shim_file_drop(&file);
	return t;
}

static void files_are_transformed(void **state)
{
	struct ptx_transformed *t;
	char path[1024];

	(void)state;
	path_of(path, sizeof(path), "zstd.fatbin");
	t = of_file(path, 1);
	check_variants(t);
	ptx_transformed_free(t);
	path_of(path, sizeof(path), "kernels.ptx");
	t = of_file(path, 0);
	assert_non_null(t);
	assert_non_null(strstr(t->text, ".entry copy" PTX_PERSISTENT_SUFFIX "("));
	ptx_transformed_free(t);
	path_of(path, sizeof(path), "library.so");
	assert_null(of_file(path, 0));
	assert_null(of_file(FATBIN_DATA, 0));
	assert_null(of_file(FATBIN_DATA "/nothing", 0));
	assert_null(of_file(NULL, 0));
}

/* So many kernels; the caller's. */
static char *kernels(unsigned int n)
{
	char *text = malloc(100 + 200 * (size_t)n), *at = text;

	assert_non_null(text);
	at += sprintf(at, ".version 7.0\n.target sm_75\n.address_size 64\n");
	for (unsigned int i = 0; i < n; i++)
		at += sprintf(
			at,
			".visible .entry k%u(.param .u64 p)\n{\n\t.reg .b32 %%r<2>;\n\tmov.u32 %%r1, %%ctaid.x;\n\tret;\n}\n",
			i);
	return text;
}

static void is_large(char *text)
{
	last_log[0] = '\0';
	assert_null(shim_image_transform(text, 0, &why));
	assert_int_equal(why, PTX_REASON_LARGE);
	assert_non_null(strstr(last_log, ptx_reason_words(PTX_REASON_LARGE)));
	free(text);
}

static void is_transformed(char *text, uint32_t n)
{
	struct ptx_transformed *t = shim_image_transform(text, 0, &why);

	assert_non_null(t);
	assert_non_null(t->text);
	assert_int_equal(t->nkernel, n);
	ptx_transformed_free(t);
	free(text);
}

/* On a GPU a program does not wait for the compiler of many kernels; what brings its variants has
 * none to wait for. */
static void large_modules_are_left_alone(void **state)
{
	struct ptx_transformed *t;
	struct gs_error err;
	char *text;

	(void)state;
	is_transformed(kernels(SHIM_MODULE_KERNELS_MAX), SHIM_MODULE_KERNELS_MAX);
	is_large(kernels(SHIM_MODULE_KERNELS_MAX + 1));
	text = kernels(2);
	text = realloc(text, SHIM_MODULE_PTX_MAX + 2);
	memset(text + strlen(text), '\n', SHIM_MODULE_PTX_MAX + 1 - strlen(text));
	text[SHIM_MODULE_PTX_MAX + 1] = '\0';
	text[SHIM_MODULE_PTX_MAX] = '\0';
	is_transformed(strdup(text), 2);
	text[SHIM_MODULE_PTX_MAX] = '\n';
	is_large(text);
	text = kernels(SHIM_MODULE_KERNELS_MAX);
	t = ptx_transform_only(text, strlen(text), PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT), 0,
			       &err);
	free(text);
	assert_non_null(t);
	text = strdup(t->text);
	ptx_transformed_free(t);
	t = shim_image_transform(text, 0, &why);
	assert_non_null(t);
	assert_null(t->text);
	assert_int_equal(t->nkernel, SHIM_MODULE_KERNELS_MAX);
	ptx_transformed_free(t);
	*strstr(text, "k1" PTX_PERSISTENT_SUFFIX "(") = 'j'; /* one is missing */
	is_large(text);
	emulated = 1;
	is_transformed(kernels(200), 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_packing_is_transformed, one_device),
		cmocka_unit_test_setup(cudarts_wrapper_is_transformed, one_device),
		cmocka_unit_test_setup(options_go_along, one_device),
		cmocka_unit_test_setup(what_cannot_be_replaced_is_left_alone, one_device),
		cmocka_unit_test_setup(the_linker_gets_relocatable_text, one_device),
		cmocka_unit_test_setup(libraries_need_devices_that_are_alike, one_device),
		cmocka_unit_test_setup(a_length_beyond_the_mapping_is_noticed, one_device),
		cmocka_unit_test_setup(every_flipped_bit_is_survived, one_device),
		cmocka_unit_test_setup(nothing_gained_nothing_replaced, one_device),
		cmocka_unit_test_setup(the_cache_is_used, one_device),
		cmocka_unit_test_setup(variants_that_are_there_are_used, one_device),
		cmocka_unit_test_setup(files_are_transformed, one_device),
		cmocka_unit_test_setup(large_modules_are_left_alone, one_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
