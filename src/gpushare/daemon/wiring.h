/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is told of what. */
#ifndef GPUSHARE_DAEMON_WIRING_H
#define GPUSHARE_DAEMON_WIRING_H

/*
 * Tell each module that others listen to who they are, once, before anything
 * else is begun: the modules below do not know the names of those above.
 */
void gs_wire(void);

#endif
