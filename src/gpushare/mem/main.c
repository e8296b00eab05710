/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-mem: what a program needs of a GPU's memory, and taking it back from one. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "gpushare/mem/mem.h"

static void help(void)
{
	fputs("Usage: gpushare-mem estimate [--json] [-D NAME[=VALUE]]... FILE...\n"
	      "       gpushare-mem checkpoint|restore|state [--driver LIBRARY] [--timeout MS] PID\n"
	      "How much GPU memory CUDA C programs allocate, from their source; moving a\n"
	      "process's GPU memory to the host and back.\n"
	      "\n"
	      "      --json            estimate: print JSON\n"
	      "  -D, --define N[=V]    estimate: a macro, as for the compiler\n"
	      "      --driver LIBRARY  the libcuda.so.1 to use (default: libcuda.so.1)\n"
	      "      --timeout MS      checkpoint: for the process to come to rest (default: 10000)\n"
	      "  -h, --help            print this and exit\n"
	      "  -V, --version         print the version and exit\n",
	      stdout);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "-h") == 0 || strcmp(verb, "--help") == 0) {
		help();
		return 0;
	}
	if (strcmp(verb, "-V") == 0 || strcmp(verb, "--version") == 0) {
		puts("gpushare-mem " PACKAGE_VERSION);
		return 0;
	}
	if (strcmp(verb, "estimate") == 0)
		return mem_run_estimate(argc - 1, argv + 1);
	if (strcmp(verb, "checkpoint") == 0 || strcmp(verb, "restore") == 0 ||
	    strcmp(verb, "state") == 0)
		return mem_run_checkpoint(argc - 1, argv + 1);
	fprintf(stderr, "gpushare-mem: %s%s%s\nTry 'gpushare-mem --help'.\n",
		*verb ? "there is no verb '" : "which verb?", verb, *verb ? "'" : "");
	return 2;
}
