/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps that are over, in an SQLite file.  Only the history's helper
 * uses it: its calls wait for the disk.
 */
#ifndef GPUSHARE_DAEMON_HISTORY_DB_H
#define GPUSHARE_DAEMON_HISTORY_DB_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "gpushare/daemon/report/aggregate.h"
#include "gpushare/arbiter/learned.h"

#define GS_HISTORY_ROWS_MAX 100000

struct gs_history_db;

/*
 * Open the file or make it, for this user alone; at most `rows` stay.  A file
 * that is corrupt, no database or of another version is renamed to
 * PATH.corrupt, with the reason in err->text ("" otherwise).  NULL with the reason.
 */
struct gs_history_db *gs_history_db_open(const char *path, uint32_t rows, struct gs_error *err);
void gs_history_db_close(struct gs_history_db *db); /* commits; NULL is fine */

/* Add a step; it is on the disk after _commit.  0, -1 with the reason. */
int gs_history_db_add(struct gs_history_db *db, const struct gs_past_step *step,
		      struct gs_error *err);
int gs_history_db_commit(struct gs_history_db *db, struct gs_error *err);

/* Keep a kernel's time, in place of an older one. GS_LEARNED_MAX stay: the oldest of the users who
 * have most of them go. As _add. */
int gs_history_db_learn(struct gs_history_db *db, const struct gs_learned_entry *entry,
			struct gs_error *err);

/* All of them, in order of age, *n; *entry is to be freed. */
int gs_history_db_learned(struct gs_history_db *db, struct gs_learned_entry **entry, size_t *n,
			  struct gs_error *err);

/*
 * Append the steps that the question selects to *step (*n of them, realloc'd).
 * 0, -1 with the reason.
 */
int gs_history_db_select(struct gs_history_db *db, const struct gs_msg_history *query,
			 struct gs_past_step **step, size_t *n, struct gs_error *err);

/* The latest job id of `gpusharectl run` in it (local_job.h); 0: there is none.  0, -1 with the
 * reason. */
int gs_history_db_local(struct gs_history_db *db, uint32_t *latest, struct gs_error *err);

/* Each known program of each user and the most memory of its steps, the latest last.  0, -1 with
 * the reason. */
int gs_history_db_peaks(struct gs_history_db *db,
			void (*each)(void *arg, const char *user, uint64_t program,
				     double memory_mb),
			void *arg, struct gs_error *err);

#endif
