/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How soon a thread of the daemon runs once it is woken: every microsecond
 * until then is one in which the GPU has the wrong client or none.  The daemon
 * sleeps nearly always, and its children are ordinary processes again.
 */
#ifndef GPUSHARE_DAEMON_PROMPT_H
#define GPUSHARE_DAEMON_PROMPT_H

enum gs_prompt {
	GS_PROMPT_NOT,  /* as everybody, or it was not wanted */
	GS_PROMPT_NICE, /* nice -20 and short slices (slice.h): before those who compute, as soon as
			   it is woken */
	GS_PROMPT_REAL_TIME, /* before everybody else */
};

/* The best that the system allows to this thread (RealTime=); errno says what real time failed by.
 */
enum gs_prompt gs_be_prompt(int wanted);

/* Before those who compute, for a thread that never sleeps: real time would let nobody else run
 * there.  0, or -1 with errno. */
int gs_be_nice(void);

#endif
