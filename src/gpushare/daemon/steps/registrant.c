/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watches the process that registered a step; see registrant.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/steps/registrant.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/step.h"

void gs_step_watch(struct gs_daemon *d, struct gs_step *s, event_callback_fn gone)
{
	int fd = d->base ? (int)syscall(SYS_pidfd_open, s->info.registrant, 0) : -1;

	/* Another process may have its number by now, which the sweep finds out. */
	if (fd < 0)
		return;
	if (gs_proc_alive(s->info.registrant, s->info.start))
		s->gone = gs_event_new(d->base, fd, EV_READ, gone, d);
	if (!s->gone || event_add(s->gone, NULL) < 0) {
		if (s->gone)
			gs_event_free(s->gone);
		s->gone = NULL;
		close(fd);
	}
}

void gs_step_unwatch(struct gs_step *s)
{
	int fd;

	if (!s->gone)
		return;
	fd = event_get_fd(s->gone);
	gs_event_free(s->gone);
	s->gone = NULL;
	close(fd);
}
