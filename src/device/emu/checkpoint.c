/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cuCheckpointProcess*: another process (or this one) is locked, its device
 * memory moved to the host and given back to the device, and the reverse.
 *
 * Each process that uses the device listens on an abstract socket named after
 * its pid; who asks checks that it is that process which answers, and is
 * answered only if it is of the same user, or root.
 */
#define _GNU_SOURCE
#include "device/emu/checkpoint.h"

#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "device/emu/checkpoint_wait.h"
#include "device/emu/emu.h"

enum command { GET_STATE, LOCK, CHECKPOINT, RESTORE, UNLOCK };

struct question {
	uint32_t command, timeout_ms;
};

struct answer {
	uint32_t result, state;
};

/* A range that is away. */
struct moved {
	struct moved *next;
	uint64_t base, bytes;
	void *copy;
};

static struct moved *away;  /* by the answering thread alone */
static uint64_t away_bytes; /* of the device's memory */

static int idle(void)
{
	int busy = 0;

	pthread_mutex_lock(&emu.mutex);
	for (struct CUctx_st *c = emu.contexts; c; c = c->next)
		busy |= emu_ctx_busy(c);
	if (emu.primary)
		busy |= emu_ctx_busy(emu.primary);
	pthread_mutex_unlock(&emu.mutex);
	return !busy;
}

/* From here on no call gets in. What was submitted before is finished first. */
static CUresult lock(uint32_t timeout_ms)
{
	static const struct timespec nap = { 0, 1000000 };
	uint64_t until = emu_now_ns() + (uint64_t)timeout_ms * 1000000;

	if (emu_checkpoint_state() != CU_PROCESS_STATE_RUNNING)
		return CUDA_ERROR_ILLEGAL_STATE;
	emu_checkpoint_set_state(CU_PROCESS_STATE_LOCKED);
	while (!idle()) {
		if (timeout_ms && emu_now_ns() > until) {
			emu_checkpoint_set_state(CU_PROCESS_STATE_RUNNING);
			return CUDA_ERROR_NOT_READY;
		}
		nanosleep(&nap, NULL);
	}
	return CUDA_SUCCESS;
}

static int bring_back(void)
{
	int rc = 0;

	while (away) {
		struct moved *m = away;

		if (mremap(m->copy, m->bytes, m->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			   (void *)(uintptr_t)m->base) == MAP_FAILED)
			rc = -1;
		away = m->next;
		free(m);
	}
	return rc;
}

/*
 * Move the pages elsewhere without copying them. The program keeps its addresses, with nothing
 * behind them.
 */
static int move_away(void *user, const struct emu_range *r)
{
	uint64_t bytes = (r->size + 4095) & ~4095ull;
	CUresult *rc = user;
	struct moved *m;

	if (r->kind == EMU_MEM_HOST || r->kind == EMU_MEM_REGISTERED)
		return 0;
	if (r->kind == EMU_MEM_MAPPED) {
		*rc = CUDA_ERROR_NOT_SUPPORTED; /* other processes may have it as well */
		return -1;
	}
	m = malloc(sizeof(*m));
	if (!m) {
		*rc = CUDA_ERROR_OUT_OF_MEMORY;
		return -1;
	}
	m->copy = mremap((void *)(uintptr_t)r->base, bytes, bytes,
			 MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	if (m->copy == MAP_FAILED) {
		free(m);
		*rc = errno == EINVAL ? CUDA_ERROR_NOT_SUPPORTED :
					CUDA_ERROR_OUT_OF_MEMORY; /* exported memory is a file's */
		return -1;
	}
	m->base = r->base;
	m->bytes = bytes;
	m->next = away;
	away = m;
	away_bytes += emu_counted(r->kind, r->size);
	return 0;
}

static CUresult checkpoint(void)
{
	CUresult rc = CUDA_SUCCESS;

	if (emu_checkpoint_state() != CU_PROCESS_STATE_LOCKED)
		return CUDA_ERROR_ILLEGAL_STATE;
	/*
	 * A call that had just passed the check when the lock came may have submitted something: it
	 * has ended by now, or waits.
	 */
	emu_checkpoint_set_state(CU_PROCESS_STATE_CHECKPOINTED);
	if (!idle()) {
		emu_checkpoint_set_state(CU_PROCESS_STATE_LOCKED);
		return CUDA_ERROR_NOT_READY;
	}
	away_bytes = 0;
	emu_mem_each(emu.mem, move_away, &rc);
	if (rc != CUDA_SUCCESS) {
		emu_checkpoint_set_state(bring_back() ? CU_PROCESS_STATE_FAILED :
							CU_PROCESS_STATE_LOCKED);
		return rc;
	}
	emu_device_release(emu.dev, away_bytes);
	return CUDA_SUCCESS;
}

static CUresult restore(void)
{
	if (emu_checkpoint_state() != CU_PROCESS_STATE_CHECKPOINTED)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (away_bytes && emu_device_reserve(emu.dev, away_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (bring_back()) {
		emu_checkpoint_set_state(CU_PROCESS_STATE_FAILED);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	emu_checkpoint_set_state(CU_PROCESS_STATE_LOCKED);
	return CUDA_SUCCESS;
}

static CUresult unlock(void)
{
	if (emu_checkpoint_state() != CU_PROCESS_STATE_LOCKED)
		return CUDA_ERROR_ILLEGAL_STATE;
	emu_checkpoint_set_state(CU_PROCESS_STATE_RUNNING);
	return CUDA_SUCCESS;
}

/* ---- between the processes ---- */

static socklen_t name_of(struct sockaddr_un *a, pid_t pid)
{
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1,
					    "gpushare-emu-checkpoint-%d", (int)pid));
}

static void answer(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);
	struct timeval limit = { 5, 0 };
	struct answer a = { CUDA_ERROR_INVALID_VALUE, 0 };
	struct question q;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) ||
	    (who.uid && who.uid != geteuid()) || recv(fd, &q, sizeof(q), 0) != (ssize_t)sizeof(q))
		return;
	switch (q.command) {
	case GET_STATE:
		a.result = CUDA_SUCCESS;
		break;
	case LOCK:
		a.result = lock(q.timeout_ms);
		break;
	case CHECKPOINT:
		a.result = checkpoint();
		break;
	case RESTORE:
		a.result = restore();
		break;
	case UNLOCK:
		a.result = unlock();
		break;
	default:
		break;
	}
	a.state = emu_checkpoint_state();
	send(fd, &a, sizeof(a), MSG_NOSIGNAL);
}

static void *listen_main(void *arg)
{
	int fd = (int)(intptr_t)arg;

	emu_checkpoint_answers();
	for (;;) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			break;
		}
		answer(client);
		close(client);
	}
	close(fd);
	return NULL;
}

/* A process that cannot be asked runs all the same. */
void emu_checkpoint_listen(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un a;
	pthread_attr_t attr;
	pthread_t thread;

	emu_checkpoint_set_state(CU_PROCESS_STATE_RUNNING);
	if (fd < 0)
		return;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (bind(fd, (struct sockaddr *)&a, name_of(&a, getpid())) || listen(fd, 4) ||
	    pthread_create(&thread, &attr, listen_main, (void *)(intptr_t)fd))
		close(fd);
	pthread_attr_destroy(&attr);
}

static CUresult query(int pid, enum command command, uint32_t timeout_ms, CUprocessState *state_of)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct question q = { command, timeout_ms };
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	struct sockaddr_un to;
	struct ucred who;
	socklen_t len = sizeof(who);
	struct answer a;

	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	if (pid > 0 && connect(fd, (struct sockaddr *)&to, name_of(&to, pid)) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.pid == pid) {
		rc = CUDA_ERROR_NOT_PERMITTED;
		if (send(fd, &q, sizeof(q), MSG_NOSIGNAL) == (ssize_t)sizeof(q) &&
		    recv(fd, &a, sizeof(a), 0) == (ssize_t)sizeof(a)) {
			rc = (CUresult)a.result;
			if (state_of)
				*state_of = (CUprocessState)a.state;
		}
	}
	close(fd);
	return rc;
}

CUresult CUDAAPI cuCheckpointProcessGetState(int pid, CUprocessState *state_of)
{
	return state_of ? query(pid, GET_STATE, 0, state_of) : CUDA_ERROR_INVALID_VALUE;
}

/* No thread in particular is needed: any may do the restoring. */
CUresult CUDAAPI cuCheckpointProcessGetRestoreThreadId(int pid, int *tid)
{
	CUprocessState s;

	if (!tid)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(query(pid, GET_STATE, 0, &s));
	*tid = pid;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args)
{
	return query(pid, LOCK, args ? args->timeoutMs : 0, NULL);
}

CUresult CUDAAPI cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args)
{
	(void)args;
	return query(pid, CHECKPOINT, 0, NULL);
}

CUresult CUDAAPI cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args)
{
	/* the only device takes the only device's place */
	if (args && args->gpuPairsCount > 1)
		return CUDA_ERROR_INVALID_VALUE;
	return query(pid, RESTORE, 0, NULL);
}

CUresult CUDAAPI cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args)
{
	(void)args;
	return query(pid, UNLOCK, 0, NULL);
}
