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
#include "gpushare/daemon/measured.h"
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
		.early = c->isolation == GS_ISOLATION_CONTEXTS && c->overlap_ns,
		.leave_most_ns = c->leave_most_ns,
		.one_context = c->isolation == GS_ISOLATION_MPS,
		.evict_deadline_ns = c->evict_deadline_ns,
		.measure_handover = c->measure_handover != GS_MEASURE_NO,
		.clock = gs_clock_ns,
	};
}

int gs_devices_init(struct gs_daemon *d, struct gs_error *err)
{
	struct gs_sched_class class[GS_SCHED_CLASSES_MAX];
	struct gs_gpu_options o = options_of(d->config, class);

	gs_budget_init(&d->budget, gs_clock_ns());
	d->cpu_ns = gs_clock_process_ns();

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
		if (config->measure_handover == GS_MEASURE_START &&
		    gs_measured_believed(config, (double)d->device[i].handover_ns))
			gs_gpu_set_handover(d->device[i].gpu, d->device[i].handover_ns);
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

/* The loop does not sleep for less than this, and not so for longer than that. */
#define SPIN_GAP_NS (5 * GS_NS_PER_US)
#define SPIN_NS (120 * GS_NS_PER_US)
/* An attendant sees through what takes no longer than this; the loop steps in when it is so late. */
#define ATTEND_NS (1 * GS_NS_PER_MS)
#define ATTEND_LATE_NS (300 * GS_NS_PER_US)
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

/* What was taken since the last time, sleeping, waking and attendants included. */
static void count_cpu(struct gs_daemon *d, uint64_t now)
{
	/* A process that has just been forked begins anew. */
	uint64_t cpu = gs_clock_process_ns(), used = cpu > d->cpu_ns ? cpu - d->cpu_ns : 0;
	int64_t left;

	d->cpu_ns = cpu;
	d->spun_ns = 0;
	/* The lookout has a processor for that. */
	left = d->lookout ? INT64_MAX : gs_budget_spend(&d->budget, now, used);
	for (size_t i = 0; i < d->ndevice; i++)
		gs_gpu_afford(d->device[i].gpu, gs_budget_look_ns(left));
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

/* Is somebody leaving for whom this client waits?  Once it may go on it waits for its processor, and the loop sees to the rest. */
static int waits_for_a_way_out(const struct gs_peer *peer)
{
	return gs_gpu_is_draining(peer->device->gpu) && !gs_tenant_may_go(peer->tenant);
}

/* Turns until none is due for a while; when the next one is.  peer: whose attendant takes them, for its client's sake alone; NULL: none does. */
static uint64_t turns(struct gs_daemon *d, int by_loop, const struct gs_peer *peer, uint64_t now)
{
	uint64_t began = now, spun = 0;
	int64_t left = d->budget.left_ns - (int64_t)d->spun_ns;
	uint64_t next = take_turns(d, by_loop, now);
	uint64_t until = now + (left < (int64_t)SPIN_NS ? left > 0 ? (uint64_t)left : 0 : SPIN_NS);

	/*
	 * A kernel is about to leave: sleeping and waking would take longer than that.  By the clock after the turn: an
	 * order takes some microseconds, more than the gap, and its end was slept through (8 of 15 us of an eviction on an H200).
	 */
	while (!d->lookout && (now = gs_clock_ns()) < until && next <= now + SPIN_GAP_NS &&
	       (!peer || waits_for_a_way_out(peer))) {
		next = take_turns(d, by_loop, now);
		spun = now - began;
	}
	d->spun_ns += spun;
	return next;
}

void gs_devices_turn(struct gs_daemon *d)
{
	uint64_t now = gs_clock_ns();

	count_cpu(d, now);
	set_wake(d, 1, turns(d, 1, NULL, now));
	gs_overdue_look(d); /* whoever found it in a turn */
}

void gs_devices_wake(struct gs_daemon *d)
{
	set_wake(d, 1, gs_clock_ns());
}

void gs_devices_look(struct gs_daemon *d)
{
	set_wake(d, 0, turns(d, 0, NULL, gs_clock_ns()));
}

uint64_t gs_device_attend(const struct gs_peer *peer)
{
	struct gs_device *device = peer->device;
	struct gs_daemon *d = peer->d;
	uint64_t now = gs_clock_ns(), next = turns(d, 0, peer, now);

	if (!waits_for_a_way_out(peer) || next > now + ATTEND_NS || next != device->wake_ns) {
		gs_device_unattended(device, peer);
		set_wake(d, 0, next);
		/* Where attendants do all there is to do, the loop is not there to see that the budget has recovered. */
		if (now > d->budget.at_ns + SELDOM_NS)
			count_cpu(d, now);
		return 0;
	}
	set_wake(d, 0, next + ATTEND_LATE_NS);
	if (device->attended_by && device->attended_by != peer)
		return 0;
	device->attended_by = peer;
	return next;
}

void gs_device_unattended(struct gs_device *device, const struct gs_peer *peer)
{
	if (device->attended_by == peer)
		device->attended_by = NULL;
}
