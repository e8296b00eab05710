/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of clients that were tried beside each other; see corun_known.h. */
#include "gpushare/arbiter/corun_known.h"
#include "common/clock.h"
#include "common/hash.h"

/* How long it is not tried again, at first; twice as long each time, up to the most. */
#define REFUSED_NS (10 * GS_NS_PER_S)
#define REFUSED_MOST_NS (600 * GS_NS_PER_S)

void gs_corun_insert(struct gs_gpu_client *client[], uint32_t n, struct gs_gpu_client *more)
{
	uint32_t at = n;

	for (; at > 0 && client[at - 1]->p.program_key > more->p.program_key; at--)
		client[at] = client[at - 1];
	client[at] = more;
}

uint64_t gs_corun_who(struct gs_gpu_client *const client[], uint32_t n)
{
	uint64_t key = GS_HASH_EMPTY;

	for (uint32_t i = 0; i < n; i++)
		key = gs_hash(key, &client[i]->p.id, sizeof(client[i]->p.id));
	return key ? key : 1;
}

uint64_t gs_corun_key(struct gs_gpu_client *const client[], uint32_t n)
{
	uint64_t key = GS_HASH_EMPTY;

	for (uint32_t i = 0; i < n; i++) {
		const struct gs_gpu_client_params *p = &client[i]->p;
		uint64_t program = p->program_key ? p->program_key : p->id;

		key = gs_hash(key, &program, sizeof(program));
	}
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

void gs_corun_known_begin(struct gs_corun_known *known, uint64_t who)
{
	/* Others that run the same programs: their speed alone is measured first. */
	if (known->who != who) {
		known->solo_until = 0;
		known->begun = 0;
	}
	known->who = who;
	known->begun++;
}

void gs_corun_known_refuse(struct gs_corun_known *known, uint64_t who, uint64_t now)
{
	known->kept = 0;
	known->begun = 0;
	known->wait_ns = known->wait_ns ? 2 * known->wait_ns : REFUSED_NS;
	if (known->wait_ns > REFUSED_MOST_NS)
		known->wait_ns = REFUSED_MOST_NS;
	known->refused_until = now + known->wait_ns;
	known->refused_who = who;
}

int gs_corun_known_is_refused(const struct gs_corun_known *known, uint64_t who, uint64_t now)
{
	return now < known->refused_until && (!known->refused_who || known->refused_who == who);
}
