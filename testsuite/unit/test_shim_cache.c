/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of variants: right or not there, whatever is in its directory and whoever
 * writes. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
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

#include "device/shim/variant/cache.h"
#include "device/shim/variant/describe.h"
#include "device/shim/base/shim.h"

#define FORMS (PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT) | PTX_TRANSFORMS_ALONE)

static char dir[128];

void shim_log(const char *fmt, ...)
{
	(void)fmt;
}

/* A kernel of so many steps, none like another's. */
static char *module(unsigned int salt, unsigned int steps)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	fprintf(f, ".version 7.0\n.target sm_75\n.address_size 64\n"
		   ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
		   "\t.reg .b32 %%r<4>;\n\t.reg .b64 %%rd<4>;\n"
		   "\tld.param.u64 %%rd1, [p];\n\tmov.u32 %%r1, %%ctaid.x;\n");
	for (unsigned int i = 0; i < steps; i++)
		fprintf(f,
			"\tmul.wide.u32 %%rd2, %%r1, %u;\n\tadd.s64 %%rd3, %%rd1, %%rd2;\n"
			"\tst.global.u32 [%%rd3+%u], %%r1;\n",
			salt, 4 * i);
	fprintf(f, "\tret;\n}\n");
	fclose(f);
	return text;
}

static struct ptx_transformed *transform(const char *text)
{
	struct gs_error err;
	struct ptx_transformed *t = ptx_transform_only(text, strlen(text), FORMS, 0, &err);

	assert_non_null(t);
	return t;
}

static void same(const struct ptx_transformed *a, const struct ptx_transformed *b)
{
	size_t na, nb;
	unsigned char *da = shim_describe(a, &na), *db = shim_describe(b, &nb);

	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->text, b->text, a->len + 1);
	assert_int_equal(na, nb);
	assert_memory_equal(da, db, na);
	free(da);
	free(db);
}

/* Of a kernel that names two variables. */
static struct ptx_need needs[] = { { (char *)(uintptr_t) "a", 0x1000 },
				   { (char *)(uintptr_t) "b", UINT64_C(0x7f0000002000) } };

static int is_there(const char *name, uint64_t address, void *moved)
{
	const struct ptx_need *n = &needs[strcmp(name, "a") != 0];

	assert_string_equal(name, n->name);
	return address == n->address + (moved ? 8 : 0);
}

static struct shim_cache_key key_of(const char *text)
{
	return (struct shim_cache_key) { text, strlen(text), "k", 90, "ptxas 1" };
}

static struct ptx_transformed *get(const char *text)
{
	struct shim_cache_key key = key_of(text);

	return shim_cache_get(&key, is_there, NULL);
}

static void put(const char *text, const struct ptx_transformed *t)
{
	struct shim_cache_key key = key_of(text);

	shim_cache_put(&key, needs, 2, t);
}

/* The files of the directory; `path` gets the last one's, `bytes` what they take together. */
static int files(char *path, size_t size, uint64_t *bytes)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;
	char one[512];
	int n = 0;

	assert_non_null(d);
	*bytes = 0;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(one, sizeof(one), "%s/%s", dir, e->d_name);
		if (stat(one, &st) < 0) /* renamed by its writer meanwhile */
			continue;
		*bytes += (uint64_t)st.st_size;
		if (path)
			snprintf(path, size, "%s", one);
		n++;
	}
	closedir(d);
	return n;
}

static int fresh(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%s/gpushare-cache.XXXXXX",
		 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return -1;
	setenv("GPUSHARE_CACHE", dir, 1);
	unsetenv("GPUSHARE_CACHE_MAX");
	return 0;
}

static int clean(void **state)
{
	char path[512];
	uint64_t bytes;

	(void)state;
	chmod(dir, 0700);
	while (files(path, sizeof(path), &bytes) > 0)
		unlink(path);
	return rmdir(dir);
}

static void kept_and_found(void **state)
{
	char *text = module(4, 100), *other = module(8, 100);
	struct ptx_transformed *t = transform(text), *got;
	struct shim_cache_key key = key_of(text);
	uint64_t bytes;
	int moved;

	(void)state;
	assert_null(get(text));
	put(text, t);
	assert_int_equal(files(NULL, 0, &bytes), 1);
	assert_true(bytes < strlen(text));
	got = get(text);
	assert_non_null(got);
	same(got, t);
	ptx_transformed_free(got);
	/* Another text, kernel, device or compiler, and variables that are elsewhere now. */
	assert_null(get(other));
	key.kernel = "l";
	assert_null(shim_cache_get(&key, is_there, NULL));
	key = key_of(text);
	key.sm = 80;
	assert_null(shim_cache_get(&key, is_there, NULL));
	key = key_of(text);
	key.compiler = "ptxas 2";
	assert_null(shim_cache_get(&key, is_there, NULL));
	key = key_of(text);
	assert_null(shim_cache_get(&key, is_there, &moved));
	/* It names no variable. */
	shim_cache_put(&key, NULL, 0, t);
	got = shim_cache_get(&key, is_there, &moved);
	assert_non_null(got);
	same(got, t);
	ptx_transformed_free(got);
	ptx_transformed_free(t);
	free(other);
	free(text);
}

/* Cut off anywhere, or any byte changed: it is not there, or it is right; and is made anew. */
static void damaged(void **state)
{
	char *text = module(4, 80), path[512];
	struct ptx_transformed *t = transform(text), *got;
	unsigned char *entry;
	uint64_t size;
	FILE *f;
	int hits = 0;

	(void)state;
	put(text, t);
	assert_int_equal(files(path, sizeof(path), &size), 1);
	entry = malloc(size);
	f = fopen(path, "r");
	assert_true(entry && f && fread(entry, 1, size, f) == size);
	fclose(f);
	for (uint64_t cut = 0; cut < size; cut += cut < 80 ? 1 : size / 40) {
		assert_int_equal(truncate(path, (off_t)cut), 0);
		assert_null(get(text));
		f = fopen(path, "w");
		assert_true(f && fwrite(entry, 1, size, f) == size);
		fclose(f);
	}
	for (uint64_t at = 0; at < size; at += at < 80 ? 1 : size / 200 + 1) {
		entry[at] ^= 0x41;
		f = fopen(path, "w");
		assert_true(f && fwrite(entry, 1, size, f) == size);
		fclose(f);
		entry[at] ^= 0x41;
		got = get(text);
		if (got)
			same(got, t);
		hits += got != NULL;
		ptx_transformed_free(got);
	}
	/* A bit of the frame that says nothing about its contents. */
	assert_in_range(hits, 0, 2);
	put(text, t);
	got = get(text);
	assert_non_null(got);
	same(got, t);
	ptx_transformed_free(got);
	ptx_transformed_free(t);
	free(entry);
	free(text);
}

/* An entry of this name that holds another text: as two texts of one hash would have it. */
static void another_texts_entry(void **state)
{
	char *one = module(4, 80), *two = module(8, 80), first[512], second[512], aside[160];
	struct ptx_transformed *t = transform(one), *u = transform(two), *got;
	uint64_t bytes;

	(void)state;
	assert_int_equal(strlen(one), strlen(two));
	put(one, t);
	assert_int_equal(files(first, sizeof(first), &bytes), 1);
	snprintf(aside, sizeof(aside), "%s.aside", dir);
	assert_int_equal(rename(first, aside), 0);
	put(two, u);
	assert_int_equal(files(second, sizeof(second), &bytes), 1);
	assert_string_not_equal(first, second);
	assert_int_equal(rename(second, first), 0);
	assert_null(get(one));
	assert_int_equal(rename(aside, first), 0);
	assert_non_null(got = get(one));
	ptx_transformed_free(got);
	ptx_transformed_free(u);
	ptx_transformed_free(t);
	free(two);
	free(one);
}

/* Several processes write the same and other entries, and read: never anything but right. */
static void many_writers(void **state)
{
	char *text[3];
	struct ptx_transformed *t[3], *got;
	pid_t child[4];
	uint64_t bytes;
	char path[512];
	int status;

	(void)state;
	for (int i = 0; i < 3; i++) {
		text[i] = module((unsigned int)i + 1, 80);
		t[i] = transform(text[i]);
	}
	for (int c = 0; c < 4; c++) {
		child[c] = fork();
		assert_true(child[c] >= 0);
		if (child[c])
			continue;
		for (int n = 0; n < 60; n++) {
			int i = (n + c) % 3;

			if (n % 10 == 9 && files(path, sizeof(path), &bytes) > 0)
				truncate(path, 100);
			put(text[i], t[i]);
			got = get(text[i]);
			if (got &&
			    (got->len != t[i]->len || memcmp(got->text, t[i]->text, got->len)))
				_exit(1);
			ptx_transformed_free(got);
		}
		_exit(0);
	}
	for (int c = 0; c < 4; c++) {
		assert_int_equal(waitpid(child[c], &status, 0), child[c]);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < 3; i++) {
		put(text[i], t[i]);
		got = get(text[i]);
		assert_non_null(got);
		same(got, t[i]);
		ptx_transformed_free(got);
		ptx_transformed_free(t[i]);
		free(text[i]);
	}
	/* No part of a file is left over. */
	assert_int_equal(files(NULL, 0, &bytes), 3);
}

/* The bound holds, and what was used longest ago goes first. */
static void bounded(void **state)
{
	char *text[6], max[32], path[512];
	struct ptx_transformed *t[6], *got;
	uint64_t bytes, one;

	(void)state;
	for (int i = 0; i < 6; i++) {
		text[i] = module((unsigned int)i + 1, 80);
		t[i] = transform(text[i]);
	}
	put(text[0], t[0]);
	files(path, sizeof(path), &one);
	snprintf(max, sizeof(max), "%llu", (unsigned long long)(one * 7 / 2));
	setenv("GPUSHARE_CACHE_MAX", max, 1);
	for (int i = 1; i < 6; i++) {
		usleep(20000); /* the clock of the file system's times */
		put(text[i], t[i]);
		usleep(20000);
		got = get(text[0]); /* used again and again: stays */
		assert_non_null(got);
		ptx_transformed_free(got);
		files(NULL, 0, &bytes);
		assert_true(bytes <= one * 7 / 2);
	}
	assert_int_equal(files(NULL, 0, &bytes), 3);
	assert_null(get(text[3]));
	for (int i = 4; i < 6; i++) {
		got = get(text[i]);
		assert_non_null(got);
		ptx_transformed_free(got);
	}
	setenv("GPUSHARE_CACHE_MAX", "0", 1);
	assert_null(get(text[0]));
	for (int i = 0; i < 6; i++) {
		ptx_transformed_free(t[i]);
		free(text[i]);
	}
}

/* A directory, or a file, that somebody else may write to is not used; nor is a link to one. */
static void not_the_users_own(void **state)
{
	char *text = module(4, 80), path[512], link[600];
	struct ptx_transformed *t = transform(text), *got;
	uint64_t bytes;

	(void)state;
	assert_int_equal(chmod(dir, 0777), 0);
	put(text, t);
	assert_int_equal(files(NULL, 0, &bytes), 0);
	assert_int_equal(chmod(dir, 0700), 0);
	put(text, t);
	assert_int_equal(files(path, sizeof(path), &bytes), 1);
	assert_int_equal(chmod(path, 0666), 0);
	assert_null(get(text));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(chmod(dir, 0770), 0);
	assert_null(get(text));
	assert_int_equal(chmod(dir, 0700), 0);
	snprintf(link, sizeof(link), "%s.link", dir);
	assert_int_equal(symlink(dir, link), 0);
	setenv("GPUSHARE_CACHE", link, 1);
	assert_null(get(text));
	unlink(link);
	setenv("GPUSHARE_CACHE", "", 1);
	assert_null(get(text));
	setenv("GPUSHARE_CACHE", dir, 1);
	got = get(text);
	assert_non_null(got);
	if (geteuid() == 0) { /* only root can make it another's */
		assert_int_equal(chown(dir, 1234, 1234), 0);
		assert_null(get(text));
		assert_int_equal(chown(dir, 0, 0), 0);
	}
	ptx_transformed_free(got);
	ptx_transformed_free(t);
	free(text);
}

/* Where files may not be that long nothing is kept, and the program goes on: to try would end it.
 */
static void no_long_files(void **state)
{
	char *text = module(4, 80);
	struct ptx_transformed *t = transform(text);
	pid_t child = fork();
	uint64_t bytes;
	int status;

	(void)state;
	assert_true(child >= 0);
	if (!child) {
		if (setrlimit(RLIMIT_FSIZE, &(struct rlimit) { 512, 512 }) < 0)
			_exit(1);
		put(text, t);
		_exit(get(text) != NULL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(files(NULL, 0, &bytes), 0);
	ptx_transformed_free(t);
	free(text);
}

/* Under XDG_CACHE_HOME, made on first use, for the user alone. */
static void made_on_first_use(void **state)
{
	char *text = module(4, 80), home[64], path[96];
	struct ptx_transformed *t = transform(text), *got;
	struct stat st;

	(void)state;
	snprintf(home, sizeof(home), "%.*s", (int)sizeof(home) - 1, dir);
	unsetenv("GPUSHARE_CACHE");
	snprintf(path, sizeof(path), "%s/deep", home);
	setenv("XDG_CACHE_HOME", path, 1);
	put(text, t);
	got = get(text);
	assert_non_null(got);
	snprintf(dir, sizeof(dir), "%s/deep/gpushare", home);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(clean(NULL), 0);
	assert_int_equal(rmdir(path), 0);
	snprintf(dir, sizeof(dir), "%s", home);
	unsetenv("XDG_CACHE_HOME");
	ptx_transformed_free(got);
	ptx_transformed_free(t);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(kept_and_found, fresh, clean),
		cmocka_unit_test_setup_teardown(damaged, fresh, clean),
		cmocka_unit_test_setup_teardown(another_texts_entry, fresh, clean),
		cmocka_unit_test_setup_teardown(many_writers, fresh, clean),
		cmocka_unit_test_setup_teardown(bounded, fresh, clean),
		cmocka_unit_test_setup_teardown(not_the_users_own, fresh, clean),
		cmocka_unit_test_setup_teardown(no_long_files, fresh, clean),
		cmocka_unit_test_setup_teardown(made_on_first_use, fresh, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
