/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench: what sharing costs and gains, measured with real programs on
 * the GPU or on the emulated device.
 */
#define _GNU_SOURCE
#include <config.h>

#include <signal.h>
#include <string.h>

#include "gpushare/bench/bench.h"
#include "gpushare/bench/workers.h"
#include "gpushare/bench/mixes_workers.h"
#include "gpushare/bench/worker.h"

static const struct bench_verb *const verbs[] = {
	&bench_verb_mix,      &bench_verb_mixes,    &bench_verb_pair,     &bench_verb_periodic,
	&bench_verb_handover, &bench_verb_eviction, &bench_verb_overhead, &bench_verb_slices,
	&bench_verb_corun,    &bench_verb_launch,   &bench_verb_memory,   &bench_verb_copies,
	&bench_verb_daemon,
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static void interrupt(int sig)
{
	(void)sig;
	bench_interrupted = 1;
}

static int help(FILE *out)
{
	fprintf(out, "usage: gpushare-bench VERB [OPTION]...\n\n"
		     "Measure what sharing a GPU costs and gains, with real programs.\n\n");
	for (size_t i = 0; i < VERB_COUNT; i++)
		fprintf(out, "  %-10s %s\n", verbs[i]->name, verbs[i]->words);
	fprintf(out, "\n  -h, --help     print this text; after a verb, what it takes\n"
		     "  -V, --version  print the version\n");
	return out == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = interrupt };

	if (argc < 2)
		return help(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return help(stdout);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		printf("gpushare-bench %s\n", PACKAGE_VERSION);
		return 0;
	}
	if (strcmp(argv[1], "program") == 0)
		return bench_worker(argc - 1, argv + 1);
	if (strcmp(argv[1], "mixes-program") == 0)
		return mixes_program(argc - 1, argv + 1);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (strcmp(argv[1], verbs[i]->name) == 0)
			return verbs[i]->run(argc - 1, argv + 1);
	bench_fail("'%.40s' is no verb", argv[1]);
	return help(stderr);
}
