/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the transformer share. */
#ifndef TESTSUITE_UNIT_PTX_RIG_H
#define TESTSUITE_UNIT_PTX_RIG_H

#include <stdint.h>

#include "device/ptx/transform.h"

#define PTX_HEAD "\n.version 8.6\n.target sm_90a\n.address_size 64\n"
#define PTX_REGS ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; "

/* A kernel of that text. */
#define PTX_KERNEL(text) ".entry k(.param .u64 p, .param .u32 n) { " PTX_REGS "\n" text "\nret; }"

/* The module transformed, which must succeed; free it with ptx_transformed_free(). */
struct ptx_transformed *ptx_transformed_of(const char *text);

/* Is there a variant of that transform in it? */
int ptx_has_variant(const struct ptx_transformed *t, int transform);

/*
 * The last kernel of head and body gets this reason, on this line of the body
 * (1 is its first), and the best transform that it leaves.
 */
void expect_reason_of(const char *head, const char *body, enum ptx_reason reason, uint32_t line);
/* The same with the usual head. */
void expect_reason(const char *body, enum ptx_reason reason, uint32_t line);

/* The one kernel of head and body, transformed as that set of transforms allows. */
struct ptx_kernel ptx_kernel_of(const char *head, const char *body, uint32_t transforms);
/* The same with all that are usual. */
struct ptx_kernel ptx_only_kernel(const char *head, const char *body);

/* The groups of test_ptx_transform beside its own: how many failed. */
int test_ptx_exits(void);
int test_ptx_large(void);

#endif
