/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles the messages of the jobs' processes: HELLO, kernels, DOORBELL; see clients.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/session/clients.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/text.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/arbiter/learned.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/steps/priority.h"
#include "gpushare/daemon/base/returning.h"
#include "gpushare/daemon/base/identity.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/users.h"
#include "gpushare/arbiter/gpu.h"
#include "gpushare/proto/page.h"
#include "gpushare/proto/job_name.h"

/* The step that the process belongs to, or NULL: refused. */
static struct gs_step *admit(struct gs_connection *conn, const struct gs_msg *msg)
{
	const struct gs_msg_hello *hello = &msg->hello;
	uint32_t tag = msg->header.tag;
	struct gs_claim claim;
	enum gs_refusal code;
	struct gs_error err;
	struct gs_step *step;

	if (conn->step || conn->own) {
		gs_connection_refuse(conn, tag, GS_REFUSED_BAD_REQUEST,
				     "this connection is in use already");
		return NULL;
	}
	claim = (struct gs_claim) {
		.uid = conn->uid, .pid = conn->pid, .start = conn->start, .job_id = hello->job_id
	};
	step = gs_identify(conn->d, GS_PROC_ROOT, &claim, &code, &err);
	if (!step) {
		gs_connection_refuse(conn, tag, code, "%s", err.text);
		return NULL;
	}
	if (hello->gpu != step->info.gpu) {
		gs_connection_refuse(conn, tag, GS_REFUSED_BAD_REQUEST,
				     "job " GS_JOB_F " has shares of GPU %u, not %u",
				     GS_JOB(step->info.job_id), step->info.gpu, hello->gpu);
		return NULL;
	}
	return step;
}

/* Makes a new page, or maps the one that the client brought; its descriptor in *fd. */
static int get_page(struct gs_connection *conn, const struct gs_msg_hello *hello, int brought,
		    int *fd, struct gs_error *err)
{
	if (brought < 0) {
		*fd = gs_page_create(&conn->page,
				     hello->copies ? GS_PAGE_SIZE : GS_PAGE_SIZE_BEFORE, err);
		return *fd < 0 ? -1 : 0;
	}
	if (gs_page_map(brought, &conn->page, err) < 0)
		return -1;
	/* A lease of an earlier daemon does not count. */
	atomic_store(&conn->page->lease, 0);
	*fd = dup(brought);
	return *fd < 0 ? gs_fail_errno(err, "cannot keep the page") : 0;
}

/* Room for 4,096 kernels, of which most clients have few: memory that is not written is not taken
 * from the node. */
static struct gs_kernel_map *new_map(void)
{
	void *map = mmap(NULL, sizeof(struct gs_kernel_map), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

static void drop_map(struct gs_kernel_map *map)
{
	if (map)
		munmap(map, sizeof(*map));
}

/* 0: not known. A step may run several programs. */
static uint64_t program_key(const struct gs_connection *conn)
{
	const char *program = conn->registration.program;
	uint64_t key = conn->step->info.program;

	if (!key)
		return 0;
	key = gs_hash(GS_HASH_EMPTY, &key, sizeof(key));
	return gs_hash(key, program, strlen(program));
}

static int become_client(struct gs_connection *conn, int adopted, uint64_t used_bytes,
			 struct gs_error *err)
{
	struct gs_step *step = conn->step;
	struct gs_gpu_client_params params = {
		.id = conn->id,
		.page = conn->page,
		.usage = &step->live,
		.priority = gs_client_priority(conn),
		.priority_most = gs_client_priority_most(conn),
		.class = gs_step_class(conn->d->config, &step->info),
		.shares = step->info.shares,
		.alloc = step->alloc->id,
		.alloc_shares = step->alloc->shares,
		.force_ns = step->info.sharing.force_ms * GS_NS_PER_MS,
		.no_corun = step->info.sharing.no_corun,
		.period = step->info.period,
		.job_id = step->info.job_id,
		.step_id = step->info.step_id,
		.name = conn->who,
		.program = conn->registration.program,
		.program_key = program_key(conn),
		.counted = conn->registration.counted,
	};

	if (!conn->registration.kernels)
		conn->registration.kernels = new_map();
	if (!conn->registration.kernels)
		return gs_fail(err, "no memory");
	params.kernels = conn->registration.kernels;
	conn->client = gs_command_join(conn->device->arbiter, &params, adopted);
	if (!conn->client)
		return gs_fail(err, "no memory");
	conn->registration.stopped = 0;
	gs_page_tell(conn->page->calls.wanted, conn->d->config->idle_reclaim_ns > 0);
	if (used_bytes)
		gs_ledger_adopt(conn->device->ledger, step->alloc->id, conn->id, used_bytes);
	gs_returning_joined(conn, adopted);
	return 0;
}

static int welcome(struct gs_connection *conn, uint32_t tag, int page_fd)
{
	struct gs_step *step = conn->step;
	uint64_t variant_min_us;
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_WELCOME, tag);
	msg.welcome.job_id = step->info.job_id;
	msg.welcome.step_id = step->info.step_id;
	msg.welcome.gpu = step->info.gpu;
	msg.welcome.absent = (uint32_t)conn->d->config->absent;
	msg.welcome.signal = (uint32_t)conn->d->config->signal;
	msg.welcome.machine_code = (uint32_t)conn->d->config->machine_code;
	msg.welcome.one_context = conn->d->config->isolation == GS_ISOLATION_MPS;
	variant_min_us = conn->d->config->variant_min_ns / GS_NS_PER_US;
	msg.welcome.variant_min_us =
		variant_min_us < UINT32_MAX ? (uint32_t)variant_min_us : UINT32_MAX;
	msg.welcome.untracked = 1;
	msg.welcome.variants = 1;
	msg.welcome.reservation = step->reservation;
	msg.welcome.gpu_memory = conn->device->memory;
	msg.welcome.context_memory = conn->d->config->context_memory;
	return gs_connection_send(conn, &msg, page_fd);
}

/* The user chooses the program's name, so characters that a terminal must not see become '?'. */
static void keep_program(struct gs_connection *conn, const char *program)
{
	snprintf(conn->registration.program, sizeof(conn->registration.program), "%s", program);
	gs_text_disarm(conn->registration.program);
}

/* Answers a HELLO whose step has its memory: page, client and WELCOME. page: the descriptor that
 * the client brought, or -1. */
static int begin(struct gs_connection *conn, const struct gs_msg *hello, int page)
{
	struct gs_step *step = conn->step;
	uint32_t tag = hello->header.tag;
	struct gs_error err;
	int page_fd = -1, rc;

	if (get_page(conn, &hello->hello, page, &page_fd, &err) < 0 ||
	    become_client(conn, page >= 0, hello->hello.used_bytes, &err) < 0) {
		if (page_fd >= 0)
			close(page_fd);
		return gs_connection_refuse(conn, tag, GS_REFUSED_BAD_REQUEST, "%s", err.text);
	}
	if (conn->pidfd < 0)
		gs_connection_watch_process(conn);
	rc = welcome(conn, tag, page_fd);
	close(page_fd);
	if (rc == 0)
		gs_user_log(gs_connection_who_pays(conn), "%s: %s on gpu %u, %" PRIu64 " MiB%s",
			    conn->who, conn->registration.program, conn->device->index,
			    step->reservation >> 20, page >= 0 ? ", with the page it had" : "");
	return rc;
}

int gs_on_hello(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	struct gs_step *step = admit(conn, msg);
	char name[16];

	if (!step)
		return -1;
	conn->step = step;
	conn->device = step->alloc->device;
	keep_program(conn, msg->hello.program);
	snprintf(conn->who, sizeof(conn->who), "job " GS_JOB_F ".%s uid %u pid %d",
		 GS_JOB(step->info.job_id), gs_step_name(step->info.step_id, name, sizeof(name)),
		 (unsigned)conn->uid, (int)conn->pid);
	return step->alloc->admitted && !step->alloc->away ? begin(conn, msg, fd) :
							     gs_memory_wait(conn, msg, fd, begin);
}

/* Takes the client off the arbiter; returns 1 if kernels of it are on the GPU. */
static int leave(struct gs_connection *conn)
{
	int on_gpu =
		gs_command_leave(conn->device->arbiter, conn->client, &conn->registration.counted);

	conn->client = NULL;
	return on_gpu;
}

void gs_client_park(struct gs_connection *conn)
{
	leave(conn);
}

/* The client ran for a moment before the daemon heard of it. What it freed then is in its lease,
 * and still counted in `bytes`, so the lease must not be cleared. */
int gs_client_return(struct gs_connection *conn, uint64_t bytes)
{
	struct gs_error err;

	if (become_client(conn, 1, bytes, &err) == 0)
		return 0;
	gs_complain("%s: closed: %s", conn->who, err.text);
	return -1;
}

void gs_client_gone(struct gs_connection *conn)
{
	gs_memory_wait_end(conn);
	if (conn->client) {
		gs_lease_note_peak(conn->d, conn->step->alloc);
		if (leave(conn) && conn->d->mps)
			gs_log(GS_LOG_WARN,
			       "%s: ends with kernels on gpu %u: MPS's other clients "
			       "may fail",
			       conn->who, conn->device->index);
	}
	/* A parked client's memory stays in the ledger until all clients of its step are parked, so
	 * it must be taken out here, too. */
	if (conn->page) {
		gs_ledger_client_gone(conn->device->ledger, conn->step->alloc->id, conn->id);
		gs_user_log(gs_connection_who_pays(conn), "%s: gone", conn->who);
	}
	gs_page_unmap(conn->page);
	drop_map(conn->registration.kernels);
	conn->client = NULL;
	conn->step = NULL;
	conn->page = NULL;
	conn->registration.kernels = NULL;
}

int gs_on_kernel(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	struct gs_msg_kernel *k = &msg->kernel;
	uint64_t key;

	(void)fd;
	if (gs_connection_is_client(conn, msg) < 0)
		return -1;
	gs_text_disarm(k->name);
	key = gs_learned_key(conn->step->info.uid, k->content, conn->registration.program, k->name);
	if (gs_command_announce(conn->device->arbiter, &conn->step->live,
				conn->registration.kernels, k, key) < 0 &&
	    conn->registration.kernels_ignored++ == 0)
		gs_complain("%s: kernel %u and what follows is not listed: more than %u", conn->who,
			    k->number, GS_STEP_USAGE_KERNELS_MAX);
	return 0;
}

/* The arbiter uses the answer as well, until launches report something better. */
int gs_on_time(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	uint32_t number = msg->time.number, dims = msg->time.dims;
	struct gs_msg answer;

	(void)fd;
	if (gs_connection_is_client(conn, msg) < 0)
		return -1;
	gs_msg_init(&answer, GS_MSG_TIMED, msg->header.tag);
	if (number < GS_STEP_USAGE_KERNELS_MAX && conn->registration.kernels->key[number]) {
		gs_devices_sync(conn->d, 0); /* include what launches have reported by now */
		answer.timed.tpt_ps = gs_learned_find(
			conn->d->learned,
			gs_learned_of_dims(conn->registration.kernels->key[number], dims));
		gs_command_expect(conn->device->arbiter, conn->registration.kernels, number,
				  answer.timed.tpt_ps);
	}
	return gs_connection_send(conn, &answer, -1);
}

int gs_on_untracked(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	(void)fd;
	if (gs_connection_is_client(conn, msg) < 0)
		return -1;
	gs_command_untracked(conn->device->arbiter, conn->client, &msg->untracked);
	return 0;
}

int gs_on_variant(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	const struct gs_msg_variant *v = &msg->variant;

	(void)fd;
	if (gs_connection_is_client(conn, msg) < 0)
		return -1;
	if (v->made_of >= GS_MADE_OF_COUNT || v->since > GS_SINCE_MAX) {
		gs_complain("%s: closed: an invalid VARIANT message", conn->who);
		return -1;
	}
	gs_command_variant(conn->device->arbiter, &conn->step->live, conn->registration.kernels, v);
	return 0;
}

int gs_on_doorbell(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	(void)fd;
	if (gs_connection_is_client(conn, msg) < 0)
		return -1;
	gs_command_doorbell(conn->device->arbiter, conn->client);
	return 0;
}
