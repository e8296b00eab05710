/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the reports say of a kernel's variant and of its long launches (struct shim_facts), and
 * reporting it to the daemon. */
#ifndef GPUSHARE_SHIM_FACTS_H
#define GPUSHARE_SHIM_FACTS_H

#include <stdint.h>

#include "device/shim/context/context.h"
#include "device/shim/kernel/kernels.h"
#include "device/shim/session/session.h"

/*
 * How many blocks of the kernel as written fit on one SM at once, with `threads` threads and
 * `shared` bytes of dynamic shared memory; 0: none, or the driver does not say. The context must be
 * current. Asks the driver only if threads or shared differ from the last call.
 */
uint32_t shim_facts_blocks(const struct shim_kernel *k, uint32_t threads, uint32_t shared);

/* Notes a launch that takes, or took, `ns` alone, if it is long enough for a variant. at_once: how
 * many of its blocks run at once; 0: not known. */
void shim_facts_launch(const struct shim_session *s, struct shim_code *code, uint64_t blocks,
		       uint32_t at_once, uint64_t ns);

/* Notes that a launch goes out as the kernel's variant. */
void shim_facts_used(struct shim_code *code);

/* Fills in what the daemon is told of the kernel. Returns 0 if nothing is known yet. */
int shim_facts_of(const struct shim_code *code, struct gs_msg_variant *to);

/* Reports to the daemon what has changed; anyway: all that is known, since the daemon is a new one.
 * Never waits. Returns 0; -1: some must be reported later. */
int shim_facts_tell(struct shim_session *s, int anyway);

#endif
