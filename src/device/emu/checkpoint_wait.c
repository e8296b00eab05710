/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process's state, and waiting for it; see checkpoint_wait.h. */
#include "device/emu/checkpoint_wait.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t running = PTHREAD_COND_INITIALIZER;
static _Atomic CUprocessState state;
static __thread int answering;

void emu_checkpoint_answers(void)
{
	answering = 1;
}

CUprocessState emu_checkpoint_state(void)
{
	return atomic_load(&state);
}

void emu_checkpoint_set_state(CUprocessState to)
{
	pthread_mutex_lock(&mutex);
	atomic_store(&state, to);
	pthread_cond_broadcast(&running);
	pthread_mutex_unlock(&mutex);
}

void emu_checkpoint_barrier(void)
{
	if (atomic_load_explicit(&state, memory_order_relaxed) == CU_PROCESS_STATE_RUNNING ||
	    answering)
		return;
	pthread_mutex_lock(&mutex);
	while (atomic_load(&state) != CU_PROCESS_STATE_RUNNING)
		pthread_cond_wait(&running, &mutex);
	pthread_mutex_unlock(&mutex);
}

void emu_checkpoint_present(void)
{
	if (atomic_load(&state) != CU_PROCESS_STATE_CHECKPOINTED)
		return;
	pthread_mutex_lock(&mutex);
	while (atomic_load(&state) == CU_PROCESS_STATE_CHECKPOINTED)
		pthread_cond_wait(&running, &mutex);
	pthread_mutex_unlock(&mutex);
}
