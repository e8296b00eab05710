/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A test's program that begins in older containers: glibc 2.34 has __libc_start_main under a new version.  The old one
 * runs no constructors unless it is given them; these programs have none. */
#include "common/old_glibc.inc"

	OLD	__libc_start_main, GLIBC_2.2.5
