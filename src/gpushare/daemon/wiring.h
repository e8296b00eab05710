/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which module handles which message and event. */
#ifndef GPUSHARE_DAEMON_WIRING_H
#define GPUSHARE_DAEMON_WIRING_H

/* Registers each module's handlers and listeners, once, before anything else begins: lower modules
 * do not know the names of those above them. */
void gs_wire(void);

#endif
