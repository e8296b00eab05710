/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who had the GPUs when, with what it cost them; see gather.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/gather.h"

#include <stdlib.h>

#include "common/clock.h"
#include "gpushare/daemon/base/device.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/report/selection.h"

/* A step's NTT, to be found by its number: a trace may have very many clients. */
struct known {
	uint32_t job, step;
	double ntt;
};

static int by_number(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* The NTT of the clients' steps, registered or over; 0 for those no longer known or never served.
 */
static int fill_ntt(struct gs_daemon *d, struct gs_trace_image *image)
{
	struct gs_selection sel;
	struct known *known;
	int rc;

	if (gs_select_steps(d, 0, 1, GS_FIGURES, &sel) < 0)
		return -1;
	known = calloc(sel.n + 1, sizeof(*known));
	for (size_t i = 0; known && i < sel.n; i++)
		known[i] = (struct known) { sel.row[i].job, sel.step[i]->info.step_id,
					    sel.row[i].ntt };
	if (known)
		qsort(known, sel.n, sizeof(*known), by_number);
	for (size_t i = 0; known && i < image->lanes; i++) {
		struct known key = { image->lane[i].job_id, image->lane[i].step_id, 0 };
		struct known *found = bsearch(&key, known, sel.n, sizeof(*known), by_number);

		image->lane[i].ntt = found && found->ntt > 0 ? found->ntt : 0;
	}
	rc = known ? 0 : -1;
	free(known);
	gs_selection_free(&sel);
	return rc;
}

char *gs_gather_trace(struct gs_daemon *d, size_t *size)
{
	struct gs_trace_image image = { .now_ns = gs_clock_ns() };
	char *bytes = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < d->ndevice; i++)
		rc = gs_command_trace(d->device[i].arbiter, image.now_ns, &image);
	if (rc == 0)
		rc = fill_ntt(d, &image);
	if (rc == 0)
		bytes = gs_trace_pack(&image, size);
	gs_trace_image_free(&image);
	return bytes;
}
