/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-emu: a program on the emulated device, the shim in front of it and
 * no daemon anywhere; on request its kernels are evicted over and over.
 */
#define _GNU_SOURCE
#include "config.h"
#include "device/emu/tool/tool.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/options.h"
#include "common/units.h"

#define OURSELVES 125 /* a failure of this tool's own; as env(1) and timeout(1) say it */
#define USAGE_STATUS 2
/* What the device takes (device.h). */
#define SMS_MAX 256
#define BLOCKS_MAX 64
#define MEMORY_MIN (UINT64_C(1) << 20)
#define MEMORY_MAX (UINT64_C(1) << 44)
#define EVICT_MAX_MS 86400000

/* An option that the device or the shim reads as a variable. */
struct setting {
	const char *variable;
	int64_t least, most;
	const char *otherwise; /* where it is not given; NULL: no such variable */
	char value[24];        /* empty: not given */
};

enum { EVICT_MS, EVICT_TASKS, EVICT_SEED, SMS, BLOCKS_PER_SM, MEMORY, SETTINGS };

static struct setting settings[SETTINGS] = {
	[EVICT_MS] = { "GPUSHARE_FORCE_EVICT_MS", 1, EVICT_MAX_MS, "0", "" },
	[EVICT_TASKS] = { "GPUSHARE_FORCE_EVICT_TASKS", 1, INT64_MAX, NULL, "" },
	[EVICT_SEED] = { "GPUSHARE_FORCE_EVICT_SEED", 0, INT64_MAX, NULL, "" },
	[SMS] = { "GPUSHARE_EMU_SMS", 1, SMS_MAX, NULL, "" },
	[BLOCKS_PER_SM] = { "GPUSHARE_EMU_BLOCKS_PER_SM", 1, BLOCKS_MAX, NULL, "" },
	[MEMORY] = { "GPUSHARE_EMU_MEMORY", MEMORY_MIN, MEMORY_MAX, NULL, "" },
};

struct request {
	int deterministic;
	const char *json;
	char **argv;
};

/* The private folder: the device, and what the shim has to say. */
struct folder {
	char path[PATH_MAX], device[PATH_MAX + 16], summary[PATH_MAX + 16];
};

static void usage(FILE *to)
{
	fputs("Usage: gpushare-emu [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	      "Run a CUDA program on the emulated device, under gpushare's shim, without a daemon.\n"
	      "\n"
	      "      --sms N             multiprocessors of the device\n"
	      "      --blocks-per-sm N   blocks that a multiprocessor holds at once (2)\n"
	      "      --memory SIZE       device memory (1G)\n"
	      "      --deterministic     one order of execution, whatever the time on this computer\n"
	      "      --json FILE         the summary as JSON into FILE instead of standard error\n"
	      "  -h, --help              print this and leave\n"
	      "  -V, --version           print the version and leave\n"
	      "\n"
	      "Make kernels leave the device again and again, one of:\n"
	      "      --evict-every-ms N     once they have run for N ms\n"
	      "      --evict-every-tasks K  once they have done K block-tasks\n"
	      "      --evict-seed S         after numbers of block-tasks at random, the same for the same S\n"
	      "\n"
	      "The exit status is the program's; 128 + N if signal N ended it.\n",
	      to);
}

static int set_number(void *of, const char *text, struct gs_error *err)
{
	struct setting *to = of;
	int64_t n;

	if (gs_parse_int(text, to->least, to->most, &n, err) < 0)
		return -1;
	snprintf(to->value, sizeof(to->value), "%" PRId64, n);
	return 0;
}

static int set_size(void *of, const char *text, struct gs_error *err)
{
	struct setting *to = of;
	uint64_t bytes;

	if (gs_parse_size(text, &bytes, err) < 0)
		return -1;
	if (bytes < (uint64_t)to->least || bytes > (uint64_t)to->most)
		return gs_fail(err, "%s: the device's memory is 1M to 16T", text);
	snprintf(to->value, sizeof(to->value), "%" PRIu64, bytes);
	return 0;
}

static int complain(const char *words)
{
	fprintf(stderr, "gpushare-emu: %s\nTry gpushare-emu --help.\n", words);
	return USAGE_STATUS;
}

/* -1: go on; otherwise the status to leave with. */
static int parse(int argc, char **argv, struct request *r)
{
	int version = 0;
	const struct gs_option options[] = {
		{ "sms", .take = set_number, .of = &settings[SMS] },
		{ "blocks-per-sm", .take = set_number, .of = &settings[BLOCKS_PER_SM] },
		{ "memory", .take = set_size, .of = &settings[MEMORY] },
		{ "evict-every-ms", .take = set_number, .of = &settings[EVICT_MS] },
		{ "evict-every-tasks", .take = set_number, .of = &settings[EVICT_TASKS] },
		{ "evict-seed", .take = set_number, .of = &settings[EVICT_SEED] },
		{ "deterministic", .given = &r->deterministic },
		{ "json", .text = &r->json },
		{ "version", 'V', .given = &version },
		{ NULL },
	};
	struct gs_error err;
	int rc = gs_options_take(options, 1, argc, argv, &err), ways = 0;

	if (rc < 0)
		return complain(err.text);
	if (rc == 0)
		usage(stdout);
	else if (version)
		puts("gpushare-emu " PACKAGE_VERSION);
	if (rc == 0 || version)
		return 0;
	for (int i = EVICT_MS; i <= EVICT_SEED; i++)
		ways += *settings[i].value != 0;
	if (ways > 1)
		return complain(
			"--evict-every-ms, --evict-every-tasks and --evict-seed exclude each other");
	if (optind == argc)
		return complain("which program?");
	r->argv = argv + optind;
	return -1;
}

static int make_folder(struct folder *f, struct gs_error *err)
{
	const char *tmp = getenv("TMPDIR");

	if ((size_t)snprintf(f->path, sizeof(f->path), "%s/gpushare-emu-XXXXXX",
			     tmp && *tmp ? tmp : "/tmp") >= sizeof(f->path))
		return gs_fail(err, "TMPDIR is too long");
	if (!mkdtemp(f->path))
		return gs_fail_errno(err, "cannot make %s", f->path);
	snprintf(f->device, sizeof(f->device), "%s/device", f->path);
	snprintf(f->summary, sizeof(f->summary), "%s/summary", f->path);
	return 0;
}

static void remove_folder(const struct folder *f)
{
	unlink(f->device);
	unlink(f->summary);
	rmdir(f->path);
}

static int set_environment(const struct request *r, const struct emu_places *p,
			   const struct folder *f, struct gs_error *err)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char *path = NULL;
	int rc;

	if (asprintf(&path, "%s:%s%s%s", p->shim_dir, p->cudart_dir, old && *old ? ":" : "",
		     old ? old : "") < 0)
		return gs_fail(err, "out of memory");
	/* Inside a job the daemon would decide; take its variables out of the environment. */
	rc = unsetenv("GPUSHARE_SOCKET") | setenv("LD_LIBRARY_PATH", path, 1) |
	     setenv("GPUSHARE_DRIVER", p->driver, 1) |
	     setenv("GPUSHARE_EMU_DETERMINISTIC", r->deterministic ? "1" : "0", 1) |
	     setenv("GPUSHARE_SUMMARY", f->summary, 1) |
	     setenv("GPUSHARE_EMU_DEVICE", f->device, 1);
	for (const struct setting *t = settings; t < settings + SETTINGS; t++) {
		const char *value = *t->value ? t->value : t->otherwise;

		rc |= value ? setenv(t->variable, value, 1) : unsetenv(t->variable);
	}
	free(path);
	return rc ? gs_fail_errno(err, "cannot set the environment") : 0;
}

int main(int argc, char **argv)
{
	struct request r = { .json = NULL };
	struct gs_error err = { "" };
	struct emu_places places;
	struct folder folder;
	int status = parse(argc, argv, &r);

	if (status >= 0)
		return status;
	if (emu_places_find(&places, &err) < 0 || make_folder(&folder, &err) < 0) {
		fprintf(stderr, "gpushare-emu: %s\n", err.text);
		return OURSELVES;
	}
	if (set_environment(&r, &places, &folder, &err) == 0)
		status = gs_child_run("gpushare-emu", r.argv, &err);
	if (status >= 0)
		emu_summary(folder.summary, r.json, r.argv[0], status, &err);
	else
		status = OURSELVES;
	/*
	 * A failure to write the summary changes the exit status only if the program's own status
	 * was 0.
	 */
	if (err.text[0]) {
		fprintf(stderr, "gpushare-emu: %s\n", err.text);
		if (status == 0)
			status = OURSELVES;
	}
	remove_folder(&folder);
	return status;
}
