/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a variant of each form is run to the end of its grid, with evictions on the way. */
#ifndef GPUSHARE_EQUIV_FORM_H
#define GPUSHARE_EQUIV_FORM_H

#include "case.h"
#include "device/ptx/ctl.h"
#include "device/ptx/guard.h"
#include "device/ptx/transform.h"

/* How the variant is run. */
struct way {
	unsigned workers, chunk, chunk_max, chunk_ns;
	unsigned probe_every; /* the probe in the body evicts after so many block-tasks: 0: never */
	unsigned every;       /* end the grid after so many block-tasks: 0: never */
	unsigned limit_us;    /* set the limit to 0 after so long: 0: never */
	unsigned limit;       /* of workers, at first: 0: all */
	unsigned proxy; /* worker 0, or a guarded kernel's watcher, watches: after limit_us the slot
			   says TOEVICT, nobody writes the limit */
	uint32_t sms;   /* gs_ctl_sms() */
	unsigned seed;  /* of the times after which the limit is set again; 0: always the same */
	uint8_t *behind; /* page-locked, image_size() bytes: what a stream that waits for the end
			    sees; or NULL */
};

/* What host and device both see. */
struct shared_words {
	struct gs_ctl ctl; /* of a guarded variant only `done` */
	uint64_t guard;    /* W */
	uint8_t pad[56];
	uint8_t slot[64];
	uint32_t nobody[16]; /* the probe's limit where there is none */
};

struct board {
	struct shared_words *host;
	uint64_t device; /* its address there */
	void *stream;    /* of the kernel */
	void *behind;    /* of what must come after it */
	void *watch;     /* of the guarded kernel's watcher */
};

/* Run the variant until no block-task remains; returns the evictions. */
typedef unsigned form_run(struct launch *l, void *variant, const struct board *b,
			  const struct way *w);

form_run persistent_run, guarded_run, sliced_run;

#endif
