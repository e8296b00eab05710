/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench daemon: what gpushared itself takes of a core while several
 * programs keep the GPU busy, by its processor time over the time that passes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/bench/bench.h"
#include "gpushare/bench/measure.h"

#define RUN_S 300
#define SETTLE_NS (500 * GS_NS_PER_MS)
#define WAVES_MIN 4

struct cost {
	struct bench_common common;
	struct bench_ways ways;
	struct bench_yard yard;
	uint64_t task_ns, kernel_ns, for_ns;
	uint32_t clients;
};

struct figures {
	double seconds, percent, launches_per_s, evictions_per_s, wakes_per_s;
};

/* A moment of gpushared's life. */
struct moment {
	uint64_t at_ns, cpu_ns, wakes, launches;
};

/* How often gpushared went to sleep by itself, and so was woken; 0: not known. */
static uint64_t wakes_of(pid_t pid)
{
	unsigned long long n = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static int take(const struct bench_workers *workers, struct moment *m, struct gs_error *err)
{
	pid_t pid = workers->stage->daemon;
	struct timespec ts;
	clockid_t clock;
	int rc = clock_getcpuclockid(pid, &clock);

	if (rc == 0 && clock_gettime(clock, &ts) < 0)
		rc = errno;
	if (rc) {
		errno = rc;
		return gs_fail_errno(err, "gpushared's processor time cannot be read");
	}
	*m = (struct moment) {
		.at_ns = gs_clock_ns(),
		.cpu_ns = (uint64_t)ts.tv_sec * GS_NS_PER_S + (uint64_t)ts.tv_nsec,
		.wakes = wakes_of(pid),
	};
	for (uint32_t i = 0; i < workers->count; i++)
		m->launches += workers->page->slot[i].answer.launched;
	return 0;
}

static int keep_busy(struct cost *c, struct bench_workers *workers, struct gs_error *err)
{
	uint64_t waves = bench_waves(&c->yard, c->kernel_ns);

	for (uint32_t i = 0; i < c->clients; i++) {
		bench_set_kernel(workers, i, &c->yard, waves < WAVES_MIN ? WAVES_MIN : waves);
		if (!bench_workers_alone(workers, i, 3, err))
			return -1;
	}
	for (uint32_t i = 0; i < c->clients; i++) {
		workers->page->slot[i].work.launches = 0;
		workers->page->slot[i].work.release_ns = workers->page->slot[i].work.period_ns = 0;
		bench_workers_order(workers, i, BENCH_RUN);
	}
	return 0;
}

static int measure(struct cost *c, struct bench_workers *workers, struct figures *f,
		   struct gs_error *err)
{
	struct bench_eviction *e = NULL;
	struct moment a = { 0 }, b = { 0 };
	long evictions = 0;
	int rc = keep_busy(c, workers, err);

	if (rc == 0) {
		bench_sleep_until(gs_clock_ns() + SETTLE_NS, 0);
		rc = take(workers, &a, err);
	}
	if (rc == 0) {
		bench_sleep_until(a.at_ns + c->for_ns, 0);
		rc = take(workers, &b, err);
	}
	for (uint32_t i = 0; i < c->clients; i++)
		atomic_store(&workers->page->slot[i].stop, 1);
	if (rc == 0)
		rc = bench_workers_wait_all(workers, RUN_S, err);
	if (rc == 0)
		evictions = bench_evictions(workers->stage, a.at_ns, &e, err);
	if (rc < 0 || evictions < 0)
		return -1;
	for (long i = evictions; i > 0 && e[i - 1].from_ns > b.at_ns; i--)
		evictions--;
	free(e);
	f->seconds = (double)(b.at_ns - a.at_ns) / 1e9;
	f->percent = 100 * (double)(b.cpu_ns - a.cpu_ns) / (double)(b.at_ns - a.at_ns);
	f->launches_per_s = (double)(b.launches - a.launches) / f->seconds;
	f->evictions_per_s = (double)evictions / f->seconds;
	f->wakes_per_s = (double)(b.wakes - a.wakes) / f->seconds;
	return 0;
}

static int run_way(struct cost *c, const struct bench_way *way, struct figures *f,
		   struct gs_error *err)
{
	struct bench_part part[BENCH_PROGRAMS_MAX];
	struct bench_workers workers;
	int rc;

	for (uint32_t i = 0; i < c->clients; i++)
		part[i] = (struct bench_part) { .shares = 1, .priority = 1 };
	if (bench_enter(&workers, &c->common.stage, way, part, c->clients, c->yard.memory, err) < 0)
		return -1;
	rc = measure(c, &workers, f, err);
	bench_leave(&workers, way, rc < 0);
	return rc;
}

static void print(FILE *out, const struct cost *c, const struct bench_way *way,
		  const struct figures *f, int csv)
{
	fprintf(out,
		csv ? "%s,%s,%u,%.3f,%.3f,%.1f,%.1f,%.1f,%.3f\n" :
		      "%-9s %-7s %7u %9.3f %9.1f %10.1f %11.1f %9.1f %8.2f\n",
		bench_way_isolation(way), way->policy, c->clients, (double)c->kernel_ns / 1e6,
		f->seconds, f->launches_per_s, f->evictions_per_s, f->wakes_per_s, f->percent);
	fflush(out);
}

static int run_all(void *of, FILE *csv, struct gs_error *err)
{
	struct cost *c = of;
	struct bench_way way[BENCH_WAYS_MAX];
	size_t count = bench_ways_plan(&c->ways, way);

	if (bench_calibrate_device(&c->common.stage, c->task_ns, &c->yard, err) < 0)
		return -1;
	printf("%s, CUDA driver %s: gpushared's processor time while all programs are busy\n\n"
	       "%-9s %-7s %7s %9s %9s %10s %11s %9s %8s\n",
	       c->yard.device, c->yard.driver, "isolation", "policy", "clients", "kernel ms",
	       "seconds", "launches/s", "evictions/s", "wakes/s", "% of 1");
	if (csv) {
		bench_output_head(csv, &c->common, c->yard.device, c->yard.driver);
		fprintf(csv, "isolation,policy,clients,kernel_ms,seconds,launches_per_s,"
			     "evictions_per_s,wakes_per_s,cpu_percent\n");
	}
	for (size_t i = 0; i < count; i++) {
		struct figures f;

		if (!bench_managed(way[i].share))
			continue;
		if (run_way(c, &way[i], &f, err) < 0)
			return -1;
		print(stdout, c, &way[i], &f, 0);
		if (csv)
			print(csv, c, &way[i], &f, 1);
	}
	return 0;
}

static int run(int argc, char **argv)
{
	static struct cost c = {
		.ways = { .policy = "frs,rr", .isolation = "contexts" },
		.task_ns = 50 * GS_NS_PER_US,
		.kernel_ns = 3 * GS_NS_PER_MS,
		.for_ns = 3 * GS_NS_PER_S,
		.clients = 8,
	};
	static const struct gs_option options[] = {
		{ "clients", .number = &c.clients, .least = 1, .most = BENCH_PROGRAMS_MAX },
		{ "kernel", .duration = &c.kernel_ns },
		{ "task", .duration = &c.task_ns },
		{ "for", .duration = &c.for_ns },
		BENCH_MANAGED_OPTIONS(c.ways),
		BENCH_COMMON_OPTIONS(c.common),
		{ NULL },
	};
	int status = 0;

	if (!bench_options(&bench_verb_daemon, &c.common, options, 0, argc, argv, &status))
		return status;
	if (!c.for_ns)
		return bench_usage(&bench_verb_daemon, "--for: for how long?");
	return bench_on_stage(&c.common, run_all, &c);
}

const struct bench_verb bench_verb_daemon = {
	.name = "daemon",
	.usage = "[OPTION]...",
	.words = "What gpushared takes of a core while several programs are busy",
	.help = "  -p, --policy LIST     policies (default: frs,rr)\n"
		"  -i, --isolation LIST  contexts, mps (default: contexts)\n"
		"      --clients N       busy programs (default 8)\n"
		"      --kernel MS       length of their kernels (default 3)\n"
		"      --for TIME        how long (default 3s)\n"
		"      --task MS         length of a block-task (default 50us)\n",
	.run = run,
};
