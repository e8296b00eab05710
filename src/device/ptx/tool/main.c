/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-ptx: how preemptible are the kernels of a PTX file, and the transformed file itself. */
#define _GNU_SOURCE
#include "config.h"
#include "device/ptx/tool/tool.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/read_file.h"
#include "device/inspect/inspect.h"

/* Much more PTX than any module has, well below what would exhaust a host. */
#define INPUT_MAX ((size_t)1 << 30)

enum command { INFO, TRANSFORM, CHECK, GUARD, NCOMMAND };

static const char *const commands[NCOMMAND] = { "info", "transform", "check", "guard" };

struct request {
	enum command command;
	const char *path;
	int json;
	uint32_t sm;      /* 0: not asked for */
	uint32_t threads; /* of a block; 0: not asked for */
	uint32_t transforms;
	int every;
	struct tool_guard guard;
};

static void usage(FILE *to)
{
	fputs("Usage: gpushare-ptx [OPTION...] COMMAND [FILE]\n"
	      "       gpushare-ptx [OPTION...] guard FILE KERNEL OUT\n"
	      "\n"
	      "  info       the form that each kernel gets, or why it stays as it is\n"
	      "  transform  the transformed module, on standard output\n"
	      "  check      the kernels that stay as they are; status 1 if there are any\n"
	      "  guard      machine code of a kernel with a guard, as a cubin in the file OUT\n"
	      "\n"
	      "FILE holds PTX, or for info, check and guard is a program, a library, a fatbin or a\n"
	      "cubin; without it, or with -, standard input is read.\n"
	      "\n"
	      "  -f, --form     persistent, guarded or sliced: this form or none; several, with\n"
	      "                 commas: the best of them; all: each that the kernel may have;\n"
	      "                 sync-aware: persistent, also where that is not proved on a GPU\n"
	      "  -j, --json     report as JSON (transform: on standard error)\n"
	      "  -s, --sm       what a program gets on devices of this compute capability (90);\n"
	      "                 check of PTX: what ptxas makes of it for that\n"
	      "  -b, --block    threads of a block, for check --sm (256, or the kernel's own bound)\n"
	      "  -g, --guard    of guard: maxb, where each block asks (the usual), or maxt, where\n"
	      "                 groups of blocks do\n"
	      "  -c, --clusters of guard: the kernel is launched in clusters\n"
	      "  -h, --help     print this and leave\n"
	      "  -V, --version  print the version and leave\n",
	      to);
}

/* The set of forms that the first n characters name; 0: none. */
static uint32_t form_of(const char *word, size_t n)
{
	if (n == 3 && strncmp(word, "all", n) == 0)
		return PTX_TRANSFORMS_ALL;
	if (n == 10 && strncmp(word, "sync-aware", n) == 0)
		return PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT) | PTX_TRANSFORMS_SYNC_AWARE;
	for (unsigned f = PTX_TRANSFORM_PERSISTENT; f < PTX_TRANSFORM_COUNT; f++) {
		const char *name = ptx_transform_name((enum ptx_transform_kind)f);

		if (strlen(name) == n && strncmp(name, word, n) == 0)
			return PTX_TRANSFORM_BIT(f);
	}
	return 0;
}

/* "persistent,sliced" or "all"; -1: no such form. */
static int parse_forms(struct request *r, const char *words)
{
	r->transforms = 0;
	r->every = 0;
	while (*words) {
		size_t n = strcspn(words, ",");
		uint32_t transforms = form_of(words, n);

		if (!transforms)
			return -1;
		r->transforms |= transforms;
		r->every |= transforms == PTX_TRANSFORMS_ALL;
		words += n + (words[n] == ',');
	}
	return r->transforms ? 0 : -1;
}

/* A number between low and high; 0: it is none. */
static uint32_t parse_number(const char *word, uint32_t low, uint32_t high)
{
	char *end;
	unsigned long n = strtoul(word, &end, 10);

	return *word >= '0' && *word <= '9' && !*end && n >= low && n <= high ? (uint32_t)n : 0;
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

static int wrong(const char *option, const char *value, const char *wanted)
{
	fprintf(stderr, "gpushare-ptx: --%s %s: not %s\n", option, value, wanted);
	return TOOL_ERROR;
}

/* One option; -1: go on, otherwise the status to leave with. */
static int parse_option(struct request *r, int c)
{
	switch (c) {
	case 'b':
		r->threads = parse_number(optarg, 1, 1024);
		return r->threads ? -1 : wrong("block", optarg, "a number from 1 to 1024");
	case 'c':
		r->guard.clusters = 1;
		return -1;
	case 'g':
		return cubin_guard_find(optarg, &r->guard.kind) < 0 ?
			       wrong("guard", optarg, "maxb or maxt") :
			       -1;
	case 'f':
		return parse_forms(r, optarg) < 0 ?
			       wrong("form", optarg,
				     "persistent, guarded, sliced, sync-aware or all") :
			       -1;
	case 'j':
		r->json = 1;
		return -1;
	case 's':
		r->sm = parse_number(optarg, 10, 1000);
		return r->sm ? -1 : wrong("sm", optarg, "a number like 90");
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
}

/* -1: go on; otherwise the status to leave with. */
static int parse_arguments(int argc, char **argv, struct request *r)
{
	static const struct option options[] = {
		{ "block", required_argument, NULL, 'b' },
		{ "clusters", no_argument, NULL, 'c' },
		{ "guard", required_argument, NULL, 'g' },
		{ "form", required_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "sm", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c, rc = -1;

	while (rc < 0 && (c = getopt_long(argc, argv, "b:cf:g:js:hV", options, NULL)) != -1)
		rc = parse_option(r, c);
	if (rc >= 0)
		return rc;
	if (optind >= argc || find_command(argv[optind], &r->command) < 0 ||
	    (r->command == GUARD ? argc - optind != 4 : argc - optind > 2)) {
		usage(stderr);
		return TOOL_ERROR;
	}
	if (r->command == GUARD) {
		r->guard.path = argv[optind + 1];
		r->guard.kernel = argv[optind + 2];
		r->guard.out = argv[optind + 3];
	}
	r->path = optind + 1 < argc ? argv[optind + 1] : "-";
	return -1;
}

static int report(const struct request *r, FILE *to, const struct ptx_transformed *t)
{
	return r->json ? tool_report_json(to, r->path, t, NULL) : tool_report_text(to, r->path, t);
}

/* variants: by kernel, or NULL. */
static int print_check(const struct request *r, const struct ptx_transformed *t,
		       json_t *const *variants)
{
	if (r->json)
		return tool_report_json(stdout, r->path, t, variants);
	for (uint32_t i = 0; i < t->nkernel; i++) {
		const struct ptx_kernel *k = &t->kernel[i];

		if (k->transform == PTX_TRANSFORM_AS_IS)
			printf("%s:%u: %s %s\n", r->path, k->reason_line, k->name,
			       ptx_reason_words(k->reason));
		else if (variants)
			tool_print_variants(stdout, k, variants[i]);
	}
	return fflush(stdout);
}

/* The status to leave with; -1: the output cannot be written. */
static int check(const struct request *r, const struct ptx_transformed *t)
{
	struct gs_error err = { "" };
	struct tool_codes codes = { 0 };
	json_t **variants = NULL;
	uint32_t kept = 0;
	int rc;

	if (r->sm) {
		rc = tool_knows_sm(r->sm) ?
			     tool_assemble(&codes, t->text, t->len, r->sm, &err) :
			     gs_fail(&err, "compute capability %u is not known", r->sm);
		variants = rc < 0 ? NULL : calloc(t->nkernel + 1, sizeof(*variants));
		if (!variants) {
			fprintf(stderr, "gpushare-ptx: %s: %s\n", r->path,
				rc < 0 ? err.text : "no memory");
			tool_codes_free(&codes);
			return TOOL_ERROR;
		}
		for (uint32_t i = 0; i < t->nkernel; i++) {
			variants[i] = tool_variants(&t->kernel[i], &codes, r->sm, r->threads);
			kept += tool_is_kept(variants[i]);
		}
	}
	rc = print_check(r, t, variants);
	for (uint32_t i = 0; variants && i < t->nkernel; i++)
		json_decref(variants[i]);
	free(variants);
	tool_codes_free(&codes);
	return rc < 0 ? -1 : tool_count_as_is(t) || kept ? TOOL_NOT_PREEMPTIBLE : TOOL_OK;
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
	return rc;
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
		report = gs_inspect_transforms(r->path, data, len, r->sm, r->transforms, &err);
	if (!report) {
		fprintf(stderr, "gpushare-ptx: %s: %s\n", r->path, err.text);
		return TOOL_ERROR;
	}
	if (!r->json)
		rc = gs_inspect_print(stdout, report, r->command == CHECK);
	else
		rc = json_dumpf(report, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF &&
				     fflush(stdout) == 0 ?
			     0 :
			     -1;
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
	struct request r = { .transforms = PTX_TRANSFORMS_LAUNCHED };
	struct gs_error err;
	struct ptx_transformed *t = NULL;
	char *text;
	size_t len;
	int rc = parse_arguments(argc, argv, &r);

	if (rc >= 0)
		return rc;
	text = gs_read_input(r.path, INPUT_MAX, &len, &err);
	if (text && r.command == GUARD) {
		rc = tool_guard(&r.guard, text, len);
		free(text);
		return rc;
	}
	if (text && gs_inspect_handles(text, len)) {
		rc = inspect(&r, text, len);
		free(text);
		return rc;
	}
	if (text) {
		t = ptx_transform_only(text, len, r.transforms, r.every, &err);
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
