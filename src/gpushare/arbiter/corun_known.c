/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of clients that were tried beside each other; see corun_known.h. */
#include "gpushare/arbiter/corun_known.h"

void gs_corun_insert(struct gs_gpu_client *client[], uint32_t n, struct gs_gpu_client *more)
{
	uint32_t at = n;

	for (; at > 0 && client[at - 1]->p.program_key > more->p.program_key; at--)
		client[at] = client[at - 1];
	client[at] = more;
}

static uint64_t mixed(uint64_t key, uint64_t with)
{
	return (key ^ with) * UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t gs_corun_who(struct gs_gpu_client *const client[], uint32_t n)
{
	uint64_t key = n;

	for (uint32_t i = 0; i < n; i++)
		key = mixed(key, client[i]->p.id);
	return key ? key : 1;
}

uint64_t gs_corun_key(struct gs_gpu_client *const client[], uint32_t n)
{
	uint64_t key = n;

	for (uint32_t i = 0; i < n; i++)
		key = mixed(key,
			    client[i]->p.program_key ? client[i]->p.program_key : client[i]->p.id);
	return key ? key : 1;
}

struct gs_corun_known *gs_corun_known_of(struct gs_gpu *gpu, uint64_t key, int make)
{
	struct gs_corun_known *oldest = &gpu->corun.known[0];

	for (size_t i = 0; i < GS_CORUN_KNOWN; i++) {
		struct gs_corun_known *k = &gpu->corun.known[i];

		if (k->key == key)
			return k;
		if (k->used_ns < oldest->used_ns)
			oldest = k;
	}
	if (!make)
		return NULL;
	*oldest = (struct gs_corun_known) { .key = key };
	return oldest;
}
