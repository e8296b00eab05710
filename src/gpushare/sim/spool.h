/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records by number, all zero at first, of which a part is in memory: the blocks used last,
 * at first of 16384 records.  The others are in a temporary file, which is made when it is needed.
 */
#ifndef GPUSHARE_SIM_SPOOL_H
#define GPUSHARE_SIM_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct sim_spool;

/* Of records of `size` bytes.  NULL: no memory. */
struct sim_spool *sim_spool_create(size_t size);
void sim_spool_destroy(struct sim_spool *spool); /* NULL is fine */

/*
 * The record, to be read, or to be read and written, until the next call.  Never
 * NULL: after a failure, which sim_spool_check() tells, it is one that means nothing.
 */
const void *sim_spool_get(struct sim_spool *spool, uint64_t number);
void *sim_spool_set(struct sim_spool *spool, uint64_t number);

/* So many records are in use at a time: hold them in memory, if there is as much. */
void sim_spool_widen(struct sim_spool *spool, size_t records);

/* 0; -1 with the reason: the temporary file failed. */
int sim_spool_check(const struct sim_spool *spool, struct gs_error *err);

#endif
