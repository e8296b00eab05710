/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_add() as it fails; see unreadable.h. */
#include "unreadable.h"

#include <event2/event.h>

int unreadable;

int __real_event_add(struct event *event, const struct timeval *timeout);
int __wrap_event_add(struct event *event, const struct timeval *timeout);

int __wrap_event_add(struct event *event, const struct timeval *timeout)
{
	return unreadable && event_get_fd(event) >= 0 ? -1 : __real_event_add(event, timeout);
}
