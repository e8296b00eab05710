/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bridge between pages and the scheduler, driven by fake clients that
 * write plain structs, with time as a parameter: what its tests share.
 */
#ifndef GPUSHARE_TEST_GPU_RIG_H
#define GPUSHARE_TEST_GPU_RIG_H

#include "common/clock.h"
#include "gpushare/arbiter/gpu.h"
#include "gpushare/arbiter/watch.h"
#include "gpushare/proto/page.h"

#define MS GS_NS_PER_MS
#define US GS_NS_PER_US
#define T0 (1000 * MS)

/* A client that plays by the rules, and the GPU below it. */
struct client {
	struct gs_page *page;
	struct gs_step_usage usage;
	struct gs_kernel_map map;
	struct gs_gpu_client *gpu_client;
	uint64_t seq;
	struct gs_counted counted; /* when it joins as adopted: what of its page is in the usage */
};

extern struct gs_gpu *gpu;
extern uint64_t now;
extern uint64_t force_ns;       /* of those that join from then on; at first 0 */
extern struct gs_period period; /* the same */
extern int no_corun;            /* the same */
extern uint64_t program_key;    /* the same */

struct gs_gpu_options options_of(const char *policy);
void begin(const char *policy);
void begin_with(const struct gs_gpu_options *options);
/* All of them leave, and the GPU is gone. */
#define all_leave(...) all_leave_of((struct client *[]) { __VA_ARGS__, NULL })
void all_leave_of(struct client **clients);
void join_as(struct client *c, uint64_t id, int32_t priority, int adopted);
struct client *join(uint64_t id, int32_t priority);
/* Begins under piv: one of low priority, and one that it leaves the GPU to. */
void low_and_high(struct client **low, struct client **high);
void leave(struct client *c);
uint64_t grant(uint64_t after);
/* A move that the table allows to the one who makes it. */
void go(struct client *c, unsigned i, uint32_t from, uint32_t to, unsigned by);
uint32_t state(struct client *c, unsigned i);
uint32_t has_turn(struct client *c);
void prepare(struct client *c, unsigned i, uint64_t nt, int evictable);
/* Launch: straight to the driver with the time slice, else ask. */
void launch(struct client *c, unsigned i, uint64_t nt, int evictable);
/* The client's agent: launches what is TORUN, has heard the doorbell. */
void agent(struct client *c);
/* Nobody is on the GPU: its kernel 0 comes to run there, evictable. */
void occupy(struct client *c, uint64_t nt);
void finish(struct client *c, unsigned i);
void evicted(struct client *c, unsigned i, uint64_t done);

/* The log goes into a new file, whose path is a template of mkstemp()'s. */
void log_to(char *path);
/* Lines of it that hold the text. */
unsigned logged(const char *path, const char *text);
/* It goes where it went before, and the file is gone. */
void log_back(const char *path);

#endif
