/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configured GPUs; see device.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/device.h"
#include "gpushare/daemon/dmem_steps.h"

#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

#include "common/clock.h"
#include "gpushare/config/sched_options.h"
#include "gpushare/daemon/memory.h"
#include "gpushare/daemon/mps.h"
#include "gpushare/daemon/overdue.h"
#include "gpushare/daemon/peer.h"

/* Partitions of no class are the first one; those of the file follow, as gs_config_class() counts. */
static size_t classes_of(const struct gs_config *c, struct gs_sched_class *class)
{
	class[0] = (struct gs_sched_class){ NULL, 0, NULL };
	for (size_t i = 0; i < c->nclass; i++)
		class[i + 1] = (struct gs_sched_class){ c->class[i].policy, c->class[i].priority,
							c->class[i].name };
	return c->nclass + 1;
}

/* For one GPU: a policy of its own, which has said how priorities count (sched_options.h). */
static void own_policy(struct gs_gpu_options *o, const struct gs_config *c, const struct gs_config_gpu *own)
{
	o->policy = own && own->policy ? own->policy : c->policy;
	o->sched.by_priority = gs_config_sched_options(c).by_priority && !(own && own->policy);
}

/* The node's options; class has room for GS_SCHED_CLASSES_MAX. */
static struct gs_gpu_options options_of(const struct gs_config *c, struct gs_sched_class *class)
{
	return (struct gs_gpu_options){
		.policy = c->policy,
		.sched = gs_config_sched_options(c),
		.classes = class,
		.nclasses = classes_of(c, class),
		.idle_grace_ns = c->idle_grace_ns,
		.overlap_ns = c->overlap_ns,
		.arm = c->isolation == GS_ISOLATION_CONTEXTS && c->overlap_ns,
		.leave_most_ns = c->leave_most_ns,
		.one_context = c->isolation == GS_ISOLATION_MPS,
		.evict_deadline_ns = c->evict_deadline_ns,
		.learn_handover = 1,
		.clock = gs_clock_ns,
	};
}

/* Between two polls of a GPU, by a lookout and without one. */
#define POLL_AWAKE_NS (1 * GS_NS_PER_US)
#define POLL_NS (100 * GS_NS_PER_US)

int gs_devices_init(struct gs_daemon *d, struct gs_error *err)
{
	struct gs_sched_class class[GS_SCHED_CLASSES_MAX];
	struct gs_gpu_options o = options_of(d->config, class);

	for (size_t i = 0; i < d->config->ngpu; i++) {
		const struct gs_config_gpu *c = &d->config->gpu[i];
		struct gs_device *dev = &d->device[d->ndevice++];
		struct gs_nvidia nvidia;

		dev->index = c->index;
		if (gs_nvidia_of_file(GS_NVIDIA_GPUS, c->file, &nvidia) == 0) {
			memcpy(dev->uuid, nvidia.uuid, sizeof(dev->uuid));
			gs_dmem_device(dev, d->config, nvidia.pci);
		}
		dev->shares = c->shares;
		dev->memory = c->memory;
		dev->wake_ns = UINT64_MAX;
		own_policy(&o, d->config, c);
		dev->gpu = gs_gpu_create(c->index, &o, gs_clock_ns(), err);
		if (!dev->gpu)
			return -1;
		gs_gpu_poll_every(dev->gpu, d->config->lookout_cpu >= 0 ? POLL_AWAKE_NS : POLL_NS);
		dev->admission = gs_memory_create(d->config, c->memory, err);
		if (!dev->admission)
			return -1;
		dev->ledger = gs_ledger_create(c->memory);
		if (!dev->ledger)
			return gs_fail(err, "no memory");
	}
	return 0;
}

void gs_devices_fini(struct gs_daemon *d)
{
	for (size_t i = 0; i < d->ndevice; i++) {
		gs_gpu_destroy(d->device[i].gpu);
		gs_ledger_destroy(d->device[i].ledger);
		gs_memory_destroy(d->device[i].admission);
	}
	d->ndevice = 0;
}

int gs_devices_reload(struct gs_daemon *d, const struct gs_config *config,
		      struct gs_error *err)
{
	struct gs_sched_class class[GS_SCHED_CLASSES_MAX];
	struct gs_gpu_options o = options_of(config, class);

	/* The first one that refuses does so before any has changed: they
	 * all check the same options. */
	for (size_t i = 0; i < d->ndevice; i++) {
		const struct gs_config_gpu *own = gs_config_gpu(config, d->device[i].index);

		own_policy(&o, config, own);
		if (gs_gpu_configure(d->device[i].gpu, &o, gs_clock_ns(), err) < 0)
			return -1;
		gs_device_poke(&d->device[i]);
	}
	return 0;
}

struct gs_device *gs_device_find(struct gs_daemon *d, uint32_t index)
{
	for (size_t i = 0; i < d->ndevice; i++)
		if (d->device[i].index == index)
			return &d->device[i];
	return NULL;
}

void gs_device_poke(struct gs_device *device)
{
	device->wake_ns = 0;
}

/* The loop wakes for nothing at most so often. */
#define SELDOM_NS (5 * GS_NS_PER_MS)
#define LOOKOUT_LATE_NS (10 * GS_NS_PER_MS)

/*
 * One turn of every GPU that is due; when the next one is.  A client that must go is the
 * loop's affair: its events are not an attendant's to free, and its GPU stays due.
 */
static uint64_t take_turns(struct gs_daemon *d, int by_loop, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < d->ndevice; i++) {
		struct gs_device *dev = &d->device[i];

		if (dev->wake_ns <= now) {
			dev->wake_ns = gs_gpu_turn(dev->gpu, now);
			if (by_loop && gs_peers_drop_bad(d)) /* one turn more without them */
				dev->wake_ns = gs_gpu_turn(dev->gpu, now);
		}
		if (dev->wake_ns < next)
			next = dev->wake_ns;
	}
	atomic_store(&d->due_ns, next);
	return next;
}

static void set_wake(struct gs_daemon *d, int by_loop, uint64_t at_ns)
{
	struct itimerspec at = { .it_value = { 0, 0 } }; /* not at all */

	/*
	 * The loop comes for what is its own, and should the lookout's processor be taken away.  Too soon
	 * is fine, and who has been called is not put off: the lookout is back here before the loop is awake.
	 */
	if (d->lookout) {
		if (at_ns != UINT64_MAX && at_ns > gs_clock_ns())
			at_ns += LOOKOUT_LATE_NS;
		if (d->wake_at_ns <= at_ns)
			return;
	}
	/* A system call on the asking client's processor, while it waits for its launch: better too soon, seldom. */
	if (at_ns == d->wake_at_ns || (!by_loop && d->wake_at_ns <= at_ns && d->wake_at_ns > gs_clock_ns() + SELDOM_NS))
		return;
	d->wake_at_ns = at_ns;
	if (at_ns != UINT64_MAX)
		at.it_value = (struct timespec){ (time_t)(at_ns / GS_NS_PER_S), (long)(at_ns % GS_NS_PER_S) };
	timerfd_settime(d->wake_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

void gs_devices_turn(struct gs_daemon *d)
{
	set_wake(d, 1, take_turns(d, 1, gs_clock_ns()));
	gs_overdue_look(d); /* whoever found it in a turn */
}

void gs_devices_wake(struct gs_daemon *d)
{
	set_wake(d, 1, gs_clock_ns());
}

void gs_devices_look(struct gs_daemon *d)
{
	set_wake(d, 0, take_turns(d, 0, gs_clock_ns()));
}
