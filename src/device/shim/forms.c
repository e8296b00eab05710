/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which form a kernel takes less in; see forms.h. */
#define _GNU_SOURCE
#include "device/shim/forms.h"

/* Once it is known, one of so many timed ones and the next launch are a pair. */
#define TRY_EVERY 16
/* So often two more are timed at once before it is known, should some have said nothing. */
#define ASK_MAX 8
#define PAIRS 100 /* numbers of them: those that are out at once are told apart */

#define ALL ((1u << SHIM_FORM_PAIRS) - 1)

/* What is warm by now was cold before: the first of a pair is now of this form, now of that. */
static enum shim_form form_in_pairs(uint32_t n)
{
	return ((n >> 1) ^ n) & 1 ? SHIM_AS_TWIN : SHIM_AS_WRITTEN;
}

/* Once: where none of those that are timed then is to go out in either form, none is asked for again. */
static void begin(struct shim_forms *f, struct shim_time *t)
{
	if (!atomic_flag_test_and_set(&f->begun))
		shim_time_ask(t, 2 * SHIM_FORM_PAIRS);
}

enum shim_form shim_form_of(struct shim_forms *f, struct shim_time *t, int timed, struct shim_trial *trial)
{
	enum shim_form usual = t->twin ? SHIM_AS_TWIN : SHIM_AS_WRITTEN;
	uint32_t n;

	*trial = (struct shim_trial){ .chosen = 1 };
	if (!timed)
		return usual;
	begin(f, t);
	n = atomic_fetch_add(&f->timed, 1);
	if (f->votes >= SHIM_FORM_PAIRS) {
		if (n % TRY_EVERY > 1)
			return usual;
		if (n % TRY_EVERY == 0)
			shim_time_ask(t, 1); /* the other one */
	}
	trial->pair = (uint8_t)(n / 2 % PAIRS + 1);
	return form_in_pairs(f->votes < SHIM_FORM_PAIRS ? n : n / TRY_EVERY * 2 + n % TRY_EVERY);
}

static int is_better(int is, uint64_t as_twin, uint64_t as_written)
{
	as_twin += SHIM_FORM_COST_NS;
	if (is)
		return as_twin < as_written;
	return as_written >= SHIM_FORM_LEAST_NS && as_twin * 100 < as_written * 98;
}

static void compare(struct shim_forms *f, struct shim_time *t, uint64_t as_twin, uint64_t as_written, uint64_t tasks)
{
	int twin = t->twin;

	f->said = (uint8_t)((f->said << 1 | is_better(twin, as_twin, as_written)) & ALL);
	if (f->votes < SHIM_FORM_PAIRS)
		f->votes++;
	twin = twin ? 2 * __builtin_popcount(f->said) > SHIM_FORM_PAIRS : f->said == ALL;
	if (twin == t->twin)
		return;
	t->twin = (uint8_t)twin;
	t->tpt_ps = (twin ? as_twin : as_written) * 1000 / tasks + 1;
}

static void note(struct shim_forms *f, struct shim_time *t, enum shim_form form, uint8_t pair, uint64_t tasks, uint32_t ns)
{
	struct shim_half *half = &f->half[pair % SHIM_FORM_PAIRS];

	if (half->pair != pair || half->form == form || half->tasks != tasks) {
		*half = (struct shim_half){ .pair = pair, .form = (uint8_t)form, .tasks = tasks, .ns = ns };
	} else {
		half->pair = 0;
		compare(f, t, form == SHIM_AS_TWIN ? ns : half->ns, form == SHIM_AS_TWIN ? half->ns : ns, tasks);
	}
	if (f->votes < SHIM_FORM_PAIRS && f->asked < ASK_MAX) {
		f->asked++;
		shim_time_ask(t, 2);
	}
}

void shim_form_note(struct shim_forms *f, struct shim_time *t, enum shim_form form, struct shim_trial trial, uint64_t tasks,
		    uint64_t ns)
{
	if (!trial.pair) {
		if (ns >= SHIM_FORM_LEAST_NS) /* until now it may not have been known how long it takes */
			begin(f, t);
		return;
	}
	if (!tasks || ns > UINT32_MAX)
		return;
	while (atomic_flag_test_and_set(&f->noting))
		__builtin_ia32_pause();
	note(f, t, form, trial.pair, tasks, (uint32_t)ns);
	atomic_flag_clear(&f->noting);
}
