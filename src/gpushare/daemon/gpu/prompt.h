/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How soon a thread of the daemon runs once it is woken. Until then the GPU has the wrong client or
 * none. The daemon sleeps nearly always, and its children get ordinary priority again. */
#ifndef GPUSHARE_DAEMON_PROMPT_H
#define GPUSHARE_DAEMON_PROMPT_H

enum gs_prompt {
	GS_PROMPT_NOT, /* ordinary priority, or nothing better was wanted */
	/*
	 * nice -20 and short slices (slice.h): runs before computing threads as soon as it is woken
	 */
	GS_PROMPT_NICE,
	GS_PROMPT_REAL_TIME, /* real-time priority: runs before all others */
};

/* Gives this thread the best that the system allows (RealTime=). If real time was refused, errno
 * says why. */
enum gs_prompt gs_be_prompt(int wanted);

/* Nice -20, for a thread that never sleeps: at real-time priority it would let no other run on its
 * processor. Returns 0, or -1 with errno. */
int gs_be_nice(void);

#endif
