/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a name comes twice in a text, without keeping the names: two bytes each of a Bloom
 * filter (B. H. Bloom, Space/time trade-offs in hash coding with allowable errors, 1970),
 * which never takes a known name for a new one.  A new one that it takes for known, on average
 * one in 13,000, is suspected like those that come twice; the suspects, at most 1024 at a time,
 * are looked for in the text itself, so that the answer is exact.
 */
#ifndef GPUSHARE_SIM_NAMES_H
#define GPUSHARE_SIM_NAMES_H

#include "gpushare/sim/text.h"

struct sim_names;

/* For at most `most` names; the text outlives it.  NULL: no memory. */
struct sim_names *sim_names_create(const struct sim_text *text, uint64_t most);
void sim_names_destroy(struct sim_names *names); /* NULL is fine */

/* The next kernel of the text has this name.  -1 with the reason: it, or one before, comes twice. */
int sim_names_add(struct sim_names *names, const char *name, struct gs_error *err);

/* Are all that were added different?  0; -1 with "name:line:column: reason" of the first that is not. */
int sim_names_settle(struct sim_names *names, struct gs_error *err);

#endif
