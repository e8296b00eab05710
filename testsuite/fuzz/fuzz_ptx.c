/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the PTX parser and transformer.  What was transformed must parse
 * again, and a second transformation must change nothing.
 * Run: fuzz_ptx -max_len=4096 -dict=ptx.dict WORK_CORPUS testsuite/ptx/corpus testsuite/ptx/golden
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/ptx/transform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *why, const char *detail)
{
	fprintf(stderr, "%s: %s\n", why, detail);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_error err = { "" };
	struct ptx_transformed *t = ptx_transform((const char *)data, size, &err), *again;

	if (!t) {
		if (strncmp(err.text, "line ", 5) != 0)
			die("no line in the reason", err.text);
		return 0;
	}
	if (strlen(t->text) != t->len)
		die("the text's length is wrong", "");
	again = ptx_transform(t->text, t->len, &err);
	if (!again)
		die("the transformed text does not parse", err.text);
	if (again->len != t->len || memcmp(again->text, t->text, t->len) != 0)
		die("a second transformation changes the text", "");
	ptx_transformed_free(again);
	ptx_transformed_free(t);
	return 0;
}
