/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For forward.S and counted_entry.S: so many words on the stack has the entry point with the most
 * arguments, at most. */
#ifndef GPUSHARE_SHIM_STACK_WORDS_H
#define GPUSHARE_SHIM_STACK_WORDS_H

#define STACK_WORDS 12

#endif
