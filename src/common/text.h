/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that users have chosen, before others look at them. */
#ifndef GPUSHARE_COMMON_TEXT_H
#define GPUSHARE_COMMON_TEXT_H

/*
 * Replaces by '?' each byte of whatever steers a terminal or is no text: control characters, of one
 * byte or of two (U+0080 to U+009F), characters that change the direction of text (U+061C, U+200E,
 * U+200F, U+202A to U+202E, U+2066 to U+2069), and bytes that are no UTF-8.
 */
void gs_text_disarm(char *text);

#endif
