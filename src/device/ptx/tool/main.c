/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-ptx: how preemptible are the kernels of a PTX file, and the transformed file itself. */
#define _GNU_SOURCE
#include "config.h"
#include "device/ptx/tool/tool.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "device/fatbin/inspect.h"

enum command { INFO, TRANSFORM, CHECK, NCOMMAND };

static const char *const commands[NCOMMAND] = { "info", "transform", "check" };

struct request {
	enum command command;
	const char *path;
	int json;
	uint32_t sm; /* of programs, fatbins and cubins; 0: any device */
};

static void usage(FILE *to)
{
	fputs("Usage: gpushare-ptx [--json] [--sm NUMBER] COMMAND [FILE]\n"
	      "\n"
	      "  info       the form that each kernel gets, or why it stays as it is\n"
	      "  transform  the transformed module, on standard output\n"
	      "  check      the kernels that stay as they are; status 1 if there are any\n"
	      "\n"
	      "FILE holds PTX, or for info and check is a program, a library, a fatbin or a\n"
	      "cubin; without it, or with -, standard input is read.\n"
	      "\n"
	      "  -j, --json     report as JSON (transform: on standard error)\n"
	      "  -s, --sm       what a program gets on devices of this compute capability (90)\n"
	      "  -h, --help     print this and leave\n"
	      "  -V, --version  print the version and leave\n", to);
}

static int find_command(const char *word, enum command *command)
{
	for (int i = 0; i < NCOMMAND; i++)
		if (strcmp(word, commands[i]) == 0) {
			*command = (enum command)i;
			return 0;
		}
	return -1;
}

/* -1: go on; otherwise the status to leave with. */
static int parse_arguments(int argc, char **argv, struct request *r)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, { "sm", required_argument, NULL, 's' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 },
	};
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "js:hV", options, NULL)) != -1)
		switch (c) {
		case 'j':
			r->json = 1;
			break;
		case 's':
			r->sm = (uint32_t)strtoul(optarg, &end, 10);
			if (*end || r->sm < 10 || r->sm > 1000) {
				fprintf(stderr, "gpushare-ptx: --sm %s: not a number like 90\n", optarg);
				return TOOL_ERROR;
			}
			break;
		case 'h':
			usage(stdout);
			return TOOL_OK;
		case 'V':
			puts("gpushare-ptx " PACKAGE_VERSION);
			return TOOL_OK;
		default:
			usage(stderr);
			return TOOL_ERROR;
		}
	if (optind >= argc || argc - optind > 2 || find_command(argv[optind], &r->command) < 0) {
		usage(stderr);
		return TOOL_ERROR;
	}
	r->path = optind + 1 < argc ? argv[optind + 1] : "-";
	return -1;
}

static int report(const struct request *r, FILE *to, const struct ptx_transformed *t)
{
	return r->json ? tool_report_json(to, r->path, t) : tool_report_text(to, r->path, t);
}

static int check(const struct request *r, const struct ptx_transformed *t)
{
	if (r->json) {
		if (tool_report_json(stdout, r->path, t) < 0)
			return -1;
	} else {
		for (uint32_t i = 0; i < t->nkernel; i++)
			if (t->kernel[i].form == PTX_FORM_AS_IS)
				printf("%s:%u: %s %s\n", r->path, t->kernel[i].reason_line,
				       t->kernel[i].name, ptx_reason_words(t->kernel[i].reason));
	}
	return fflush(stdout);
}

static int run(const struct request *r, const struct ptx_transformed *t)
{
	int rc = -1;

	switch (r->command) {
	case TRANSFORM:
		rc = fwrite(t->text, 1, t->len, stdout) == t->len && fflush(stdout) == 0 ? 0 : -1;
		if (rc == 0 && r->json)
			rc = report(r, stderr, t);
		break;
	case CHECK:
		rc = check(r, t);
		break;
	default:
		rc = report(r, stdout, t);
	}
	if (rc < 0) {
		fputs("gpushare-ptx: cannot write the output\n", stderr);
		return TOOL_ERROR;
	}
	return r->command == CHECK && tool_count_as_is(t) ? TOOL_NOT_PREEMPTIBLE : TOOL_OK;
}

/* A program, library, fatbin or cubin: its status to leave with. */
static int inspect(const struct request *r, const char *data, size_t len)
{
	struct gs_error err = { "" };
	json_t *report = NULL;
	int rc = TOOL_ERROR;

	if (r->command == TRANSFORM)
		gs_fail(&err, "only PTX text can be transformed");
	else
		report = gs_inspect(r->path, data, len, r->sm, &err);
	if (!report) {
		fprintf(stderr, "gpushare-ptx: %s: %s\n", r->path, err.text);
		return TOOL_ERROR;
	}
	if (!r->json)
		rc = gs_inspect_print(stdout, report, r->command == CHECK);
	else
		rc = json_dumpf(report, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF &&
		     fflush(stdout) == 0 ? 0 : -1;
	if (rc < 0) {
		fputs("gpushare-ptx: cannot write the output\n", stderr);
		rc = TOOL_ERROR;
	} else if (json_object_get(report, "error")) {
		rc = TOOL_ERROR;
	} else if (r->command == CHECK && json_integer_value(json_object_get(report, "as_is"))) {
		rc = TOOL_NOT_PREEMPTIBLE;
	}
	json_decref(report);
	return rc;
}

int main(int argc, char **argv)
{
	struct request r = { 0 };
	struct gs_error err;
	struct ptx_transformed *t = NULL;
	char *text;
	size_t len;
	int rc = parse_arguments(argc, argv, &r);

	if (rc >= 0)
		return rc;
	text = tool_read(r.path, &len, &err);
	if (text && gs_inspect_handles(text, len)) {
		rc = inspect(&r, text, len);
		free(text);
		return rc;
	}
	if (text) {
		t = ptx_transform(text, len, &err);
		if (!t)
			fprintf(stderr, "gpushare-ptx: %s: %s\n", r.path, err.text);
	} else {
		fprintf(stderr, "gpushare-ptx: %s\n", err.text);
	}
	rc = t ? run(&r, t) : TOOL_ERROR;
	ptx_transformed_free(t);
	free(text);
	return rc;
}
