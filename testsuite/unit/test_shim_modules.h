/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups of tests that test_shim_modules.c runs behind its own, each over a driver of its own;
 * how many failed. */
#ifndef TESTSUITE_UNIT_TEST_SHIM_MODULES_H
#define TESTSUITE_UNIT_TEST_SHIM_MODULES_H

int shim_listings(void); /* test_shim_listing.c */
int shim_links(void);    /* test_shim_link.c */

#endif
