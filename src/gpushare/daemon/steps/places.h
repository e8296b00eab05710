/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places that gpushared has for steps, and each user's part of them, so that nobody's many
 * steps leave none for those of others.
 */
#ifndef GPUSHARE_DAEMON_STEPS_PLACES_H
#define GPUSHARE_DAEMON_STEPS_PLACES_H

#include "common/error.h"
#include "gpushare/daemon/base/step.h"

/* Is there a place at all, of GS_STEPS_MAX? 0; -1 with the reason. */
int gs_places_left(const struct gs_daemon *d, struct gs_error *err);

/*
 * May the user have one more step at a time? 0; -1 with the reason. The last GS_STEPS_LAST places
 * are for root and for users who have fewer steps than places are free.
 */
int gs_places_admit(const struct gs_daemon *d, uid_t uid, struct gs_error *err);
#define GS_STEPS_LAST (GS_STEPS_MAX / 4)

/*
 * The step, which is no longer in d->steps, is the latest one that has ended; its figures stay in
 * the reports. Returns the one whose figures do not stay any longer, which belongs to the caller
 * then: beyond GS_FINISHED_MAX it is the oldest one of the user who has most. NULL: all stay.
 */
struct gs_step *gs_places_finished(struct gs_daemon *d, struct gs_step *step);

#endif
