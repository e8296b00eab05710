/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel under test: its module on the device, what the original leaves, and one run of a variant
 * against that. */
#ifndef GPUSHARE_EQUIV_SUBJECT_H
#define GPUSHARE_EQUIV_SUBJECT_H

#include "transformed.h"
#include "mutate.h"

/* What all tests share. */
struct rig {
	struct driver drv;
	struct board board;
	const char *folder;              /* of the table's files */
	const struct mutation *mutation; /* NULL: none */
	uint32_t transforms;             /* of the variants */
};

struct subject {
	const struct rig *rig;
	const struct test_case *c;
	char *text; /* of the file, or with the probe */
	struct ptx_module *ast;
	struct ptx_transformed *t;
	char *changed; /* t->text, or with a deliberate bug */
	int probed;
	struct launch l;
	uint8_t *initial, *want, *got, *behind;
	char *want_lines;
	size_t bytes;
};

/* The text of folder/name.ptx; malloc'd.  Exits with a message if it cannot be read. */
char *rig_read(const struct rig *rig, const char *name);

/* Transform and load; run the original.  probed: with the probe in the kernel's body. */
void subject_open(struct subject *s, const struct rig *rig, const struct test_case *c, int probed);
void subject_close(struct subject *s);

/* Run the variant of that form from the initial memory to its end; fails on any difference. Returns
 * the evictions. */
unsigned subject_run(struct subject *s, enum ptx_transform_kind transform, form_run *run,
		     struct way w);

#endif
