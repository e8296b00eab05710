/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs callbacks with the daemon's lock held; see event.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/event.h"

#include <pthread.h>
#include <stdlib.h>

struct locked {
	event_callback_fn callback;
	void *arg;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void gs_lock(void)
{
	pthread_mutex_lock(&lock);
}

void gs_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	/* a copy, since the callback may free the event */
	struct locked locked = *(struct locked *)arg;

	gs_lock();
	locked.callback(fd, what, locked.arg);
	gs_unlock();
}

struct event_base *gs_event_base_new(void)
{
	static const struct timeval round = { 0, GS_EVENT_ROUND_US };
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	/* Plain epoll_wait cannot wait for less than a millisecond. */
	if (config && event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) == 0 &&
	    event_config_set_max_dispatch_interval(config, &round, -1, GS_EVENT_USUAL) == 0)
		base = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	if (base && event_base_priority_init(base, GS_EVENT_RANKS) < 0) {
		event_base_free(base);
		return NULL;
	}
	return base;
}

struct event *gs_event_new(struct event_base *base, evutil_socket_t fd, short what,
			   event_callback_fn callback, void *arg)
{
	struct locked *locked = malloc(sizeof(*locked));
	struct event *event;

	if (!locked)
		return NULL;
	*locked = (struct locked) { callback, arg };
	event = event_new(base, fd, what, on_event, locked);
	if (event)
		event_priority_set(event, GS_EVENT_USUAL); /* in a loop that has ranks */
	else
		free(locked);
	return event;
}

void gs_event_free(struct event *event)
{
	struct locked *locked;

	if (!event)
		return;
	locked = event_get_callback_arg(event);
	event_free(event);
	free(locked);
}
