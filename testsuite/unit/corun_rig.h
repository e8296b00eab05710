/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs whose kernels' speed depends on their part of the GPU: what the tests of arbiter/corun.h
 * have in common, on top of sharing_rig.h. */
#ifndef GPUSHARE_TEST_CORUN_RIG_H
#define GPUSHARE_TEST_CORUN_RIG_H

#include "sharing_rig.h"

#define EPOCH (50 * MS)
#define FULL 1.0

/* A program that launches the same kernel again and again. */
struct program {
	struct client *c;
	uint64_t alone_ns; /* of a launch */
	double claim;      /* it says that it is so many times as long */
	double enough;     /* with this part of the GPU the kernel is as fast as it gets */
	uint32_t flags;
	double tasks; /* that its launch has done */
	double part;  /* that its blocks have */
	double did;   /* launches, in all */
	uint64_t idle_until;
};

/* MPS, and at most so many beside each other, in epochs of EPOCH. */
void begin_corun(uint32_t most);
struct program program_with(uint32_t shares, uint64_t id, uint64_t alone_ns, double enough);
struct program program(uint64_t id, uint64_t alone_ns, double enough);
/* A process of the program with that key. */
struct program of_program(uint64_t key, uint64_t id, uint64_t alone_ns, double enough);
/* Of the GPU, 0 to FULL. */
double part_of(const struct program *p);
/* So long, with all of them. Kernels that may be anywhere share the GPU evenly. */
void play(struct program *p, size_t n, uint64_t ns);
/* If its kernel has ended. */
void launch_again(struct program *p);
int is_running(const struct program *p);
void count_anew(struct program *p, size_t n);
/* What it did, as a part of what it does alone. */
double progress(const struct program *p, uint64_t ns);
/* What so many do together, as the status says; NAN: it does not. */
double together(uint32_t n);

#endif
