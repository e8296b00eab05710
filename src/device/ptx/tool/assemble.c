/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running ptxas and reading what it says about each entry; see code.h. */
#define _GNU_SOURCE
#include "device/ptx/tool/code.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define USUAL_PTXAS "/usr/local/cuda/bin/ptxas"

extern char **environ;

/* PTX ISA, "Release Notes": the first version that knows an architecture. */
static const struct {
	uint32_t sm, major, minor;
} first_isa[] = {
	{ 120, 8, 7 }, { 100, 8, 6 }, { 90, 7, 8 }, { 89, 7, 8 },
	{ 87, 7, 4 },  { 86, 7, 1 },  { 80, 7, 0 }, { 75, 6, 3 },
};

/* The text in a file of its own, its version raised to one that the assembler takes for sm. */
static int write_text(const char *path, const char *text, size_t len, uint32_t sm)
{
	const char *version = memmem(text, len, ".version", 8), *rest = text;
	unsigned major = 0, minor = 0;
	FILE *to = fopen(path, "we");
	int n = 0;

	if (!to)
		return -1;
	if (version && sscanf(version, ".version %u.%u%n", &major, &minor, &n) == 2 && n)
		for (size_t i = 0; i < sizeof(first_isa) / sizeof(first_isa[0]); i++) {
			if (sm < first_isa[i].sm)
				continue;
			if (major * 10 + minor < first_isa[i].major * 10 + first_isa[i].minor) {
				fwrite(text, 1, (size_t)(version - text), to);
				fprintf(to, ".version %u.%u", first_isa[i].major,
					first_isa[i].minor);
				rest = version + n;
			}
			break;
		}
	fwrite(rest, 1, len - (size_t)(rest - text), to);
	return ferror(to) | fclose(to) ? -1 : 0;
}

/* Its words go to the pipe; the process, or -1 with errno. */
static pid_t start(const char *program, const char *text, const char *arch, int to)
{
	char *argv[] = { (char *)(uintptr_t)program,
			 (char *)(uintptr_t) "-v",
			 (char *)(uintptr_t)arch,
			 (char *)(uintptr_t) "-o",
			 (char *)(uintptr_t) "/dev/null",
			 (char *)(uintptr_t)text,
			 NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int rc;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, to, STDERR_FILENO);
	rc = posix_spawnp(&pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	errno = rc;
	return rc ? -1 : pid;
}

static struct tool_code *add(struct tool_codes *codes, const char *name, size_t len)
{
	struct tool_code *grown = realloc(codes->code, (codes->n + 1) * sizeof(*grown));

	if (!grown)
		return NULL;
	codes->code = grown;
	grown[codes->n] = (struct tool_code) { .name = strndup(name, len) };
	return grown[codes->n].name ? &grown[codes->n++] : NULL;
}

/* Which entry or function the next lines are about, and what they say. */
struct reading {
	struct tool_codes *codes;
	struct tool_code *entry;
	int of_entry;        /* the properties that follow are the entry's own */
	char complaint[160]; /* the first line that is an error */
};

static void read_line(struct reading *r, char *line)
{
	char *at;
	unsigned stores, loads;

	line[strcspn(line, "\n")] = '\0';
	if ((at = strstr(line, "Compiling entry function '"))) {
		at += strlen("Compiling entry function '");
		r->entry = add(r->codes, at, strcspn(at, "'"));
	} else if ((at = strstr(line, "Function properties for "))) {
		r->of_entry = r->entry &&
			      strcmp(at + strlen("Function properties for "), r->entry->name) == 0;
	} else if ((at = strstr(line, "bytes stack frame, "))) {
		if (r->of_entry &&
		    sscanf(at, "bytes stack frame, %u bytes spill stores, %u bytes spill loads",
			   &stores, &loads) == 2)
			r->entry->spilled = stores + loads;
	} else if ((at = strstr(line, "Used "))) {
		if (r->entry)
			r->entry->registers = (uint32_t)strtoul(at + 5, NULL, 10);
		at = strstr(at, " bytes smem");
		while (at && at > line && at[-1] >= '0' && at[-1] <= '9')
			at--;
		if (r->entry && at)
			r->entry->shared = (uint32_t)strtoul(at, NULL, 10);
	} else if (!r->complaint[0] && (strstr(line, "error") || strstr(line, "fatal"))) {
		snprintf(r->complaint, sizeof(r->complaint), "%s", line);
	}
}

/* The path of the text is none of the reader's business: "line 7; error : ..." remains. */
static const char *without_path(const char *complaint)
{
	const char *at = strstr(complaint, ", line ");

	return at ? at + 2 : complaint;
}

static int read_output(struct tool_codes *codes, int from, pid_t pid, struct gs_error *err)
{
	struct reading r = { .codes = codes };
	FILE *in = fdopen(from, "r");
	char *line = NULL;
	size_t room = 0;
	int status = -1;

	while (in && getline(&line, &room, in) >= 0)
		read_line(&r, line);
	free(line);
	if (in)
		fclose(in);
	else
		close(from);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return gs_fail(err, "ptxas: %s",
		       r.complaint[0] ? without_path(r.complaint) : "it failed without a word");
}

static int run(struct tool_codes *codes, const char *path, uint32_t sm, struct gs_error *err)
{
	char arch[40];
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return gs_fail_errno(err, "pipe");
	snprintf(arch, sizeof(arch), "-arch=sm_%u", sm);
	pid = start("ptxas", path, arch, ends[1]);
	if (pid < 0 && errno == ENOENT)
		pid = start(USUAL_PTXAS, path, arch, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		gs_fail_errno(err, "ptxas");
		close(ends[0]);
		return -1;
	}
	return read_output(codes, ends[0], pid, err);
}

int tool_assemble(struct tool_codes *codes, const char *text, size_t len, uint32_t sm,
		  struct gs_error *err)
{
	const char *folder = getenv("TMPDIR");
	char *path = NULL;
	int fd, rc = -1;

	memset(codes, 0, sizeof(*codes));
	if (asprintf(&path, "%s/gpushare-ptx.XXXXXX", folder ? folder : P_tmpdir) < 0)
		return gs_fail(err, "no memory");
	fd = mkstemp(path);
	if (fd < 0) {
		gs_fail_errno(err, "%s", path);
		free(path);
		return -1;
	}
	close(fd);
	if (write_text(path, text, len, sm) < 0)
		gs_fail_errno(err, "%s", path);
	else
		rc = run(codes, path, sm, err);
	unlink(path);
	free(path);
	if (rc < 0)
		tool_codes_free(codes);
	return rc;
}

void tool_codes_free(struct tool_codes *codes)
{
	for (uint32_t i = 0; i < codes->n; i++)
		free(codes->code[i].name);
	free(codes->code);
	memset(codes, 0, sizeof(*codes));
}

const struct tool_code *tool_code_find(const struct tool_codes *codes, const char *name,
				       const char *suffix)
{
	size_t n = strlen(name);

	for (uint32_t i = 0; i < codes->n; i++)
		if (strncmp(codes->code[i].name, name, n) == 0 &&
		    strcmp(codes->code[i].name + n, suffix) == 0)
			return &codes->code[i];
	return NULL;
}
