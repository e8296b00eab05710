/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the reports say of a kernel's variant and of its long launches (struct shim_facts), and
 * telling the daemon of it.
 */
#ifndef GPUSHARE_SHIM_FACTS_H
#define GPUSHARE_SHIM_FACTS_H

#include <stdint.h>

#include "device/shim/context/context.h"
#include "device/shim/kernel/kernels.h"
#include "device/shim/session/session.h"

/*
 * How many blocks of the kernel as written, of so many threads and with so much dynamic shared
 * memory (bytes), an SM holds; 0: none, or the driver does not say.  The context is current.  The
 * driver is asked where that differs from the last time.
 */
uint32_t shim_facts_blocks(const struct shim_kernel *k, uint32_t threads, uint32_t shared);

/* A launch takes, or has taken, so long alone, ns, and of so many blocks at_once run at once (0:
 * not known).  It is noted if it is long. */
void shim_facts_launch(const struct shim_session *s, struct shim_code *code, uint64_t blocks,
		       uint32_t at_once, uint64_t ns);

/* A launch goes out as the kernel's variant. */
void shim_facts_used(struct shim_code *code);

/* What is known by now, as the daemon is told it.  0: nothing yet. */
int shim_facts_of(const struct shim_code *code, struct gs_msg_variant *to);

/* Tell the daemon of what has changed; anyway: of all that is known, since it is a new one.  Never
 * waits.  0, or -1: some of it must be told later. */
int shim_facts_tell(struct shim_session *s, int anyway);

#endif
