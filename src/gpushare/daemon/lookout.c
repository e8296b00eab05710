/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread that looks for all clients; see lookout.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/lookout.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/thread.h"
#include "gpushare/daemon/attendant_core.h"
#include "gpushare/daemon/device.h"
#include "gpushare/daemon/event.h"
#include "gpushare/daemon/prompt.h"

#define STACK_BYTES (512 * 1024)
/* Others get the lock in between, whatever a GPU wants. */
#define LOOK_NS (1 * GS_NS_PER_US)
/* With nobody to hurry for: each client alone on its GPU, or nobody has asked and no kernel was there for so long. */
#define QUIET_NS (1 * GS_NS_PER_S)
#define NAP_NS (100 * GS_NS_PER_US)

static struct {
	pthread_t thread;
	_Atomic int over, changed;
	int prompt;           /* RealTime= */
	sem_t somebody;       /* there may be clients now */
	/* The thread's own: */
	struct gs_attendant *first; /* them */
	int shared;           /* two of them have the same GPU */
} lookout;

static void nap(void)
{
	static const struct timespec ts = { 0, NAP_NS };

	nanosleep(&ts, NULL);
}

/* Whose peer is gone goes, too: nobody else reads its page any more. */
static void list_anew(void)
{
	struct gs_attendant **to = &lookout.first, *a, *next;
	unsigned clients[GS_CONFIG_GPUS_MAX] = { 0 };

	lookout.shared = 0;
	gs_lock();
	for (a = LIST_FIRST(&gs_attendants); a; a = next) {
		next = LIST_NEXT(a, link);
		if (!a->peer) {
			gs_attendant_free(a);
			continue;
		}
		lookout.shared |= clients[a->peer->device - a->peer->d->device]++ > 0;
		*to = a;
		to = &a->next;
	}
	*to = NULL;
	gs_unlock();
}

static int anybody_asks(void)
{
	int any = 0;

	for (struct gs_attendant *a = lookout.first; a; a = a->next) {
		uint32_t asked = gs_page_load(a->page->asked);

		a->asks = asked != a->seen;
		a->seen = asked;
		any |= a->asks;
	}
	return any;
}

/* 1 if somebody has asked, or has kernels on a GPU: who only holds the turn is looked at, too. */
static int take_turn(struct gs_daemon *d)
{
	struct gs_attendant *a;
	int busy = 0;

	gs_lock();
	for (a = lookout.first; a; a = a->next)
		if (a->asks)
			busy |= gs_attendant_hear(a);
	gs_devices_look(d);
	for (a = lookout.first; !busy && a; a = a->next)
		busy = a->peer && a->peer->tenant && gs_tenant_on_gpu(a->peer->tenant);
	gs_unlock();
	return busy;
}

static void *look_out(void *arg)
{
	struct gs_daemon *d = arg;
	uint64_t now, busy_ns = gs_clock_ns(), looked_ns = 0;

	if (lookout.prompt)
		gs_be_nice();
	while (!atomic_load(&lookout.over)) {
		if (atomic_exchange(&lookout.changed, 0))
			list_anew();
		if (!lookout.first) {
			sem_wait(&lookout.somebody);
			continue;
		}
		now = gs_clock_ns();
		if (anybody_asks() || (now >= atomic_load(&d->due_ns) && now - looked_ns >= LOOK_NS)) {
			if (take_turn(d))
				busy_ns = now;
			looked_ns = now;
		} else if (!lookout.shared || now - busy_ns > QUIET_NS) {
			nap();
		} else {
			__builtin_ia32_pause();
		}
	}
	return NULL;
}

static int bind_to(pthread_t thread, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return pthread_setaffinity_np(thread, sizeof(set), &set);
}

void gs_lookout_start(struct gs_daemon *d)
{
	int cpu = d->config->lookout_cpu, rc;

	if (cpu < 0)
		return;
	sem_init(&lookout.somebody, 0, 0);
	atomic_store(&lookout.over, 0);
	lookout.prompt = d->config->real_time;
	if (gs_thread_start(&lookout.thread, STACK_BYTES, look_out, d) < 0) {
		gs_log(GS_LOG_ERROR, "LookoutCpu=%d: no thread: %s; clients are attended as without it", cpu, strerror(errno));
		return;
	}
	d->lookout = 1;
	rc = bind_to(lookout.thread, cpu);
	if (rc != 0) {
		gs_log(GS_LOG_ERROR, "LookoutCpu=%d: %s; clients are attended as without it", cpu, strerror(rc));
		gs_lookout_end(d);
		return;
	}
	gs_log(GS_LOG_INFO, "looks out on processor %d", cpu);
}

void gs_lookout_changed(void)
{
	atomic_store(&lookout.changed, 1);
	sem_post(&lookout.somebody);
}

void gs_lookout_end(struct gs_daemon *d)
{
	if (!d->lookout)
		return;
	atomic_store(&lookout.over, 1);
	sem_post(&lookout.somebody);
	pthread_join(lookout.thread, NULL);
	sem_destroy(&lookout.somebody);
	d->lookout = 0;
}
