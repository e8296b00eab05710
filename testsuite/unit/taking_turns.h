/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients that take turns, one computing what the other one has left: what the tests of ahead.c share. */
#ifndef GPUSHARE_TEST_TAKING_TURNS_H
#define GPUSHARE_TEST_TAKING_TURNS_H

#include "gpu_rig.h"

#define WAY_NS (150 * US) /* from a launch to its first block-task, after somebody else */
#define COMES_NS (60 * US) /* after the other one's end */

extern uint64_t next;      /* when the loop has its next turn */
extern uint64_t kernel_ns; /* what they launch takes; at first 1 ms */
extern unsigned looks;
extern int tells;    /* the clients say when they launch */
extern int unsteady; /* some come sooner than COMES_NS, some later, and the loop wakes up late */

/* The loop's turns until then. */
void loop_until(uint64_t then);
/* What a client rings for is served at once. */
void serve(void);
/* It launches as it may, and its kernel runs to its end; 1 if it had to ask. */
int run_one(struct client *c);

void begin_two(struct client **a, struct client **b);
/* They take turns until neither has to ask any more. */
void get_used(struct client *a, struct client *b);
void begin_used(struct client **a, struct client **b);
/* And a has had its turn, so b has the next one ahead. */
void begin_ahead(struct client **a, struct client **b);

#endif
