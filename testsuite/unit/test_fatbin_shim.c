/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PTX that the shim finds in a program's image when it makes a variant (shim/image.c).
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

#include "device/shim/kernel/image.h"
#include "device/shim/base/shim.h"

static char last_log[512];
static enum ptx_reason why;

/* No driver is asked here. */
void *shim_real(enum shim_fn fn)
{
	fail_msg("an unexpected driver function, %d", (int)fn);
	return NULL;
}

void shim_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_log, sizeof(last_log), fmt, ap);
	va_end(ap);
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

/* Kept as it was loaded, and read. */
static int ptx_of(const void *data, uint32_t sm, struct shim_ptx *ptx)
{
	struct shim_image kept;
	struct shim_bytes bytes;
	int rc;

	shim_image_keep(&kept, data);
	why = kept.why;
	if (!kept.at)
		return -1;
	bytes = shim_image_read(&kept);
	shim_image_drop(&kept);
	rc = shim_image_ptx(&bytes, sm, ptx, &why);
	shim_bytes_drop(&bytes);
	return rc;
}

static void found(const void *data, uint32_t sm)
{
	struct shim_ptx ptx;

	assert_int_equal(ptx_of(data, sm, &ptx), 0);
	assert_int_equal(why, PTX_REASON_NONE);
	assert_non_null(strstr(ptx.text, ".entry axpy("));
	assert_int_equal(ptx.len, strlen(ptx.text));
	shim_ptx_free(&ptx);
}

static void every_packing_is_read(void **state)
{
	static const char *const name[] = { "plain.fatbin", "zstd.fatbin", "lz4.fatbin",
					    "cuda12.fatbin", "kernels.ptx" };

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		size_t len;
		void *data = image(name[i], &len);

		found(data, 75);
		free(data);
	}
}

/* What cudart passes: the wrapper, to cuLibraryLoadData, often before there is a context. */
static void cudarts_wrapper_is_read(void **state)
{
	struct {
		uint32_t magic, version;
		const void *data, *more;
	} wrapper = { 0x466243B1, 1, NULL, NULL };
	struct shim_ptx ptx;
	size_t len;
	void *data = image("zstd.fatbin", &len);

	(void)state;
	wrapper.data = data;
	found(&wrapper, 75);
	/* The linker's: its parts are linked by the driver. */
	wrapper.version = 2;
	assert_int_equal(ptx_of(&wrapper, 75, &ptx), -1);
	assert_int_equal(why, PTX_REASON_RELOCATABLE);
	free(data);
}

static void options_go_along(void **state)
{
	struct shim_ptx ptx;
	size_t len;
	void *data = image("options.fatbin", &len);

	(void)state;
	assert_int_equal(ptx_of(data, 75, &ptx), 0);
	assert_non_null(strstr(ptx.options, "-maxrregcount=32"));
	shim_ptx_free(&ptx);
	free(data);
}

static void left(const char *name, uint32_t sm, enum ptx_reason reason)
{
	struct shim_ptx ptx;
	size_t len;
	void *data = image(name, &len);

	assert_int_equal(ptx_of(data, sm, &ptx), -1);
	assert_int_equal(why, reason);
	assert_null(ptx.text);
	free(data);
}

static void why_there_is_none(void **state)
{
	struct shim_ptx ptx;

	(void)state;
	left("machine.fatbin", 75, PTX_REASON_MACHINE_CODE);
	left("relocatable.fatbin", 75, PTX_REASON_RELOCATABLE);
	left("lto.fatbin", 75, PTX_REASON_RELOCATABLE);
	left("newer.fatbin", 90, PTX_REASON_OLDER_PTX);
	left("zstd.fatbin", 70, PTX_REASON_OTHER_PTX);
	assert_int_equal(ptx_of(NULL, 75, &ptx), -1);
	assert_int_equal(ptx_of("", 75, &ptx), -1);
	assert_int_equal(ptx_of("nothing", 75, &ptx), -1);
	assert_int_equal(why, PTX_REASON_UNREADABLE);
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
	struct shim_image kept;

	(void)state;
	assert_true(map != MAP_FAILED && len < (size_t)page);
	assert_int_equal(munmap(map + page, (size_t)page), 0);
	at = map + page - len;
	memcpy(at, data, len);
	memcpy(at + 8, &claimed, sizeof(claimed));
	shim_image_keep(&kept, at);
	assert_null(kept.at);
	assert_int_equal(kept.why, PTX_REASON_UNREADABLE);
	munmap(map, (size_t)page);
	free(data);
}

static void every_flipped_bit_is_survived(void **state)
{
	struct shim_ptx ptx;
	size_t len;
	uint8_t *data = image("options.fatbin", &len);

	(void)state;
	for (size_t bit = 0; bit < len * 8; bit++) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		/* a longer claim is the test above */
		if ((bit / 8 < 8 || bit / 8 > 15) && ptx_of(data, 75, &ptx) == 0)
			shim_ptx_free(&ptx);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(data);
}

static void files_are_kept(void **state)
{
	struct shim_image kept;
	struct shim_file file;
	char path[1024];

	(void)state;
	path_of(path, sizeof(path), "zstd.fatbin");
	shim_file_read(&file, path);
	shim_image_keep_file(&kept, &file);
	assert_null(file.data);
	found(kept.at, 75);
	shim_image_drop(&kept);
	shim_file_read(&file, FATBIN_DATA "/nothing");
	shim_image_keep_file(&kept, &file);
	assert_null(kept.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_packing_is_read),
		cmocka_unit_test(cudarts_wrapper_is_read),
		cmocka_unit_test(options_go_along),
		cmocka_unit_test(why_there_is_none),
		cmocka_unit_test(a_length_beyond_the_mapping_is_noticed),
		cmocka_unit_test(every_flipped_bit_is_survived),
		cmocka_unit_test(files_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
