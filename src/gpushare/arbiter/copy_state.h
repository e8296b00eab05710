/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What copies.h keeps of a GPU's settings and of a client. */
#ifndef GPUSHARE_ARBITER_COPY_STATE_H
#define GPUSHARE_ARBITER_COPY_STATE_H

#include "gpushare/arbiter/copy_policy.h"
#include "gpushare/proto/page.h"

struct gs_copy_options {
	enum gs_copy_policy policy;
	uint32_t chunk_kib[GS_COPY_ENGINES]; /* 0: copies stay whole */
};

/* What is known of a client's copies; all zero: nothing. */
struct gs_client_copies {
	struct gs_copier copier[GS_COPY_ENGINES];
	uint64_t made[GS_COPY_ENGINES];     /* bytes, as the page said last */
	uint64_t moved_ns[GS_COPY_ENGINES]; /* when it last was found to copy; 0: never */
	uint64_t waited[GS_COPY_ENGINES];   /* of the copier's waited_ns, what is booked */
	uint32_t pending[GS_COPY_ENGINES];  /* runs that are not over */
	struct gs_copy_seen {
		uint32_t done;
		uint64_t since_ns; /* when that was new; 0: there is no run */
	} run[GS_COPY_RUNS];
};

#endif
