/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting, awake, for clients that should ask about now (arrival.h): whoever asks then finds the loop
 * reading its word, and has its turn some 20 us sooner than if its attendant had to be woken.
 * A lookout (lookout.h) for moments, paid from the loop's share of a processor.
 */
#ifndef GPUSHARE_DAEMON_AWAIT_H
#define GPUSHARE_DAEMON_AWAIT_H

#include "gpushare/daemon/daemon.h"

/*
 * The loop's, with the lock held, which it does without while it waits: attendants take their turns meanwhile.
 * 1 when somebody has asked or a device is due: take the devices' turn, and come again; 0: nobody is awaited now.
 */
int gs_await(struct gs_daemon *d);

#endif
