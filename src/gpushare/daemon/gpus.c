/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the configured GPUs; see gpus.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/gpus.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/config/sched_options.h"
#include "gpushare/daemon/gpu/arbiter.h"
#include "gpushare/daemon/memory/dmem_steps.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/mps/mps.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/steps/priority.h"
#include "gpushare/daemon/base/step.h"

/* The first class is for partitions that name none; those of the file follow, as gs_config_class()
 * counts them. */
static size_t classes_of(const struct gs_config *c, struct gs_sched_class *class)
{
	class[0] = (struct gs_sched_class) { NULL, 0, NULL };
	for (size_t i = 0; i < c->nclass; i++)
		class[i + 1] = (struct gs_sched_class) { c->class[i].policy, c->class[i].priority,
							 c->class[i].name };
	return c->nclass + 1;
}

/* The policy of one GPU, which also decides how priorities count (sched_options.h). */
static void own_policy(struct gs_gpu_options *o, const struct gs_config *c,
		       const struct gs_config_gpu *own)
{
	o->policy = own && own->policy ? own->policy : c->policy;
	o->sched.by_priority = gs_config_sched_options(c).by_priority && !(own && own->policy);
}

/*
 * What CopyChunk=auto is, until it is measured for each way: on an H200 99 of 100 copies of 1 MiB
 * beside others' in such chunks took at most 0.16 ms, and they kept 95 % of their speed; in chunks
 * of 1 MiB 82 %.
 */
#define COPY_CHUNK (UINT64_C(4) << 20)

static struct gs_copy_options copies_of(const struct gs_config *c)
{
	uint32_t kib = (uint32_t)((c->copy_chunk == UINT64_MAX ? COPY_CHUNK : c->copy_chunk) >> 10);

	return (struct gs_copy_options) { (enum gs_copy_policy)c->copy_policy, { kib, kib } };
}

/* While one is measured alone its equals wait so long. */
#define CORUN_EPOCH_MOST (200 * GS_NS_PER_MS)

static struct gs_corun_options corun_of(const struct gs_config *c)
{
	uint32_t most = c->corun_most < GS_CORUN_CLIENTS ? c->corun_most : GS_CORUN_CLIENTS;

	uint64_t epoch_ns =
		c->corun_epoch_ns < CORUN_EPOCH_MOST ? c->corun_epoch_ns : CORUN_EPOCH_MOST;

	return (struct gs_corun_options) { c->corun ? most : 0, (double)c->corun_gain / 100,
					   epoch_ns };
}

/* The node's options; `class` must have room for GS_SCHED_CLASSES_MAX. */
static struct gs_gpu_options options_of(const struct gs_config *c, struct gs_sched_class *class)
{
	return (struct gs_gpu_options) {
		.policy = c->policy,
		.sched = gs_config_sched_options(c),
		.classes = class,
		.nclasses = classes_of(c, class),
		.idle_grace_ns = c->idle_grace_ns,
		.overlap_ns = c->overlap_ns,
		.preenqueue = c->isolation == GS_ISOLATION_CONTEXTS && c->overlap_ns,
		.leave_most_ns = c->leave_most_ns,
		.launch_every_ns = c->launch_every_ns,
		.one_context = c->isolation == GS_ISOLATION_MPS,
		.evict_deadline_ns = c->evict_deadline_ns,
		.corun = corun_of(c),
		.copies = copies_of(c),
		.learn_handover = 1,
		.clock = gs_clock_ns,
	};
}

/* Makes a GPU and the arbiter that owns it. */
static int make_arbiter(struct gs_daemon *d, struct gs_device *dev, int news_fd,
			const struct gs_gpu_options *o, struct gs_error *err)
{
	struct gs_arbiter_options ao = {
		.index = dev->index,
		.mode = (enum gs_arbiter_mode)d->config->arbiter,
		.cpu = d->config->arbiter_cpu < 0 ? -1 :
						    d->config->arbiter_cpu + (int)(dev - d->device),
		.emulated = !*dev->uuid && access("/dev/nvidiactl", F_OK) != 0,
		.real_time = d->config->real_time,
		.news_fd = news_fd,
	};
	struct gs_gpu *gpu = gs_gpu_create(dev->index, o, gs_clock_ns(), err);

	if (!gpu)
		return -1;
	dev->arbiter = gs_arbiter_create(gpu, &ao);
	if (dev->arbiter)
		return 0;
	gs_gpu_destroy(gpu);
	return gs_fail(err, "no memory");
}

int gs_devices_init(struct gs_daemon *d, int news_fd, struct gs_error *err)
{
	struct gs_sched_class class[GS_SCHED_CLASSES_MAX];
	struct gs_gpu_options o = options_of(d->config, class);

	for (size_t i = 0; i < d->config->ngpu; i++) {
		const struct gs_config_gpu *c = &d->config->gpu[i];
		struct gs_device *dev = &d->device[d->ndevice++];
		struct gs_nvidia nvidia;

		dev->index = c->index;
		if (c->uuid)
			snprintf(dev->uuid, sizeof(dev->uuid), "%s", c->uuid);
		if (gs_nvidia_of_file(GS_NVIDIA_GPUS, c->file, &nvidia) == 0) {
			if (c->uuid && *nvidia.uuid && strcmp(c->uuid, nvidia.uuid) != 0)
				return gs_fail(err, "GPU %u: %s is %s, and not Uuid=%s", c->index,
					       c->file, nvidia.uuid, c->uuid);
			memcpy(dev->uuid, nvidia.uuid, sizeof(dev->uuid));
			gs_dmem_device(dev, d->config, nvidia.pci);
		}
		dev->shares = c->shares;
		dev->memory = c->memory;
		own_policy(&o, d->config, c);
		if (make_arbiter(d, dev, news_fd, &o, err) < 0)
			return -1;
		dev->admission = gs_memory_create(d->config, c->memory, err);
		if (!dev->admission)
			return -1;
		dev->ledger = gs_ledger_create(c->memory);
		if (!dev->ledger)
			return gs_fail(err, "no memory");
	}
	return 0;
}

int gs_devices_start(struct gs_daemon *d, struct gs_error *err)
{
	for (size_t i = 0; i < d->ndevice; i++)
		if (gs_arbiter_start(d->device[i].arbiter, err) < 0)
			return -1;
	return 0;
}

void gs_devices_stop(struct gs_daemon *d)
{
	for (size_t i = 0; i < d->ndevice; i++)
		if (d->device[i].arbiter)
			gs_arbiter_stop(d->device[i].arbiter);
}

void gs_devices_fini(struct gs_daemon *d)
{
	for (size_t i = 0; i < d->ndevice; i++) {
		gs_arbiter_destroy(d->device[i].arbiter);
		gs_ledger_destroy(d->device[i].ledger);
		gs_memory_destroy(d->device[i].admission);
	}
	d->ndevice = 0;
}

struct reload {
	struct gs_daemon *d;
	const struct gs_device *device;
	const struct gs_config *config;
	const struct gs_gpu_options *options;
	struct gs_error *err;
	int rc;
};

/* The clients get their classes of the new configuration before the arbiter's next step; the loop
 * waits meanwhile. */
static void do_configure(struct gs_gpu *gpu, void *arg)
{
	struct reload *r = arg;
	struct gs_connection *conn;

	r->rc = gs_gpu_configure(gpu, r->options, gs_clock_ns(), r->err);
	LIST_FOREACH (conn, &r->d->conns, link)
		if (r->rc == 0 && conn->client && conn->device == r->device)
			gs_gpu_client_class(conn->client,
					    gs_step_class(r->config, &conn->step->info));
}

static int configure(struct reload *r)
{
	gs_arbiter_call(r->device->arbiter, do_configure, r);
	return r->rc;
}

int gs_devices_reload(struct gs_daemon *d, const struct gs_config *config, struct gs_error *err)
{
	struct gs_sched_class class[GS_SCHED_CLASSES_MAX];
	struct gs_gpu_options o = options_of(config, class);

	/* If one refuses, the first does, before any has changed: all check the same options. */
	for (size_t i = 0; i < d->ndevice; i++) {
		const struct gs_config_gpu *own = gs_config_gpu(config, d->device[i].index);
		struct reload r = {
			.d = d, .device = &d->device[i], .config = config, .options = &o, .err = err
		};

		own_policy(&o, config, own);
		if (configure(&r) < 0)
			return -1;
		gs_arbiter_set_mode(d->device[i].arbiter, (enum gs_arbiter_mode)config->arbiter);
	}
	return 0;
}
