/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of its two forms a kernel takes less in, where it may go out in either: as the program wrote it or as its twin, whose
 * workers start once where the GPU starts a block for every block-task.  That takes 0.6 ns of an H200, which is half of what a
 * kernel of tiny blocks takes; another kernel's twin takes a third longer (doc/results/h200-overhead-forms.csv).  So launches
 * that are timed try both.  Nothing here calls the driver or the daemon.
 */
#ifndef GPUSHARE_SHIM_FORMS_H
#define GPUSHARE_SHIM_FORMS_H

#include <stdint.h>

#include "device/shim/times.h"

/*
 * What a twin costs beside its kernel's own time: its stream waits behind it, and nothing follows as closely as behind a launch
 * that rides.  A kernel that takes less than some times that is not worth trying.
 */
#define SHIM_FORM_COST_NS 10000
#define SHIM_FORM_LEAST_NS 100000

enum shim_form { SHIM_AS_WRITTEN, SHIM_AS_TWIN };

/* What a launch is to these. */
struct shim_trial {
	uint8_t chosen;  /* it could have gone out in the other form */
	uint8_t pair;    /* of two timed ones that go out in either form: their number; 0: it is of no pair */
};

/* So many pairs in a row decide. */
#define SHIM_FORM_PAIRS 4

/* Of a kernel in launches of one shape; all zeros: nothing is known. */
struct shim_forms {
	atomic_flag noting;       /* who has set it writes what is not atomic */
	atomic_flag begun;        /* the first pairs have been asked for */
	_Atomic uint8_t votes;    /* pairs that there have been, up to SHIM_FORM_PAIRS */
	uint8_t said;             /* a bit for each pair, the last one's lowest: its twin took less */
	uint8_t asked;            /* times that more were to be timed at once */
	_Atomic uint32_t timed;   /* launches that could have been of a pair */
	struct shim_half {
		uint64_t tasks;
		uint32_t ns;
		uint8_t pair;     /* 0: none */
		uint8_t form;
	} half[SHIM_FORM_PAIRS];  /* by pair: the one that is over first; several threads find that launches are over */
};

/* Does a launch that is predicted to take so long go out as its twin, or might it?  What has become short no more. */
static inline int shim_form_counts(const struct shim_time *t, uint64_t ps)
{
	return ps >= SHIM_FORM_LEAST_NS * UINT64_C(1000) / (atomic_load_explicit(&t->twin, memory_order_relaxed) ? 2 : 1);
}

/*
 * The form of a launch that counts and may go out in either.  timed: it is, and nobody else uses the GPU, so it may be one of a
 * pair, as *trial says then.
 */
enum shim_form shim_form_of(struct shim_forms *f, struct shim_time *t, int timed, struct shim_trial *trial);

/*
 * So long has a timed launch of so many block-tasks taken in that form, and nobody else used the GPU: t->twin says from now on which
 * is the better one, and t->tpt_ps goes by it.  Two of a pair are compared, as they follow each other, if they are of as many
 * block-tasks.  The twin is better once it took 2 % less in each pair of the last ones, with what it costs beside; until in half of
 * them it takes no less at all.
 */
void shim_form_note(struct shim_forms *f, struct shim_time *t, enum shim_form form, struct shim_trial trial, uint64_t tasks,
		    uint64_t ns);

/* Does what such a launch has taken say what the next ones will? */
static inline int shim_form_is_usual(const struct shim_time *t, enum shim_form form, struct shim_trial trial)
{
	return !trial.chosen || (form == SHIM_AS_TWIN) == (t->twin != 0);
}

#endif
