/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A capture under way: the graph that its streams build. */
#ifndef GPUSHARE_EMU_CAPTURE_H
#define GPUSHARE_EMU_CAPTURE_H

#include "device/emu/graph.h"

struct emu_capture {
	struct CUgraph_st *graph;
	struct CUstream_st *origin;
	uint64_t id;
	int invalid;
	unsigned int refs; /* streams in it */
};

/* The stream is in no capture any more.  Under the context's mutex. */
void emu_capture_leave(struct CUstream_st *s);

#endif
