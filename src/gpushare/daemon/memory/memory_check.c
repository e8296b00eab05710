/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares NVML's figures with the ledger's; see memory_check.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/memory/memory_check.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/child.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/memory/unmanaged.h"
#include "gpushare/proto/page.h"

#define MIB(bytes) ((bytes) >> 20)
/* A difference is logged again when it has grown by this many bytes. */
#define GROWN (UINT64_C(64) << 20)
/* NVML answers within milliseconds; without persistence mode the first answer takes seconds. */
#define HANGS_NS (10 * GS_NS_PER_S)

struct gs_driver_use {
	int listed; /* in the last answer; else its context is gone, or the driver does not say */
	uint64_t bytes;
	uint64_t said; /* the difference as last logged */
};

struct gs_memory_check {
	struct gs_daemon *d;
	pid_t pid;
	int sock;
	int requested; /* an answer is awaited */
	int hangs;     /* for so long that the log has a line */
	/* when NVML was last asked; when the question of the last answer was asked */
	uint64_t requested_ns, answered_ns;
	int again; /* the awaited answer is too old: ask again */
	struct event *timer, *readable;
	struct event *sooner; /* asks once more, for processes that were listed once */
	struct gs_nvml_answer answer;
	struct gs_unmanaged_list unmanaged;
};

static struct timeval interval(uint64_t ns)
{
	return (struct timeval) { (time_t)(ns / GS_NS_PER_S),
				  (suseconds_t)(ns % GS_NS_PER_S / 1000) };
}

int gs_memory_check_use(const struct gs_connection *conn, uint64_t *bytes)
{
	const struct gs_driver_use *use = conn->registration.driver;

	*bytes = use && use->listed ? use->bytes : 0;
	return use && use->listed;
}

const struct gs_unmanaged_list *gs_memory_check_unmanaged(const struct gs_memory_check *c)
{
	static const struct gs_unmanaged_list none;

	return c ? &c->unmanaged : &none;
}

void gs_memory_check_conn_gone(struct gs_connection *conn)
{
	free(conn->registration.driver);
	conn->registration.driver = NULL;
}

static void end_helper(struct gs_memory_check *c)
{
	if (c->readable)
		gs_event_free(c->readable);
	c->readable = NULL;
	if (c->sooner)
		event_del(c->sooner);
	if (c->sock >= 0)
		close(c->sock);
	c->sock = -1;
	if (c->pid > 0)
		gs_child_kill(c->pid);
	c->pid = 0;
}

/* The client has more than it was granted: rounding, contexts and code, or a call that is not
 * counted. */
static void compare(struct gs_connection *conn, uint64_t driver)
{
	uint64_t held = gs_ledger_held(conn->device->ledger, conn->step->alloc->id, conn->id);
	uint64_t lease = gs_page_load(conn->page->lease), counted, more;
	struct gs_driver_use *use = conn->registration.driver;

	counted = held - (lease < held ? lease : held);
	more = driver > counted ? driver - counted : 0;
	if (!use)
		use = conn->registration.driver = calloc(1, sizeof(*use));
	if (!use)
		return; /* then the use is not known */
	use->listed = 1;
	use->bytes = driver;
	if (more < use->said + GROWN)
		return;
	use->said = more;
	gs_log(GS_LOG_INFO,
	       "%s: the driver says that it has %" PRIu64 " MiB of gpu %u, counted are %" PRIu64
	       ": %" PRIu64 " more",
	       conn->who, MIB(driver), conn->device->index, MIB(counted), MIB(more));
}

/*
 * What is reserved must exist: memory that others have of the GPU, apart from gpushare and the
 * driver itself, is not available. Where the driver numbers processes differently (in a container)
 * it does not know this daemon's clients, and nothing is concluded.
 */
static void check_room(struct gs_device *device, const struct gs_nvml_gpu *gpu, uint64_t ours)
{
	uint64_t reserved = gs_ledger_reserved(device->ledger), outside, room, missing;

	if (!gpu->total)
		return;
	outside = gpu->used > ours ? gpu->used - ours : 0;
	device->outside = outside;
	room = gpu->total > outside ? gpu->total - outside : 0;
	missing = reserved > room ? reserved - room : 0;
	if (missing && missing >= device->missing + GROWN)
		gs_log(GS_LOG_WARN,
		       "gpu %u: %" PRIu64 " MiB are reserved, but %" PRIu64 " of %" PRIu64
		       " MiB are in use outside gpushare: %" PRIu64
		       " MiB of the reservations are not available",
		       device->index, MIB(reserved), MIB(outside), MIB(gpu->total), MIB(missing));
	if (!missing || missing >= device->missing + GROWN)
		device->missing = missing;
}

static void check_rooms(struct gs_memory_check *c)
{
	for (size_t i = 0; i < c->d->ndevice; i++) {
		struct gs_device *device = &c->d->device[i];
		uint64_t ours = device->outlived;
		int strangers = 0;
		struct gs_connection *conn;

		LIST_FOREACH (conn, &c->d->conns, link) {
			uint64_t bytes;

			if (!conn->client || conn->device != device)
				continue;
			strangers |=
				!gs_memory_check_use(conn, &bytes) &&
				gs_ledger_held(device->ledger, conn->step->alloc->id, conn->id);
			ours += bytes;
		}
		if (!strangers && device->index < GS_CONFIG_GPUS_MAX)
			check_room(device, &c->answer.gpu[device->index], ours);
	}
}

static void take_answer(struct gs_memory_check *c)
{
	struct gs_connection *conn;

	LIST_FOREACH (conn, &c->d->conns, link) {
		if (conn->registration.driver)
			conn->registration.driver->listed = 0;
		if (!conn->client)
			continue;
		for (uint32_t i = 0; i < c->answer.n; i++)
			if (c->answer.use[i].pid == (int32_t)conn->pid &&
			    c->answer.use[i].gpu == conn->device->index)
				compare(conn, c->answer.use[i].bytes);
	}
	check_rooms(c);
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
	struct gs_memory_check *c = arg;

	(void)fd;
	(void)what;
	/* A helper that hangs in the driver is not asked again. */
	if (c->requested && !c->hangs && gs_clock_ns() - c->requested_ns > HANGS_NS) {
		c->hangs = 1;
		gs_log(GS_LOG_ERROR,
		       "the driver has not answered NVML's questions for %" PRIu64
		       " s: until it does, processes past gpushare and memory that others have are not seen",
		       HANGS_NS / GS_NS_PER_S);
	}
	if (!c->requested && send(c->sock, "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) {
		c->requested = 1;
		c->requested_ns = gs_clock_ns();
	}
}

int gs_memory_check_now(struct gs_memory_check *c)
{
	if (!c || c->sock < 0)
		return 0;
	c->again = c->requested;
	on_time(-1, 0, c);
	return 1;
}

int gs_memory_check_free(const struct gs_memory_check *c, const struct gs_device *device,
			 uint64_t since_ns, uint64_t *bytes)
{
	const struct gs_nvml_gpu *gpu;

	if (!c || c->answered_ns < since_ns || device->index >= GS_CONFIG_GPUS_MAX)
		return 0;
	gpu = &c->answer.gpu[device->index];
	if (!gpu->total)
		return 0;
	*bytes = gpu->total > gpu->used ? gpu->total - gpu->used : 0;
	return 1;
}

int gs_memory_check_energy(const struct gs_memory_check *c, const struct gs_device *device,
			   uint64_t *mj, uint64_t *at_ns)
{
	if (!c || !c->answered_ns || device->index >= GS_CONFIG_GPUS_MAX ||
	    !c->answer.gpu[device->index].energy_mj)
		return 0;
	*mj = c->answer.gpu[device->index].energy_mj;
	*at_ns = c->answered_ns;
	return 1;
}

/*
 * In half of the interval the processes that are in doubt will have been listed for long enough.
 * The timer's next question could be a whole interval away, and then it would take two of them to
 * tell of a process.
 */
static void request_sooner(struct gs_memory_check *c)
{
	struct timeval half = interval(c->d->config->memory_check_ns / 2);

	if (!event_pending(c->sooner, EV_TIMEOUT, NULL))
		event_add(c->sooner, &half);
}

static void on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct gs_memory_check *c = arg;
	ssize_t n = recv(fd, &c->answer, sizeof(c->answer), MSG_DONTWAIT);

	(void)what;
	c->requested = 0;
	if (c->hangs)
		gs_log(GS_LOG_INFO, "the driver answers NVML's questions again");
	c->hangs = 0;
	if (n != (ssize_t)sizeof(c->answer) || c->answer.n > GS_NVML_USES_MAX) {
		gs_log(GS_LOG_WARN,
		       "what the driver says of memory is not known: its helper has ended");
		end_helper(c);
		event_del(c->timer);
		return;
	}
	c->answer.why[sizeof(c->answer.why) - 1] = '\0';
	if (*c->answer.why) {
		gs_log(GS_LOG_INFO, "no check of memory against the driver: %s", c->answer.why);
		end_helper(c);
		event_del(c->timer);
		return;
	}
	c->answered_ns = c->requested_ns;
	take_answer(c);
	if (gs_unmanaged_update(&c->unmanaged, c->d, &c->answer))
		request_sooner(c);
	if (c->again)
		gs_memory_check_now(c);
}

/* The helper asks by the GPUs' numbers, and instances have none. */
static int has_instances(const struct gs_config *config)
{
	for (size_t i = 0; i < config->ngpu; i++)
		if (gs_config_is_instance(&config->gpu[i])) {
			gs_log(GS_LOG_WARN,
			       "memory is not checked against the driver: GPU %u is a MIG instance",
			       config->gpu[i].index);
			return 1;
		}
	return 0;
}

struct gs_memory_check *gs_memory_check_create(struct gs_daemon *d)
{
	uint64_t every = has_instances(d->config) ? 0 : d->config->memory_check_ns;
	struct timeval tv = interval(every);
	struct gs_memory_check *c = every ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->d = d;
	c->sock = gs_child_start(&c->pid, gs_nvml_helper, d->config->nvml, 1);
	c->timer = gs_event_new(d->base, -1, EV_PERSIST, on_time, c);
	c->sooner = gs_event_new(d->base, -1, 0, on_time, c);
	if (c->sock >= 0)
		c->readable = gs_event_new(d->base, c->sock, EV_READ | EV_PERSIST, on_answer, c);
	if (!c->timer || !c->sooner || !c->readable || event_add(c->readable, NULL) < 0 ||
	    event_add(c->timer, &tv) < 0) {
		gs_log(GS_LOG_ERROR, "memory is not checked against the driver: no helper");
		gs_memory_check_destroy(c);
		return NULL;
	}
	on_time(-1, 0, c); /* log at the start whatever there is to log */
	return c;
}

void gs_memory_check_destroy(struct gs_memory_check *c)
{
	if (!c)
		return;
	end_helper(c);
	if (c->timer)
		gs_event_free(c->timer);
	if (c->sooner)
		gs_event_free(c->sooner);
	free(c);
}
