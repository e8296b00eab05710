/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal: how large it is, single keys, colours.  Plain escape sequences of ECMA-48. */
#ifndef GPUSHARE_CTL_SCREEN_H
#define GPUSHARE_CTL_SCREEN_H

#include <stddef.h>
#include <stdint.h>

/*
 * How wide standard output may be: $COLUMNS if that is a number, else what the terminal says, 80
 * where it does not say.  0: standard output is no terminal, so nothing need fit.
 */
size_t gs_screen_width(void);
/* As many lines as $LINES or the terminal says; 24 where it does not say. */
size_t gs_screen_height(void);

/* 1: standard output is a terminal that understands escape sequences (not TERM=dumb). */
int gs_screen_is_smart(void);

/*
 * Take over the terminal: another screen, no cursor, keys as they are typed.  It is given back at
 * exit, when the process is stopped, and by gs_screen_end().  Keys come only if standard input is a
 * terminal.
 */
void gs_screen_begin(void);
void gs_screen_end(void);

enum {
	GS_KEY_NONE = 0,
	GS_KEY_RESIZED = 0x100,
	GS_KEY_UP,
	GS_KEY_DOWN,
	GS_KEY_PAGE_UP,
	GS_KEY_PAGE_DOWN,
	GS_KEY_HOME,
	GS_KEY_END, /* the key */
	GS_KEY_STOP /* SIGINT or SIGTERM */
};

/* The next key, an ASCII character or one of those; GS_KEY_NONE: time is up, ns. */
int gs_screen_key(uint64_t wait_ns);

#endif
