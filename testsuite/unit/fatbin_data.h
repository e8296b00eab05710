/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The containers in testsuite/unit/data/fatbin, for the fatbin reader's tests; every call fails its
 * test. */
#ifndef TESTSUITE_FATBIN_DATA_H
#define TESTSUITE_FATBIN_DATA_H

#include "device/fatbin/fatbin.h"
#include "device/fatbin/objects.h"

/* A file of the data folder, in a block of exactly its size; to be dropped. */
struct gs_bytes fatbin_file(const char *name);
void fatbin_drop(struct gs_bytes b);
struct gs_fatbin fatbin_opened(struct gs_bytes b);
/* Its first entry of that kind. */
struct gs_fatbin_entry fatbin_entry(const struct gs_fatbin *fb, enum gs_entry_kind kind);

#endif
