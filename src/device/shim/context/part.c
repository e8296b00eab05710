/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The word that says how many workers stay; see part.h. */
#define _GNU_SOURCE
#include "device/shim/context/part.h"

#include "device/shim/context/fault.h"

void shim_part_tell(const struct shim_session *s, struct shim_context *c)
{
	uint32_t word;
	CUresult rc;

	/* If another thread is at it, what it has written is compared again at the next look. */
	if (!shim_part_is_old(s, c) || atomic_flag_test_and_set(&c->state.part_busy))
		return;
	word = shim_part_word(s->page);
	rc = REAL(cuStreamWriteValue32_v2)(c->control, shim_part_at(c), word, 0);
	shim_fault_seen(c, rc);
	if (rc == CUDA_SUCCESS) {
		c->state.part_word = word;
		c->state.part_unsettled = 1;
	}
	atomic_flag_clear(&c->state.part_busy);
}
