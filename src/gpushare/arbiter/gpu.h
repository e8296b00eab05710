/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of one GPU: the link between the clients' pages and the scheduler.
 *
 * The scheduler's task is a client's busy period: from its first READY slot until none of its slots
 * waits for the GPU or is on it. At most one client is the holder, whose time slice comes from the
 * policy; others may have a time slice beside it (holders.h). A client that is alone keeps the time
 * slice and launches without asking. It still becomes a task whenever a poll finds it busy, so that
 * the policy can compare it when another client comes.
 *
 * This folder has no sockets and no clock: time is a parameter (ns, monotonic), and what the caller
 * must do is returned as values. So the tests can drive it with plain structs for pages. Nothing
 * here is thread-safe: one thread, the GPU's arbiter, makes all calls.
 */
#ifndef GPUSHARE_ARBITER_GPU_H
#define GPUSHARE_ARBITER_GPU_H

#include <stdint.h>

#include "common/error.h"
#include "gpushare/arbiter/settings.h"
#include "gpushare/proto/trace.h"

/* What `gpusharectl status` shows of a GPU. The strings belong to the GPU and are valid until its
 * next call. */
struct gs_gpu_status {
	const char *policy;
	int by_priority; /* the policy chooses among tasks of one priority; higher ones go first */
	/* NULL, or the policy that broke its contract and that `policy` replaces */
	const char *broke;
	struct gs_gpu_class {
		const char *name;
		struct gs_sched_class_status is;
	} class[GS_SCHED_CLASSES_MAX]; /* only classes that have a name */
	size_t nclasses;
	uint64_t holder; /* client id; 0: nobody */
	uint32_t clients, waiting;
	uint32_t draining; /* 1 while an eviction is under way */
	uint32_t faults;   /* contract violations of the policy */
	uint64_t evictions, overdue;
	double evict_p50_us, evict_p99_us; /* of the latest evictions, see step_usage.h */
	uint64_t handover_ns;              /* what the scheduler assumes a hand-over to cost now */
	/* clients that run beside each other on parts of it, or are tried (corun.h); and the sum of
	 * their progress and its fairness (corun/balance.h), NAN in trials and while each is
	 * measured alone */
	uint32_t corun;
	double corun_progress, corun_fairness;
};

/* Makes the state of GPU number `index`; NULL with the reason. The options are copied. */
struct gs_gpu *gs_gpu_create(uint32_t index, const struct gs_gpu_options *options, uint64_t now,
			     struct gs_error *err);
/* Frees the GPU, whose clients must have been removed; NULL is fine. */
void gs_gpu_destroy(struct gs_gpu *gpu);

/* Applies new settings: makes a new scheduler and moves the live tasks to it. Returns 0; -1 with
 * the reason if the settings are wrong or there is no memory, and then the old scheduler stays. */
int gs_gpu_configure(struct gs_gpu *gpu, const struct gs_gpu_options *options, uint64_t now,
		     struct gs_error *err);

/*
 * Adds a client. What params points to must outlive it. adopted: the page comes from an earlier
 * daemon, or the client ran without one, so kernels may be running; the client keeps the GPU if it
 * is free, else its kernels are told to leave. Returns the client, which the GPU owns until
 * gs_gpu_remove(); NULL: no memory.
 */
struct gs_gpu_client *gs_gpu_add(struct gs_gpu *gpu, const struct gs_gpu_client_params *params,
				 int adopted, uint64_t now);

/*
 * Removes and frees a client whose process is gone, and its kernels with it. The next step decides
 * anew. Returns gs_gpu_client_counted() including what this call still finds in the page.
 */
struct gs_counted gs_gpu_remove(struct gs_gpu *gpu, struct gs_gpu_client *client, uint64_t now);

/* The client sent DOORBELL: the next step polls its page. */
void gs_gpu_doorbell(struct gs_gpu_client *client);

/* Marks each client that has made a request through its page since the last call, so that the next
 * step polls its page. Returns 1 if there was any. */
int gs_gpu_hear(struct gs_gpu *gpu);

/* Writes to all pages who notices requests from now on. Before the first call clients have to send
 * DOORBELL. */
void gs_gpu_attend(struct gs_gpu *gpu, enum gs_attended attended);

/* The word that changes when a client makes a request, and its value when it was last read. */
struct gs_doorbell {
	const _Atomic uint32_t *word;
	uint32_t heard;
};

/* Fills in the words of the first `max` clients, valid until a client comes or goes. Returns the
 * number of clients, which may be above max. */
size_t gs_gpu_doorbells(const struct gs_gpu *gpu, struct gs_doorbell *doorbell, size_t max);

/*
 * Should the caller poll rather than sleep? Yes, while several clients share the GPU, or have in
 * the last 10 ms, and one of them waits or may have to. Not while every client that wants the GPU
 * may launch.
 */
int gs_gpu_wants_polling(const struct gs_gpu *gpu, uint64_t now);

/* Returns 1, once, after a step has found a client that is bad or overdue. */
int gs_gpu_has_news(struct gs_gpu *gpu);

/* Fetches and clears what launches have reported since the last call; returns how many entries were
 * written. */
size_t gs_gpu_lessons(struct gs_gpu *gpu, struct gs_lesson lesson[GS_GPU_LESSONS]);

/* Returns 1 if the client's page holds a value that is no launch state; *state is that value, and
 * the caller must disconnect the client. */
int gs_gpu_client_bad(const struct gs_gpu_client *client, uint32_t *state);

/* Returns 1, once, when the client's kernels have not left by the deadline. */
int gs_gpu_client_overdue(struct gs_gpu_client *client);

/* The number that the client gave to one of its kernels that is on the GPU now; UINT32_MAX: none
 * is. */
uint32_t gs_gpu_client_kernel_on_gpu(const struct gs_gpu_client *client);

/* What the usage includes of the client's page, counted from the client's beginning. */
struct gs_counted gs_gpu_client_counted(const struct gs_gpu_client *client);

/* Are kernels of the client on the GPU, as far as its page says? */
int gs_gpu_client_on_gpu(const struct gs_gpu_client *client);

/* What reports say that the client does. It RUNS if it has had work on the GPU in the last quarter
 * of a second, so that a client with short kernels does not seem to start and stop. */
enum gs_doing {
	GS_DOING_NOTHING,
	GS_DOING_STOPPED,
	GS_DOING_IDLES,
	GS_DOING_WAITS,
	GS_DOING_WAITS_BESIDE, /* it waits, and kernels of it that cannot leave are on the GPU */
	GS_DOING_RUNS
};
enum gs_doing gs_gpu_client_doing(const struct gs_gpu_client *client, uint64_t now);

/*
 * Says that the client's process has been stopped (1) or continues (0). While it is stopped others
 * do not wait for it: it cannot react, so what it has on the GPU stays there. It gets no time
 * slice, and the time is not booked. Returns 1 if this is a change.
 */
int gs_gpu_client_stopped(struct gs_gpu_client *client, int stopped, uint64_t now);

/* Does it matter whether the client's process runs: could others wait for it, or is it known as
 * stopped? */
int gs_gpu_client_matters(const struct gs_gpu_client *client);

/*
 * From its next time slice on this client alone has the GPU, until it is unpinned or removed. The
 * driver can checkpoint a process only while none of its kernels is evicted (pin.c). One client of
 * a GPU at a time; returns 0, or -1: another client is pinned.
 */
int gs_gpu_pin(struct gs_gpu_client *client);
/* Ends the pinning, if any. */
void gs_gpu_unpin(struct gs_gpu *gpu);
/* Returns 1 once the pinned client has finished all that it had begun before it was pinned. */
int gs_gpu_settled(const struct gs_gpu *gpu);

/* Sets the client's priority, also of the task under way, and the highest priority that single
 * launches of it may have. */
void gs_gpu_client_priority(struct gs_gpu_client *client, int32_t priority, int32_t most,
			    uint64_t now);

/* Sets the class of the client's next tasks; an index into the classes. */
void gs_gpu_client_class(struct gs_gpu_client *client, uint32_t class);

/* Changes the policy; the tasks keep their history. Returns 0; -1 with the known names: there is no
 * such policy. */
int gs_gpu_set_policy(struct gs_gpu *gpu, const char *policy, uint64_t now, struct gs_error *err);

/* Changes the policy of the class of that name. Returns 0; -1 also if there is no such class. */
int gs_gpu_set_class_policy(struct gs_gpu *gpu, const char *class, const char *policy, uint64_t now,
			    struct gs_error *err);

/* Appends the trace to the image, including what is under way. Returns 0; -1: no memory. */
int gs_gpu_trace(const struct gs_gpu *gpu, uint64_t now, struct gs_trace_image *image);

/* From now on gs_gpu_step() asks to be called again no sooner than after `ns`, except for a
 * deadline. */
void gs_gpu_poll_every(struct gs_gpu *gpu, uint64_t ns);

/* One step: poll the pages, decide, act. Returns when it must be called again at the latest, ns;
 * UINT64_MAX: only when something happens. */
uint64_t gs_gpu_step(struct gs_gpu *gpu, uint64_t now);

/* Books what is under way up to `now`, so that the usages are current. */
void gs_gpu_settle(struct gs_gpu *gpu, uint64_t now);

/* Fills in *status. */
void gs_gpu_status(struct gs_gpu *gpu, struct gs_gpu_status *status);

#endif
