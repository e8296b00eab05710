/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare.conf: the keys that are lists of parameters, and the keys of earlier versions. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/config/config.h"
#include "gpushare/config/key.h"
#include "gpushare/proto/msg.h"

#define GPU "Gpu=0 Memory=1G\n"

static struct gs_config *parse(const char *text, struct gs_error *err)
{
	return gs_config_parse("t.conf", text, strlen(text), err);
}

static void parameters(void **state)
{
	struct gs_error err;
	struct gs_config *c = parse(
		GPU
		"PolicyParameters = rr_quantum=5ms, Quantum_Handovers = 50,eviction_signal=dma # all\n"
		"memoryparameters=wake=FIFO,age=0,dmem_root=,program=/opt/a=b\n",
		&err);

	(void)state;
	assert_non_null(c);
	assert_int_equal(c->rr_quantum_ns, 5000000);
	assert_int_equal(c->quantum_handovers, 50);
	assert_int_equal(c->signal, GS_SIGNAL_DMA);
	assert_string_equal(c->memory_wake, "fifo");
	assert_int_equal(c->memory_age_ns, 0);
	assert_string_equal(c->dmem_root, "");
	assert_string_equal(c->memory_program, "/opt/a=b");
	/* What no list names keeps its default. */
	assert_int_equal(c->min_quantum_ns, 1000000);
	assert_int_equal(c->memory_cycle_ns, 10000000);
	assert_string_equal(c->nvml, "libnvidia-ml.so.1");
	gs_config_free(c);
	c = parse(GPU "PolicyParameters=\n", &err);
	assert_non_null(c);
	assert_int_equal(c->rr_quantum_ns, 1000000);
	gs_config_free(c);
	/* Isolation=mps has defaults of its own, for each parameter by itself. */
	c = parse(GPU "PolicyParameters=handover=7us\nIsolation=mps\n", &err);
	assert_int_equal(c->handover_ns, 7000);
	assert_true(c->overlap_ns >= 1000000000);
	gs_config_free(c);
}

/* Each key of earlier versions: the whole error, and what it says to write is a key or a parameter
 * of today. */
static void keys_that_are_gone(void **state)
{
	static const struct {
		const char *name, *instead;
	} gone[] = {
#define GONE(name, instead) { #name, instead },
#include "gpushare/config/gone.def"
#undef GONE
	};

	(void)state;
	assert_true(sizeof(gone) / sizeof(gone[0]) >= 21);
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		char text[128], want[256], list[32], parameter[32];
		struct gs_error err;
		int key;

		assert_int_equal(gs_key_find(gone[i].name), -1);
		snprintf(text, sizeof(text), GPU "%s=1\n", gone[i].name);
		snprintf(want, sizeof(want), "t.conf:2: the key %s is gone; write instead: %s",
			 gone[i].name, gone[i].instead);
		assert_null(parse(text, &err));
		assert_string_equal(err.text, want);
		if (strncmp(gone[i].instead, "nothing: ", 9) == 0)
			continue;
		assert_true(sscanf(gone[i].instead, "%31[A-Za-z]=%31[a-z_]=", list, parameter) >=
			    1);
		key = gs_key_find(list);
		assert_true(key >= 0);
		if (gs_key_is_list((size_t)key))
			assert_true(gs_key_parameter((size_t)key, parameter) >= 0);
	}
}

/* What an administrator meets with the file of an earlier version: one error after the other, each
 * with its line. */
static void a_file_with_keys_that_are_gone(void **state)
{
	static const char *const lines[] = {
		"# ours",
		"Gpu=0 Memory=78G Shares=100 File=/dev/nvidia0",
		"Partition=low Priority=1",
		"handover=135us",
		"Policy=rr",
		"RrQuantum=5ms # longer",
		"MemoryCheck=0",
	};
	static const struct {
		size_t line;
		const char *want, *then;
	} steps[] = {
		{ 3,
		  "t.conf:4: the key handover is gone; write instead: PolicyParameters=handover=..., one line for all its parameters",
		  "PolicyParameters=handover=135us,rr_quantum=5ms" },
		{ 5,
		  "t.conf:6: the key RrQuantum is gone; write instead: PolicyParameters=rr_quantum=..., one line for all its parameters",
		  "" },
		{ 6,
		  "t.conf:7: the key MemoryCheck is gone; write instead: MemoryParameters=check=..., one line for all its parameters",
		  "MemoryParameters=check=0" },
	};
	const char *now[sizeof(lines) / sizeof(lines[0])];
	struct gs_config *c = NULL;

	(void)state;
	memcpy(now, lines, sizeof(now));
	for (size_t i = 0; i <= sizeof(steps) / sizeof(steps[0]); i++) {
		struct gs_error err;
		char text[512] = "";

		for (size_t k = 0; k < sizeof(now) / sizeof(now[0]); k++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\n", now[k]);
		c = parse(text, &err);
		if (i == sizeof(steps) / sizeof(steps[0]))
			break;
		assert_null(c);
		assert_string_equal(err.text, steps[i].want);
		now[steps[i].line] = steps[i].then;
	}
	assert_non_null(c);
	assert_int_equal(c->rr_quantum_ns, 5000000);
	assert_int_equal(c->memory_check_ns, 0);
	gs_config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters),
		cmocka_unit_test(keys_that_are_gone),
		cmocka_unit_test(a_file_with_keys_that_are_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
