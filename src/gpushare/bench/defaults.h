/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver and the shim of a stage where the user names none. */
#ifndef GPUSHARE_BENCH_DEFAULTS_H
#define GPUSHARE_BENCH_DEFAULTS_H

#include "gpushare/bench/stage.h"

/*
 * The shim: that of the build tree in which this program lies, else ShimDir of gpushare.conf
 * ($GPUSHARE_CONF or the installed one), else NULL: the installed one.  The driver:
 * $GPUSHARE_DRIVER, else Driver of that file, else NULL if the system finds one, else one of the
 * places where containers and vendors put it. -1 with the reason: there is none.
 */
int bench_defaults(struct bench_stage *stage, struct gs_error *err);

#endif
