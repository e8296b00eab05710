/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the campaign's injector (inject.c, preloaded into the program under test) and its harness
 * (torture.py has the same layout) share: a mapped file, named by the variable GPUSHARE_INJECT.
 */
#ifndef GPUSHARE_CAMPAIGN_INJECT_H
#define GPUSHARE_CAMPAIGN_INJECT_H

#include <stdatomic.h>
#include <stdint.h>

#define INJECT_ENV "GPUSHARE_INJECT"
/* A part of the name of the object whose calls count; without it the program itself. */
#define INJECT_OBJECT_ENV "GPUSHARE_INJECT_OBJECT"

enum inject_mode {
	INJECT_FAIL,        /* the call fails with the error of calls.def */
	INJECT_INTERRUPTED, /* those that may: EINTR */
	INJECT_SHORT,       /* reads and writes do half of what they are to */
};

struct inject {
	_Atomic uint32_t on;
	uint32_t pid;       /* only calls of this process count; 0: of all that have the object */
	uint32_t mode;      /* enum inject_mode */
	uint32_t libraries; /* calls of all else in the process count as well */
	uint64_t from, to;  /* the calls of these numbers fail, counted from 0 */
	_Atomic uint64_t count;   /* calls so far */
	_Atomic uint64_t failed;  /* of them failed */
	_Atomic uint64_t address; /* where the last that failed returns to, from the beginning of
				     the object's file; 0: to another object */
	char name[32];            /* of the last that failed */
};

#endif
