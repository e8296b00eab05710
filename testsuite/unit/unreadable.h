/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event loop that takes no more descriptors, as where the user has no epoll watches left. For
 * programs that are linked with --wrap=event_add. */
#ifndef TESTSUITE_UNIT_UNREADABLE_H
#define TESTSUITE_UNIT_UNREADABLE_H

/* While it is 1, no descriptor can be added; timers can. */
extern int unreadable;

#endif
