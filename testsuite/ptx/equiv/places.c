/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workers of a persistent variant stay on the multiprocessors that its control block names, and a
 * launch whose workers are all elsewhere ends as if evicted; or so many of them stay.
 * Usage: ptx_places DRIVER
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/ptx/ctl.h"
#include "device/ptx/transform.h"
#include "driver.h"

#define TASKS 4000u
#define WORKERS 600u     /* several for each multiprocessor */
#define NOWHERE 0x7000u  /* no GPU has so many */
#define LAUNCHES_MAX 100 /* a GPU may have put all workers elsewhere */

/* Each block-task writes where it has run, plus one. */
static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry places(.param .u64 out) {\n"
	"\t.reg .b32 i, sm;\n\t.reg .b64 at;\n"
	"\tld.param.u64 at, [out];\n\tmov.u32 i, %ctaid.x;\n\tmov.u32 sm, %smid;\n"
	"\tadd.u32 sm, sm, 1;\n\tmad.wide.u32 at, i, 4, at;\n\tst.global.u32 [at], sm;\n\tret;\n}\n";

struct places {
	struct driver drv;
	struct gs_ctl *ctl;
	uint64_t ctl_device, out;
	void *variant;
	uint32_t at[TASKS];
};

static void launch(struct places *p, uint32_t sms)
{
	void *params[] = { &p->out, &p->ctl_device };

	p->ctl->own_stay = sms;
	p->ctl->stay_at = offsetof(struct gs_ctl, own_stay);
	p->ctl->done = 0;
	DO(p->drv.launch(p->variant, WORKERS, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	DO(p->drv.ctx_sync());
	if (p->ctl->next > TASKS) /* claims beyond the end */
		p->ctl->next = TASKS;
}

static void begin(struct places *p)
{
	memset(p->at, 0, sizeof(p->at));
	DO(p->drv.to_device(p->out, p->at, sizeof(p->at)));
	*p->ctl = (struct gs_ctl) { .limit = UINT32_MAX,
				    .chunk = 1,
				    .chunk_max = 1,
				    .total = TASKS,
				    .nctaid = { TASKS, 1, 1 },
				    .workers = WORKERS };
}

/* How many block-tasks have not run, or have run on none of first to end - 1. */
static unsigned count_elsewhere(struct places *p, uint32_t first, uint32_t end)
{
	unsigned wrong = 0;

	DO(p->drv.to_host(p->at, p->out, sizeof(p->at)));
	for (unsigned i = 0; i < TASKS; i++)
		wrong += p->at[i] < first + 1 || p->at[i] > end;
	return wrong;
}

static int stay(struct places *p, uint32_t first, uint32_t end)
{
	unsigned launches = 0, wrong;

	begin(p);
	do
		launch(p, gs_ctl_sms(first, end));
	while (p->ctl->next < TASKS && ++launches < LAUNCHES_MAX);
	wrong = count_elsewhere(p, first, end);
	if (p->ctl->done == 1 && !wrong)
		return 0;
	fprintf(stderr, "FAIL: multiprocessors %u to %u: %llu claimed, done %u, %u elsewhere\n",
		first, end - 1, (unsigned long long)p->ctl->next, p->ctl->done, wrong);
	return 1;
}

/* Two workers of all do it, which are on two multiprocessors at most. */
static int few(struct places *p)
{
	unsigned places = 0;

	begin(p);
	launch(p, gs_ctl_part(1));
	if (p->ctl->done == 1 && !count_elsewhere(p, 0, NOWHERE))
		for (unsigned i = 0; i < TASKS; i++) {
			unsigned before = 0;

			while (before < i && p->at[before] != p->at[i])
				before++;
			places += before == i;
		}
	if (places == 1 || places == 2)
		return 0;
	fprintf(stderr, "FAIL: two workers: %llu claimed, done %u, on %u multiprocessors\n",
		(unsigned long long)p->ctl->next, p->ctl->done, places);
	return 1;
}

/* Nobody claims; the next launch does it all. */
static int leave(struct places *p)
{
	begin(p);
	launch(p, gs_ctl_sms(NOWHERE, NOWHERE + 1));
	if (p->ctl->next || p->ctl->done || p->ctl->exited) {
		fprintf(stderr, "FAIL: on no multiprocessor: %llu claimed, done %u, %u left\n",
			(unsigned long long)p->ctl->next, p->ctl->done, p->ctl->exited);
		return 1;
	}
	launch(p, 0);
	if (p->ctl->done == 1 && !count_elsewhere(p, 0, NOWHERE))
		return 0;
	fprintf(stderr, "FAIL: the launch after it did not end\n");
	return 1;
}

int main(int argc, char **argv)
{
	static struct places p;
	struct gs_error err = { "" };
	struct ptx_transformed *t = ptx_transform_only(
		text, sizeof(text) - 1, PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT), 1, &err);
	void *module, *host;
	char name[40];
	int wrong;

	if (argc != 2 || !t || t->kernel[0].transform != PTX_TRANSFORM_PERSISTENT) {
		fprintf(stderr,
			argc != 2 ? "Usage: ptx_places DRIVER\n" : "FAIL: not transformed: %s\n",
			err.text);
		return 1;
	}
	driver_open(&p.drv, argv[1]);
	DO(p.drv.host_alloc(&host, sizeof(*p.ctl), 2 /* mapped */));
	DO(p.drv.host_device(&p.ctl_device, host, 0));
	p.ctl = host;
	DO(p.drv.mem_alloc(&p.out, sizeof(p.at)));
	DO(p.drv.module_load(&module, t->text));
	snprintf(name, sizeof(name), "places%s", ptx_transform_suffix(PTX_TRANSFORM_PERSISTENT));
	DO(p.drv.module_function(&p.variant, module, name));
	wrong = stay(&p, 0, 1) + stay(&p, 1, 2) + stay(&p, 0, 2) + few(&p) + leave(&p);
	ptx_transformed_free(t);
	if (wrong)
		return 1;
	printf("workers stay where they may\n");
	return 0;
}
