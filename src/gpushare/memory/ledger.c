/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reservations of the job steps and what their clients hold; see ledger.h. */
#include "gpushare/memory/ledger.h"

#include <inttypes.h>
#include <stdlib.h>

struct client {
	struct client *next;
	uint64_t id;
	uint64_t held;
	uint64_t leased; /* part of `held` */
};

struct step {
	struct step *next;
	struct client *clients;
	uint64_t id;
	uint64_t reservation;
	uint64_t used;   /* sum over the clients */
	uint64_t leased; /* sum over the clients */
	uint64_t peak;
};

struct gs_ledger {
	struct step *steps;
	uint64_t capacity;
	uint64_t reserved; /* sum over the steps */
};

struct gs_ledger *gs_ledger_create(uint64_t capacity)
{
	struct gs_ledger *ledger = calloc(1, sizeof(*ledger));

	if (ledger)
		ledger->capacity = capacity;
	return ledger;
}

static void free_clients(struct client *client)
{
	while (client) {
		struct client *next = client->next;

		free(client);
		client = next;
	}
}

void gs_ledger_destroy(struct gs_ledger *ledger)
{
	if (!ledger)
		return;
	while (ledger->steps)
		gs_ledger_release(ledger, ledger->steps->id);
	free(ledger);
}

static struct step *find_step(const struct gs_ledger *ledger, uint64_t id)
{
	for (struct step *s = ledger->steps; s; s = s->next)
		if (s->id == id)
			return s;
	return NULL;
}

static struct client **find_client(struct step *step, uint64_t id)
{
	struct client **at = &step->clients;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

/* The client's record, which is made if needed; NULL: no memory. */
static struct client *get_client(struct step *step, uint64_t id)
{
	struct client **at = find_client(step, id);

	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (*at)
			(*at)->id = id;
	}
	return *at;
}

int gs_ledger_reserve(struct gs_ledger *ledger, uint64_t id, uint64_t bytes, struct gs_error *err)
{
	uint64_t left = ledger->capacity - ledger->reserved;
	struct step *step;

	if (find_step(ledger, id))
		return gs_fail(err, "the step has a reservation already");
	if (bytes == 0)
		return gs_fail(err, "the reservation is 0 bytes");
	if (bytes > left)
		return gs_fail(err,
			       "%" PRIu64 " MiB do not fit: %" PRIu64 " of %" PRIu64
			       " MiB are not reserved",
			       gs_mib_wanted(bytes), left >> 20, ledger->capacity >> 20);
	step = calloc(1, sizeof(*step));
	if (!step)
		return gs_fail(err, "no memory");
	step->id = id;
	step->reservation = bytes;
	step->next = ledger->steps;
	ledger->steps = step;
	ledger->reserved += bytes;
	return 0;
}

void gs_ledger_release(struct gs_ledger *ledger, uint64_t id)
{
	for (struct step **at = &ledger->steps; *at; at = &(*at)->next) {
		struct step *step = *at;

		if (step->id != id)
			continue;
		*at = step->next;
		ledger->reserved -= step->reservation;
		free_clients(step->clients);
		free(step);
		return;
	}
}

static void take(struct step *step, struct client *client, uint64_t bytes)
{
	client->held += bytes;
	step->used += bytes;
	if (step->used - step->leased > step->peak)
		step->peak = step->used - step->leased;
}

int gs_ledger_alloc(struct gs_ledger *ledger, uint64_t id, uint64_t client, uint64_t bytes)
{
	struct step *step = find_step(ledger, id);
	struct client *c;

	if (!step)
		return -1;
	/* An adopted client may have put the step above its reservation. */
	if (step->used > step->reservation || bytes > step->reservation - step->used)
		return 0;
	c = get_client(step, client);
	if (!c)
		return 0;
	take(step, c, bytes);
	return 1;
}

void gs_ledger_free(struct gs_ledger *ledger, uint64_t id, uint64_t client, uint64_t bytes)
{
	struct step *step = find_step(ledger, id);
	struct client *c = step ? *find_client(step, client) : NULL;

	if (!c)
		return;
	if (bytes > c->held)
		bytes = c->held;
	c->held -= bytes;
	step->used -= bytes;
	/* The memory that it returns may have been leased. */
	if (c->leased > c->held) {
		step->leased -= c->leased - c->held;
		c->leased = c->held;
	}
}

int gs_ledger_lease(struct gs_ledger *ledger, uint64_t id, uint64_t client, uint64_t bytes)
{
	struct step *step = find_step(ledger, id);
	struct client *c;

	if (!step)
		return -1;
	if (step->used > step->reservation || bytes > step->reservation - step->used)
		return 0;
	c = get_client(step, client);
	if (!c)
		return 0;
	c->held += bytes;
	c->leased += bytes;
	step->used += bytes;
	step->leased += bytes;
	return 1;
}

void gs_ledger_unlease(struct gs_ledger *ledger, uint64_t id, uint64_t client, uint64_t unused)
{
	struct step *step = find_step(ledger, id);
	struct client *c = step ? *find_client(step, client) : NULL;

	if (!c)
		return;
	step->leased -= c->leased;
	c->leased = 0;
	gs_ledger_free(ledger, id, client, unused);
}

void gs_ledger_note_peak(struct gs_ledger *ledger, uint64_t id, uint64_t bytes)
{
	struct step *step = find_step(ledger, id);

	if (step && bytes > step->peak)
		step->peak = bytes;
}

uint64_t gs_ledger_held(const struct gs_ledger *ledger, uint64_t id, uint64_t client)
{
	struct step *step = find_step(ledger, id);
	struct client *c = step ? *find_client(step, client) : NULL;

	return c ? c->held : 0;
}

void gs_ledger_client_gone(struct gs_ledger *ledger, uint64_t id, uint64_t client)
{
	struct step *step = find_step(ledger, id);
	struct client **at = step ? find_client(step, client) : NULL;
	struct client *c = at ? *at : NULL;

	if (!c)
		return;
	*at = c->next;
	step->used -= c->held;
	step->leased -= c->leased;
	free(c);
}

int gs_ledger_adopt(struct gs_ledger *ledger, uint64_t id, uint64_t client, uint64_t bytes)
{
	struct step *step = find_step(ledger, id);
	struct client *c = step ? get_client(step, client) : NULL;

	if (!c)
		return -1;
	/* Clients may report anything, but together they cannot hold more than the GPU has. */
	if (bytes > ledger->capacity - step->used)
		bytes = ledger->capacity - step->used;
	take(step, c, bytes);
	return 0;
}

uint64_t gs_ledger_reservation(const struct gs_ledger *ledger, uint64_t id)
{
	const struct step *step = find_step(ledger, id);

	return step ? step->reservation : 0;
}

uint64_t gs_ledger_used(const struct gs_ledger *ledger, uint64_t id)
{
	const struct step *step = find_step(ledger, id);

	return step ? step->used : 0;
}

uint64_t gs_ledger_peak(const struct gs_ledger *ledger, uint64_t id)
{
	const struct step *step = find_step(ledger, id);

	return step ? step->peak : 0;
}

uint64_t gs_ledger_reserved(const struct gs_ledger *ledger)
{
	return ledger->reserved;
}

uint64_t gs_ledger_capacity(const struct gs_ledger *ledger)
{
	return ledger->capacity;
}
