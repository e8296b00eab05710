/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the jobs' processes say: HELLO, memory, kernels, BELL; see clients.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/session/clients.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/arbiter/learned.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/steps/priority.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/arbiter/tenant.h"
#include "gpushare/proto/page.h"

/* Every message but HELLO needs a step to belong to. */
static int must_be_client(struct gs_peer *peer, const struct gs_msg *msg)
{
	if (peer->tenant)
		return 0;
	gs_complain("%s: closed: %s before HELLO", peer->who,
		    gs_msg_name(msg->header.type));
	return -1;
}

/* The step that the peer may join, or NULL: refused. */
static struct gs_step *admit(struct gs_peer *peer, const struct gs_msg *msg)
{
	const struct gs_msg_hello *hello = &msg->hello;
	uint32_t tag = msg->header.tag;
	enum gs_refusal code;
	struct gs_error err;
	struct gs_step *step;

	if (peer->step || peer->own) {
		gs_peer_refuse(peer, tag, GS_REFUSED_BAD_REQUEST,
			       "this connection is in use already");
		return NULL;
	}
	step = gs_step_claim(peer->d, hello->job_id, hello->step_id, peer->uid, peer->pid,
			     &code, &err);
	if (!step) {
		gs_peer_refuse(peer, tag, code, "%s", err.text);
		return NULL;
	}
	if (hello->gpu != step->info.gpu) {
		gs_peer_refuse(peer, tag, GS_REFUSED_BAD_REQUEST,
			       "job %u has shares of GPU %u, not %u", step->info.job_id,
			       step->info.gpu, hello->gpu);
		return NULL;
	}
	return step;
}

/* A fresh page, or the one that the client brought; its descriptor in *fd. */
static int get_page(struct gs_peer *peer, int brought, int *fd, struct gs_error *err)
{
	if (brought < 0) {
		*fd = gs_page_create(&peer->page, err);
		return *fd < 0 ? -1 : 0;
	}
	if (gs_page_map(brought, &peer->page, err) < 0)
		return -1;
	*fd = dup(brought);
	return *fd < 0 ? gs_fail_errno(err, "cannot keep the page") : 0;
}

static int become_tenant(struct gs_peer *peer, int adopted, uint64_t used_bytes,
			 struct gs_error *err)
{
	struct gs_step *step = peer->step;
	struct gs_tenant_params params = {
		.id = peer->id,
		.page = peer->page,
		.tally = &step->live,
		.priority = gs_client_priority(peer),
		.class = gs_step_class(peer->d->config, &step->info),
		.shares = step->info.shares,
		.force_ns = step->info.force_ms * GS_NS_PER_MS,
		.job_id = step->info.job_id,
		.step_id = step->info.step_id,
		.name = peer->who,
		.program = peer->registration.program,
		.counted = peer->registration.counted,
	};

	if (!peer->registration.kernels)
		peer->registration.kernels = calloc(1, sizeof(*peer->registration.kernels));
	if (!peer->registration.kernels)
		return gs_fail(err, "no memory");
	params.kernels = peer->registration.kernels;
	peer->tenant = gs_command_join(peer->device->arbiter, &params, adopted);
	if (!peer->tenant)
		return gs_fail(err, "no memory");
	peer->registration.stopped = 0;
	/* An earlier daemon's lease is not ours. */
	atomic_store(&peer->page->lease, 0);
	if (used_bytes)
		gs_ledger_adopt(peer->device->ledger, step->alloc->id, peer->id, used_bytes);
	return 0;
}

static int welcome(struct gs_peer *peer, uint32_t tag, int page_fd)
{
	struct gs_step *step = peer->step;
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_WELCOME, tag);
	msg.welcome.job_id = step->info.job_id;
	msg.welcome.step_id = step->info.step_id;
	msg.welcome.gpu = step->info.gpu;
	msg.welcome.absent = (uint32_t)peer->d->config->absent;
	msg.welcome.signal = (uint32_t)peer->d->config->signal;
	msg.welcome.untracked = 1;
	msg.welcome.reservation = step->reservation;
	msg.welcome.gpu_memory = peer->device->memory;
	msg.welcome.context_memory = peer->d->config->context_memory;
	return gs_peer_send(peer, &msg, page_fd);
}

/* A program's name is its user's text: what a terminal must not see becomes '?'. */
static void keep_program(struct gs_peer *peer, const char *program)
{
	snprintf(peer->registration.program, sizeof(peer->registration.program), "%s", program);
	for (char *c = peer->registration.program; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
}

/* A HELLO whose step has its memory: page, turn, WELCOME.  page: the descriptor it brought, or -1. */
static int begin(struct gs_peer *peer, const struct gs_msg *hello, int page)
{
	struct gs_step *step = peer->step;
	uint32_t tag = hello->header.tag;
	struct gs_error err;
	int page_fd = -1, rc;

	if (get_page(peer, page, &page_fd, &err) < 0 ||
	    become_tenant(peer, page >= 0, hello->hello.used_bytes, &err) < 0) {
		if (page_fd >= 0)
			close(page_fd);
		return gs_peer_refuse(peer, tag, GS_REFUSED_BAD_REQUEST, "%s", err.text);
	}
	if (peer->pidfd < 0)
		gs_peer_watch_process(peer);
	rc = welcome(peer, tag, page_fd);
	close(page_fd);
	if (rc == 0)
		gs_log(GS_LOG_INFO, "%s: %s on gpu %u, %" PRIu64 " MiB%s", peer->who,
		       peer->registration.program, peer->device->index, step->reservation >> 20,
		       page >= 0 ? ", with the page it had" : "");
	return rc;
}

int gs_on_hello(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	struct gs_step *step = admit(peer, msg);
	char name[16];

	if (!step)
		return -1;
	peer->step = step;
	peer->device = step->alloc->device;
	step->clients++;
	keep_program(peer, msg->hello.program);
	snprintf(peer->who, sizeof(peer->who), "job %u.%s uid %u pid %d", step->info.job_id,
		 gs_step_name(step->info.step_id, name, sizeof(name)), (unsigned)peer->uid,
		 (int)peer->pid);
	return step->alloc->admitted && !step->alloc->away ? begin(peer, msg, fd)
						       : gs_memory_wait(peer, msg, fd, begin);
}

/* 1 if kernels of it are on the GPU. */
static int leave(struct gs_peer *peer)
{
	int on_gpu = gs_command_leave(peer->device->arbiter, peer->tenant, &peer->registration.counted);

	peer->tenant = NULL;
	return on_gpu;
}

void gs_client_park(struct gs_peer *peer)
{
	leave(peer);
}

int gs_client_return(struct gs_peer *peer, uint64_t bytes)
{
	struct gs_error err;

	if (become_tenant(peer, 1, bytes, &err) == 0)
		return 0;
	gs_complain("%s: closed: %s", peer->who, err.text);
	return -1;
}

void gs_client_gone(struct gs_peer *peer)
{
	gs_memory_wait_end(peer);
	if (peer->tenant) {
		gs_lease_note_peak(peer->d, peer->step->alloc);
		if (leave(peer) && peer->d->mps)
			gs_log(GS_LOG_WARN, "%s: ends with kernels on gpu %u: MPS's other clients "
			       "may fail", peer->who, peer->device->index);
		gs_ledger_client_gone(peer->device->ledger, peer->step->alloc->id, peer->id);
		gs_log(GS_LOG_INFO, "%s: gone", peer->who);
	}
	if (peer->step)
		peer->step->clients--;
	gs_page_unmap(peer->page);
	free(peer->registration.kernels);
	peer->tenant = NULL;
	peer->step = NULL;
	peer->page = NULL;
	peer->registration.kernels = NULL;
}

int gs_on_alloc(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	struct gs_msg answer;

	(void)fd;
	if (must_be_client(peer, msg) < 0)
		return -1;
	gs_msg_init(&answer, GS_MSG_ALLOCATED, msg->header.tag);
	answer.allocated.granted = !msg->alloc.bytes ||
				   gs_lease_alloc(peer, msg->alloc.bytes);
	answer.allocated.used = gs_memory_used(peer->d, peer->step->alloc);
	answer.allocated.reservation = peer->step->alloc->bytes;
	if (!answer.allocated.granted)
		gs_complain("%s: %" PRIu64 " bytes of device memory refused: %" PRIu64
			    " of %" PRIu64 " in use", peer->who, msg->alloc.bytes,
			    answer.allocated.used, answer.allocated.reservation);
	return msg->header.tag ? gs_peer_send(peer, &answer, -1) : 0;
}

int gs_on_free(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	(void)fd;
	if (must_be_client(peer, msg) < 0)
		return -1;
	gs_ledger_free(peer->device->ledger, peer->step->alloc->id, peer->id, msg->free.bytes);
	return 0;
}

int gs_on_kernel(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	struct gs_msg_kernel *k = &msg->kernel;
	uint64_t key;

	(void)fd;
	if (must_be_client(peer, msg) < 0)
		return -1;
	for (char *c = k->name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	key = gs_learned_key(peer->step->info.uid, k->content, peer->registration.program, k->name, k->transform);
	if (gs_command_announce(peer->device->arbiter, &peer->step->live, peer->registration.kernels, k, key) < 0 && peer->registration.kernels_ignored++ == 0)
		gs_complain("%s: kernel %u and what follows is not listed: more than %u",
			    peer->who, k->number, GS_TALLY_KERNELS_MAX);
	return 0;
}

/* The answer holds for the daemon as well, until the launches tell better. */
int gs_on_time(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	uint32_t number = msg->time.number, dims = msg->time.dims;
	struct gs_msg answer;

	(void)fd;
	if (must_be_client(peer, msg) < 0)
		return -1;
	gs_msg_init(&answer, GS_MSG_TIMED, msg->header.tag);
	if (number < GS_TALLY_KERNELS_MAX && peer->registration.kernels->key[number]) {
		gs_devices_sync(peer->d, 0); /* what launches have told by now */
		answer.timed.tpt_ps = gs_learned_find(
			peer->d->learned, gs_learned_of_dims(peer->registration.kernels->key[number], dims));
		gs_command_expect(peer->device->arbiter, peer->registration.kernels, number, answer.timed.tpt_ps);
	}
	return gs_peer_send(peer, &answer, -1);
}

int gs_on_untracked(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	(void)fd;
	if (must_be_client(peer, msg) < 0)
		return -1;
	gs_command_untracked(peer->device->arbiter, peer->tenant, &msg->untracked);
	return 0;
}

int gs_on_bell(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	(void)fd;
	if (must_be_client(peer, msg) < 0)
		return -1;
	gs_command_bell(peer->device->arbiter, peer->tenant);
	return 0;
}
