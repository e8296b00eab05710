/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams for the shim's tests; see shim_streams.h. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "shim_streams.h"

static unsigned int made;
_Atomic int pending[MADE];
_Atomic int requested;
_Atomic int stands, usage;
_Atomic int captured;

static CUresult make_stream(CUstream *stream, unsigned int flags)
{
	(void)flags;
	*stream = AT(made++);
	return CUDA_SUCCESS;
}

static CUresult destroy_stream(CUstream stream)
{
	(void)stream;
	return CUDA_SUCCESS;
}

static CUresult query(CUstream stream)
{
	size_t i = ((uintptr_t)stream - 0x9000) / 0x10;

	if (i >= MADE) /* the shim's own */
		return CUDA_SUCCESS;
	requested++;
	usage = stands;
	while (stands)
		usleep(100);
	usage = 0;
	return pending[i] ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode)
{
	(void)stream;
	(void)mode;
	captured = 1;
	return CUDA_SUCCESS;
}

__thread int is_out;
static CUresult (*real_wait)(CUstream, CUdeviceptr, cuuint32_t, unsigned int);

static CUresult wait_value(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned int flags)
{
	CUresult rc = real_wait(stream, at, value, flags);

	is_out = 1;
	return rc;
}

static CUresult wait_event(CUstream stream, CUevent event, unsigned int flags)
{
	(void)stream;
	(void)event;
	(void)flags;
	return CUDA_SUCCESS;
}

int streams_setup(void **state)
{
	shim_channels_patience_ns = 2 * GS_NS_PER_S; /* long enough to see it */
	if (shim_rig_setup(state) < 0)
		return -1;
	shim_slot[SHIM_FN_cuStreamCreate] = make_stream;
	shim_slot[SHIM_FN_cuStreamDestroy_v2] = destroy_stream;
	shim_slot[SHIM_FN_cuStreamQuery] = query;
	shim_slot[SHIM_FN_cuStreamWaitEvent] = wait_event;
	shim_slot[SHIM_FN_cuStreamBeginCapture_v2] = begin_capture;
	real_wait = shim_slot[SHIM_FN_cuStreamWaitValue32_v2];
	shim_slot[SHIM_FN_cuStreamWaitValue32_v2] = wait_value;
	return 0;
}

void make(unsigned int n)
{
	CUstream stream;

	while (made < n)
		assert_int_equal(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
}

int launches(unsigned int i)
{
	uint64_t before = shim_kernel_find(kernel)->evictable_launches;

	pending[i] = 1;
	assert_int_equal(launch_in(kernel, LONG_GRID, AT(i)), CUDA_SUCCESS);
	return shim_kernel_find(kernel)->evictable_launches != before;
}

void occupy(unsigned int i)
{
	pending[i] = 1;
	assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, AT(i)), CUDA_SUCCESS);
}

void occupy_by_event(unsigned int i)
{
	pending[i] = 1;
	assert_int_equal(cuStreamWaitEvent(AT(i), NULL, 0), CUDA_SUCCESS);
}

void over(void)
{
	finish_all();
	for (int i = 0; i < MADE; i++)
		pending[i] = 0;
	EVENTUALLY(all_prepared());
}

void *launch_as_is(void *arg)
{
	struct call *c = arg;

	c->begun = 1;
	pending[c->stream] = 1;
	c->done = launch_in(FAKE_MACHINE_CODE, LONG_GRID, AT(c->stream)) == CUDA_SUCCESS;
	return NULL;
}

void *wait_there(void *arg)
{
	struct call *c = arg;

	c->begun = 1;
	pending[c->stream] = 1;
	c->done = cuStreamWaitEvent(AT(c->stream), NULL, 0) == CUDA_SUCCESS;
	return NULL;
}

void *launch_graph(void *arg)
{
	struct call *c = arg;

	c->begun = 1;
	c->done = cuGraphLaunch(FAKE_GRAPH, AT(c->stream)) == CUDA_SUCCESS;
	return NULL;
}

void begin_waiting(struct call *c, void *(*body)(void *), unsigned int stream)
{
	*c = (struct call) { .stream = stream };
	assert_int_equal(pthread_create(&c->thread, NULL, body, c), 0);
	EVENTUALLY(c->begun);
	usleep(30000);
	assert_int_equal(c->done, 0);
}

void expect_done(struct call *c)
{
	EVENTUALLY(c->done);
	pthread_join(c->thread, NULL);
}

void begin_idle(void)
{
	for (unsigned int i = 1; i <= BUSY; i++)
		assert_int_equal(cuStreamWaitEvent(AT(i), NULL, 0), CUDA_SUCCESS);
	assert_true(launches(0)); /* as no slot is out */
	over();
}

void begin_full(void)
{
	begin_idle();
	assert_true(launches(0));
	for (unsigned int i = 1; i < BUSY - 1; i++)
		occupy_by_event(i);
}
