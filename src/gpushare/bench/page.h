/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tool and the programs that it starts share: a file in the tool's
 * private folder, mapped by all.  A slot is one program's: the tool writes an
 * order into it and rings; the program carries it out and rings back.  The
 * programs are initialised long before they are released, so that only the
 * launch is inside the time that is measured.
 */
#ifndef GPUSHARE_BENCH_PAGE_H
#define GPUSHARE_BENCH_PAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define BENCH_PROGRAMS_MAX 64
#define BENCH_SAMPLES_MAX 16384
#define BENCH_STRETCHES_MAX 4096
#define BENCH_WINDOWS_MAX 1024
#define BENCH_THREADS 256 /* of a block of the kernel */

enum bench_order {
	BENCH_PREPARE,   /* context, module, memory */
	BENCH_CALIBRATE, /* find `iterations` for task_ns, and what a wave takes */
	BENCH_RUN,       /* launch `launches` times, see bench_work */
	BENCH_COPY,      /* the same with copies of `tasks` bytes; see bench_work.call */
	BENCH_FRAMES,  /* the same with frames: a copy of `bytes` to the device, `kernels` kernels,
			  a copy back; a frame that is due while another one runs follows it */
	BENCH_CALLS,   /* `launches` calls of the driver, each timed; see bench_work.call */
	BENCH_SUITE,   /* kernel `call` of the suite, size `tasks`, `launches` times; sample[0] */
	BENCH_SLICES,  /* the same kernel cut into slices; see enum bench_slices_way */
	BENCH_CORUN,   /* kernels of the suite beside each other; see struct bench_corun */
	BENCH_COLLECT, /* when the last launch's block-tasks ran; check all counts */
	BENCH_CLOCK,   /* what the device's clock shows */
	BENCH_WINDOWS, /* the last launch's last block-task in each window */
	BENCH_QUIT,
};

/* What BENCH_CALLS calls; the samples are one per call, launch_ns to finish_ns. */
enum bench_call {
	BENCH_CALL_LAUNCH, /* cuLaunchKernel; now and then, untimed, it waits for the kernels */
	/*
	 * Of these calls every second one goes past gpushare's shim, so that what the shim adds is
	 * measured within one process.
	 */
	BENCH_CALL_BESIDE, /* cuLaunchKernel */
	BENCH_CALL_MEMORY, /* cuMemAlloc of 1 MiB, then cuMemFree: two through the shim, two past it
			    */
	BENCH_CALL_COPY,   /* cuMemcpyHtoDAsync of 4 bytes */
};

/* What BENCH_COPY copies. May be or'ed with BENCH_COPY_BACK, from the device, and BENCH_COPY_PAST,
 * past gpushare's shim. */
enum bench_copy {
	BENCH_COPY_PINNED,
	BENCH_COPY_PAGEABLE,
	BENCH_COPY_PLANE, /* pinned, in rows that are not all of their pitch */
	BENCH_COPY_KINDS,
	BENCH_COPY_BACK = 16,
	BENCH_COPY_PAST = 32,
};

/*
 * How BENCH_SLICES launches kernel `call` of size `tasks`, in slices of `slice` blocks.  The whole
 * is in sample[0], slices that are waited for in those behind it.
 */
enum bench_slices_way {
	BENCH_AS_WRITTEN, /* the kernel itself, `launches` times */
	BENCH_ONE_SLICE,  /* its sliced variant in one launch */
	BENCH_IN_STREAM,  /* all slices, one behind the other */
	BENCH_WITH_CHECK, /* the host waits for each and looks whether it is to stop */
	BENCH_SLICES_WAYS,
	BENCH_SOME_SLICES = BENCH_SLICES_WAYS, /* the same of `launches` slices, evenly spaced */
	BENCH_SLICES_COMPARE = 16, /* or'ed: from memory as loaded, and with what the kernel as
				      written makes of it; answer.wrong */
};

/*
 * A kernel of the suite that BENCH_CORUN launches again and again for span_ns, in a stream of its
 * own beside the slot's other ones: as written, or its persistent variant with so many workers on
 * each multiprocessor, which stay on those that `sms` names (ctl.h).
 */
#define BENCH_CORUN_MAX 4

struct bench_corun {
	uint32_t call;    /* its number in the suite */
	uint32_t workers; /* on each multiprocessor; 0: as written */
	uint32_t sms;     /* gs_ctl_sms(); 0: all */
	uint64_t size;

	/* Answered. */
	uint32_t refused;   /* it has no persistent variant: an enum ptx_reason; 0: it has one */
	uint32_t fits;      /* workers that fit on a multiprocessor */
	uint32_t registers; /* of a worker, all threads */
	uint32_t shared;    /* bytes */
	uint32_t threads;
	uint64_t launches; /* that ended within the span, and when the first and the last one did */
	uint64_t first_ns, last_ns;
	uint64_t begun; /* launches, also those that ended later */
	uint64_t empty; /* of them those that ended at once, as no worker was where it might stay */
};

/* One launch, ns of gs_clock_ns(). */
struct bench_sample {
	uint64_t release_ns; /* it was due */
	uint64_t launch_ns;  /* the program launched it */
	uint64_t finish_ns;  /* the program saw its end */
};

struct bench_stretch {
	uint64_t from_ns, to_ns;
};

/* From, to and the answer on the device's clock, ns. */
struct bench_window {
	uint64_t from, to, last;
};

/* Both clocks at one instant, but for error_ns either way. */
struct bench_clock {
	uint64_t host_ns, device_ns, error_ns;
};

/* What a program launches. */
struct bench_work {
	char folder[512];    /* of the suite's PTX */
	uint64_t tasks;      /* block-tasks of one launch */
	uint32_t iterations; /* of one block-task */
	uint32_t call;       /* enum bench_call, or enum bench_copy */
	uint32_t way;        /* enum bench_slices_way */
	uint64_t slice;      /* blocks */
	uint64_t bytes;      /* of each of a frame's two copies of pinned memory; 0: it has none */
	uint32_t kernels;    /* of a frame, one after the other; may be 0 */
	uint32_t launches;   /* at most; 0: until `stop` */
	uint64_t release_ns; /* of the first launch; 0: at once */
	uint64_t period_ns;  /* between releases; 0: when the one before has finished */
	uint64_t task_ns;    /* wanted by BENCH_CALIBRATE, known to BENCH_COLLECT */
};

/* What it tells of itself, its device and its launches. */
struct bench_answer {
	uint32_t job;      /* that gpushared knows it as; 0: none */
	uint64_t wave_ns;  /* one block-task on every place of the device */
	uint64_t resident; /* places of the device */
	uint64_t memory;   /* of the device, bytes */
	uint64_t launched; /* by the last BENCH_RUN; the first BENCH_SAMPLES_MAX have samples */
	uint64_t wrong;    /* block-tasks that did not run once per launch; words that differ */
	uint64_t wave;     /* blocks of the sliced kernel that the device holds; 0: it has none */
	uint32_t refused;  /* why: an enum ptx_reason */
	struct bench_size {
		uint32_t sms, registers, shared, threads, blocks; /* of each multiprocessor */
	} size;                                                   /* told by BENCH_CORUN */
	char device[96], driver[24];
	struct bench_clock clock;
};

struct bench_slot {
	_Atomic uint32_t given, done; /* orders so far; futexes */
	uint32_t order;
	uint32_t failed;
	char why[GS_ERROR_TEXT_MAX];

	struct bench_work work;
	uint64_t span_ns; /* of BENCH_CORUN */
	uint32_t coruns;  /* kernels beside each other, 1 to BENCH_CORUN_MAX */
	struct bench_corun corun[BENCH_CORUN_MAX];
	_Atomic uint32_t stop;
	struct bench_answer answer;
	uint32_t windows; /* asked for by BENCH_WINDOWS */
	struct bench_window window[BENCH_WINDOWS_MAX];
	uint32_t stretches;
	struct bench_sample sample[BENCH_SAMPLES_MAX];
	struct bench_stretch stretch[BENCH_STRETCHES_MAX];
};

struct bench_page {
	_Atomic uint32_t doorbell; /* rung for the tool; a futex */
	int32_t tool;              /* pid: programs whose tool is gone end */
	uint32_t spin;             /* enough cores that waiting programs need not sleep */
	uint32_t slots;
	uint32_t guarded; /* bench_stage.guarded */
	struct bench_slot slot[];
};

/* Make the file and map it; NULL with the reason. */
struct bench_page *bench_page_create(const char *path, uint32_t slots, struct gs_error *err);
struct bench_page *bench_page_open(const char *path, struct gs_error *err);
void bench_page_close(struct bench_page *page);

/* Add one and wake who waits. */
void bench_doorbell(_Atomic uint32_t *doorbell);

/* Until *doorbell is no longer `seen`, at most timeout_ms. */
void bench_wait_for(_Atomic uint32_t *doorbell, uint32_t seen, unsigned timeout_ms);

/* Until gs_clock_ns() is at_ns, to the microsecond where the cores allow. */
void bench_sleep_until(uint64_t at_ns, int spin);

#endif
