/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of device memory in a real gpushared begin with; see live_memory.h. */
#define _GNU_SOURCE
#include "live_memory.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"

int memory_setup(void **state)
{
	struct live *l = malloc(sizeof(*l));

	live_begin(l);
	*state = l;
	return 0;
}

int memory_teardown(void **state)
{
	live_end(*state);
	free(*state);
	return 0;
}

void memory_reload(struct live *l, const char *extra)
{
	unsigned before = live_logged(l, "reloaded");
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;

	live_configure(l, extra);
	kill(l->pid, SIGHUP);
	while (live_logged(l, "reloaded") == before) {
		assert_true(gs_clock_ns() < until);
		usleep(2000);
	}
}

json_t *memory_job_row(json_t *all, uint32_t job)
{
	json_t *steps = json_object_get(json_array_get(all, 0), "steps"), *row;
	size_t i;

	json_array_foreach (steps, i, row)
		if (json_integer_value(json_object_get(row, "job")) == (json_int_t)job)
			return row;
	fail_msg("job %u is not in the report", job);
	return NULL;
}

double memory_figure(const struct live *l, uint32_t job, const char *key)
{
	char *text = live_query(l, GS_QUERY_MEMORY, 0);
	json_t *all = json_loads(text, 0, NULL);
	json_t *of = job ? memory_job_row(all, job) : json_array_get(all, 0);
	double v;

	assert_non_null(json_object_get(of, key));
	v = json_number_value(json_object_get(of, key));
	json_decref(all);
	free(text);
	return v;
}
