/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting for a client where it is; see attendant.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/attendant_core.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/thread.h"
#include "gpushare/daemon/device.h"
#include "gpushare/daemon/event.h"
#include "gpushare/daemon/lookout.h"
#include "gpushare/daemon/prompt.h"

#define STACK_BYTES (512 * 1024)
/* A client may undo what its attendant is woken by: at the latest after this it sees that the peer is gone. */
#define LOOK_NS GS_NS_PER_S
/* So many of a user may be about to end; beyond that they get no new ones. */
#define ENDING_MAX 32
#define WAIT_NS (10 * GS_NS_PER_MS)
#define WAITS_MAX 100

struct gs_attendants gs_attendants = LIST_HEAD_INITIALIZER(gs_attendants);
static _Atomic unsigned attendants;

/*
 * To where the client asked.  Only a processor that the client may use: the
 * word is the client's, and nobody else's work is to be interrupted for it.
 * Otherwise back to where the daemon may be.
 */
static void follow(struct gs_attendant *a)
{
	uint32_t cpu = gs_page_load(a->page->cpu);
	int was_near = a->near;
	cpu_set_t set;

	if (cpu == a->cpu)
		return;
	a->cpu = cpu;
	/* Of process 0 it would be our own. */
	a->near = cpu < CPU_SETSIZE && a->pid > 0 &&
		  sched_getaffinity(a->pid, sizeof(set), &set) == 0 && CPU_ISSET(cpu, &set);
	if (a->near) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		a->near = sched_setaffinity(0, sizeof(set), &set) == 0;
	}
	if (was_near && !a->near)
		sched_setaffinity(0, sizeof(a->home), &a->home);
}

int gs_attendant_hear(struct gs_attendant *a)
{
	struct gs_peer *peer = a->peer;

	if (!peer || !peer->tenant)
		return peer != NULL;
	gs_gpu_bell(peer->tenant);
	gs_device_poke(peer->device);
	return 1;
}

/* 0: the peer is gone. */
static int serve(struct gs_attendant *a)
{
	int there;

	gs_lock();
	there = gs_attendant_hear(a);
	if (there && a->peer->tenant)
		gs_devices_look(a->peer->d);
	gs_unlock();
	return there;
}

/* Until the client asks, or is gone; what it has asked. */
static uint32_t await(struct gs_attendant *a, uint32_t seen)
{
	uint32_t asked;

	do
		asked = gs_page_await(a->page, seen, LOOK_NS);
	while (asked == seen && !atomic_load(&a->over));
	return asked;
}

void gs_attendant_free(struct gs_attendant *a)
{
	LIST_REMOVE(a, link);
	gs_page_unmap(a->page);
	free(a);
	atomic_fetch_sub(&attendants, 1);
}

static void *attend(void *arg)
{
	struct gs_attendant *a = arg;
	uint32_t asked = a->seen;
	int near = gs_be_prompt(a->prompt) != GS_PROMPT_NOT;

	near = near && sched_getaffinity(0, sizeof(a->home), &a->home) == 0;
	while (serve(a)) {
		if (near)
			follow(a);
		asked = await(a, asked);
	}
	gs_lock();
	gs_attendant_free(a);
	gs_unlock();
	return NULL;
}

static unsigned ending(uid_t uid)
{
	const struct gs_attendant *a;
	unsigned n = 0;

	LIST_FOREACH(a, &gs_attendants, link)
		n += a->uid == uid && !a->peer;
	return n;
}

struct gs_attendant *gs_attendant_start(struct gs_peer *peer)
{
	struct gs_attendant *a;

	if (ending(peer->uid) >= ENDING_MAX)
		return NULL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->peer = peer;
	a->uid = peer->uid;
	a->page = peer->page;
	a->pid = peer->pid;
	a->cpu = UINT32_MAX;
	a->prompt = peer->d->config->real_time;
	a->lookout = peer->d->lookout;
	a->seen = gs_page_load(a->page->asked) - 1; /* what was asked before counts, too */
	atomic_fetch_add(&attendants, 1);
	if (!a->lookout && gs_thread_start(NULL, STACK_BYTES, attend, a) < 0) {
		gs_complain(peer->d, "%s: no thread to attend it", peer->who);
		atomic_fetch_sub(&attendants, 1);
		free(a);
		return NULL;
	}
	LIST_INSERT_HEAD(&gs_attendants, a, link); /* it waits for the lock */
	if (a->lookout)
		gs_lookout_changed();
	return a;
}

void gs_attendant_end(struct gs_attendant *a)
{
	a->peer = NULL;
	atomic_store(&a->over, 1);
	if (a->lookout) {
		gs_lookout_changed();
	} else {
		gs_page_store(a->page->attended, GS_ATTENDED); /* the word is the client's: it sleeps, and is woken */
		gs_page_ask(a->page);
	}
}

void gs_attendants_wait(void)
{
	static const struct timespec nap = { 0, WAIT_NS };

	for (int i = 0; i < WAITS_MAX && atomic_load(&attendants); i++)
		nanosleep(&nap, NULL);
}
