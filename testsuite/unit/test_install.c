/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's configuration files as lines and values; plugins' files, damaged ones as well. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpushare/install/slurm_conf.h"

static char dir[] = "/tmp/gsinstall.XXXXXX";

static char *file(const char *name, const void *bytes, size_t size)
{
	static char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	return path;
}

static char *text_file(const char *name, const char *text)
{
	return file(name, text, strlen(text));
}

static void lines_and_values(void **state)
{
	struct gs_slurm_conf *conf;
	struct gs_error err;
	char *value;

	(void)state;
	text_file("more.conf", "PluginDir=/a:/b\nNodeName=n1 Gres=gpushare:100\n");
	conf = gs_slurm_conf_load(text_file("slurm.conf",
					    "# comment\n\n  grestypes = gpu,gpu\\\nshare # more\n"
					    "include more.conf\nEpilog=/x\\#y\nLast=1"),
				  &err);
	assert_non_null(conf);
	value = gs_slurm_conf_value(conf, "GresTypes");
	assert_string_equal(value, "gpu,gpushare");
	free(value);
	value = gs_slurm_conf_value(conf, "PluginDir");
	assert_string_equal(value, "/a:/b");
	free(value);
	value = gs_slurm_conf_value(conf, "Last");
	assert_string_equal(value, "1");
	free(value);
	assert_null(gs_slurm_conf_value(conf, "Plugin"));
	assert_null(gs_slurm_conf_value(conf, "Gres"));
	assert_string_equal(gs_slurm_conf_line(conf, 2), "NodeName=n1 Gres=gpushare:100");
	assert_string_equal(gs_slurm_conf_line(conf, 3), "Epilog=/x\\#y");
	assert_null(gs_slurm_conf_line(conf, 5));
	gs_slurm_conf_free(conf);
	value = gs_slurm_line_value("NodeName=n1 CPUs=2\tgres=gpu:1", "Gres");
	assert_string_equal(value, "gpu:1");
	free(value);
	assert_null(gs_slurm_line_value("NodeName=n1 XGres=1", "Gres"));
	assert_true(gs_word_in_list("a,gpushare,b", "GPUshare"));
	assert_false(gs_word_in_list("a,gpushare2", "gpushare"));
	assert_false(gs_word_in_list(NULL, "gpushare"));
}

static void files_that_include_each_other(void **state)
{
	struct gs_error err;

	(void)state;
	assert_null(gs_slurm_conf_load(text_file("loop.conf", "Include loop.conf\n"), &err));
	assert_non_null(strstr(err.text, "include each other"));
	assert_null(gs_slurm_conf_load(text_file("gone.conf", "Include /nonexistent/x\n"), &err));
	assert_non_null(strstr(err.text, "/nonexistent/x"));
	assert_null(gs_slurm_conf_load("/nonexistent", &err));
}

static unsigned char *read_all(const char *path, size_t *size)
{
	unsigned char *bytes = malloc(64 << 20);
	FILE *f = fopen(path, "re");

	assert_non_null(bytes);
	assert_non_null(f);
	*size = fread(bytes, 1, 64 << 20, f);
	fclose(f);
	assert_true(*size > 1000);
	return bytes;
}

/* This program is an ELF file, too, and no plugin. */
static void files_that_are_no_plugins(void **state)
{
	struct gs_plugin_file plugin;
	struct gs_error err;

	(void)state;
	assert_int_equal(gs_plugin_file_read("/proc/self/exe", &plugin, &err), -1);
	assert_non_null(strstr(err.text, "no plugin of Slurm's"));
	assert_int_equal(gs_plugin_file_read("/", &plugin, &err), -1);
	assert_int_equal(gs_plugin_file_read(text_file("text.so", "nonsense"), &plugin, &err), -1);
	assert_non_null(strstr(err.text, "no library for this machine"));
	assert_int_equal(gs_library_defines("/proc/self/exe", "no_such_symbol", &err), 0);
}

/* Whatever a file holds: an answer, never a crash. */
static void damaged_files(void **state)
{
	size_t size, tables;
	unsigned char *bytes = read_all("/proc/self/exe", &size);
	struct gs_plugin_file plugin;
	struct gs_error err;

	(void)state;
	for (size_t n = 1; n < size; n += size / 200)
		gs_plugin_file_read(file("cut.so", bytes, n), &plugin, &err);
	srandom(1);
	memcpy(&tables, bytes + 40, sizeof(tables)); /* e_shoff */
	assert_true(tables < size);
	for (int i = 0; i < 400; i++) {
		/* In the header or in the section headers: there is most to go wrong with. */
		size_t at =
			i % 2 ? (size_t)random() % 64 : tables + (size_t)random() % (size - tables);
		unsigned char was = bytes[at];

		bytes[at] = (unsigned char)random();
		gs_plugin_file_read(file("bad.so", bytes, size), &plugin, &err);
		gs_library_defines(file("bad.so", bytes, size), "main", &err);
		bytes[at] = was;
	}
	free(bytes);
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	static const char *const names[] = {
		"more.conf", "slurm.conf", "loop.conf", "gone.conf", "text.so", "cut.so", "bad.so",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_values),
		cmocka_unit_test(files_that_include_each_other),
		cmocka_unit_test(files_that_are_no_plugins),
		cmocka_unit_test(damaged_files),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
