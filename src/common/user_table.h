/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places for what is known of keys, a bounded number for all users together. Once all are taken, a
 * new key gets the place of the key that was unused for longest among those of the user who has
 * most, the new one counted. So whoever adds many loses their own, and not what others have.
 *
 * A place is a number below `most`: the caller keeps what it knows in an array of that length. A
 * user is any number that users cannot choose. Pure; not thread-safe.
 */
#ifndef GPUSHARE_COMMON_USER_TABLE_H
#define GPUSHARE_COMMON_USER_TABLE_H

#include <stdint.h>

struct gs_user_table;

#define GS_USER_TABLE_NONE UINT32_MAX /* no place */

/* For so many keys, at least 1. NULL: no memory. The caller destroys it. */
struct gs_user_table *gs_user_table_create(uint32_t most);
void gs_user_table_destroy(struct gs_user_table *table); /* NULL is fine */

/* The place of the user's key; GS_USER_TABLE_NONE: it has none. Does not count as a use. */
uint32_t gs_user_table_find(const struct gs_user_table *table, uint64_t user, uint64_t key);

/* The key in that place, which has one, was used now. */
void gs_user_table_use(struct gs_user_table *table, uint32_t place);

/*
 * The place of the user's key, which counts as used now. *is_new: the key had none, so what the
 * caller has in that place is of a key that was forgotten, if of any.
 */
uint32_t gs_user_table_add(struct gs_user_table *table, uint64_t user, uint64_t key, int *is_new);

/* How many places are taken: those below this number. */
uint32_t gs_user_table_count(const struct gs_user_table *table);

#endif
