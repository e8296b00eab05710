/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copying the arbiters' figures; see figures.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/gpu/figures.h"

#include "common/clock.h"
#include "gpushare/arbiter/learned.h"
#include "gpushare/arbiter/gpu.h"
#include "gpushare/daemon/gpu/arbiter.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/returning.h"
#include "gpushare/daemon/base/step.h"

/* A lesson counts at most this many times: by then the table has its value. */
#define LESSON_TIMES_MOST 12

struct sync {
	struct gs_daemon *d;
	const struct gs_device *device;
	uint32_t kernels_of;
	size_t lessons;
	struct gs_lesson lesson[GS_GPU_LESSONS];
};

/* Runs in the arbiter's thread. The loop waits meanwhile, so the lists of steps and connections do
 * not change. */
static void do_sync(struct gs_gpu *gpu, void *arg)
{
	struct sync *sync = arg;
	struct gs_connection *conn;
	uint64_t now = gs_clock_ns();
	struct gs_step *s;

	gs_gpu_settle(gpu, now);
	TAILQ_FOREACH (s, &sync->d->steps, link)
		if (s->alloc && s->alloc->device == sync->device) {
			gs_step_usage_copy(&s->usage, &s->live,
					   sync->kernels_of == GS_KERNELS_OF_ALL ||
						   sync->kernels_of == s->info.job_id);
			gs_returning_add(s);
			s->doing = GS_DOING_NOTHING;
		}
	LIST_FOREACH (conn, &sync->d->conns, link)
		if (conn->client && conn->device == sync->device) {
			enum gs_doing doing = gs_gpu_client_doing(conn->client, now);

			conn->registration.counted = gs_gpu_client_counted(conn->client);
			if (doing > conn->step->doing)
				conn->step->doing = (uint8_t)doing;
		}
	sync->lessons = gs_gpu_lessons(gpu, sync->lesson);
}

static void learn(struct gs_learned *learned, const struct gs_lesson *lesson)
{
	for (uint64_t i = 0; i < lesson->times && i < LESSON_TIMES_MOST; i++)
		gs_learned_note(learned, lesson->entry.key, lesson->entry.tpt_ps);
}

void gs_devices_sync(struct gs_daemon *d, uint32_t kernels_of)
{
	struct sync sync = { .d = d, .kernels_of = kernels_of };

	for (size_t i = 0; i < d->ndevice; i++) {
		sync.device = &d->device[i];
		gs_arbiter_call(d->device[i].arbiter, do_sync, &sync);
		for (size_t k = 0; k < sync.lessons; k++)
			learn(d->learned, &sync.lesson[k]);
	}
}
