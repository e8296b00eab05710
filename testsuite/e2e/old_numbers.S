/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A test's program that begins in older containers, though it was built where glibc is 2.38 or later. */
#include "common/old_glibc.inc"

	OLD_NUMBERS
