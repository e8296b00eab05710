/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history in SQLite: the only file that knows it; see history_db.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/history/history_db.h"

#include "config.h"

#ifdef HAVE_SQLITE
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpushare/daemon/base/local_job.h"

#define FILE_VERSION 1
#define BUSY_MS 5000

struct gs_history_db {
	sqlite3 *sql;
	sqlite3_stmt *insert, *select, *trim, *learn, *forget;
	uint32_t rows;
	int open_batch;
};

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS step(id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" job INTEGER, step INTEGER, gpu INTEGER, shares INTEGER, user TEXT, partition TEXT,"
	" start_s INTEGER, end_s INTEGER, kernels INTEGER, preemptions INTEGER,"
	" active_ms REAL, waiting_ms REAL, turnaround_ms REAL, evict_p50_us REAL,"
	" evict_p99_us REAL, memory_mb REAL, reserved_mb REAL);"
	"CREATE INDEX IF NOT EXISTS step_end ON step(end_s);"
	"CREATE TABLE IF NOT EXISTS learned(id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" key INTEGER UNIQUE, tpt_ps INTEGER);"
	"PRAGMA user_version=1;";
#define FIELDS \
	"job,step,gpu,shares,user,partition,start_s,end_s,kernels,preemptions,active_ms," \
	"waiting_ms,turnaround_ms,evict_p50_us,evict_p99_us,memory_mb,reserved_mb,program"

/*
 * Which times of kernels go. The upper half of a key is its user's number (arbiter/learned.h): what
 * has fewest younger entries of its own user beside it stays, so nobody's push out another's.
 */
static const char forget_learned[] =
	"DELETE FROM learned WHERE (SELECT count(*) FROM learned)>?1 AND id NOT IN"
	" (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY key>>32 ORDER BY id DESC)"
	" AS nth FROM learned) ORDER BY nth, id DESC LIMIT ?1)";

static int fail_sql(struct gs_history_db *db, struct gs_error *err)
{
	return gs_fail(err, "%s", sqlite3_errmsg(db->sql));
}

/* Does the file hold together?  A fresh one does. */
static int sound(sqlite3 *sql, struct gs_error *err)
{
	sqlite3_stmt *st = NULL;
	int rc = 0, version = 0;

	if (sqlite3_prepare_v2(sql, "PRAGMA user_version", -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		version = sqlite3_column_int(st, 0);
	else
		rc = gs_fail(err, "%s", sqlite3_errmsg(sql));
	sqlite3_finalize(st);
	if (rc == 0 && version != 0 && version != FILE_VERSION)
		rc = gs_fail(err, "it is of version %d", version);
	if (rc < 0)
		return rc;
	if (sqlite3_prepare_v2(sql, "PRAGMA quick_check(1)", -1, &st, NULL) != SQLITE_OK ||
	    sqlite3_step(st) != SQLITE_ROW)
		rc = gs_fail(err, "%s", sqlite3_errmsg(sql));
	else if (strcmp((const char *)sqlite3_column_text(st, 0), "ok") != 0)
		rc = gs_fail(err, "%.200s", (const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	return rc;
}

static int prepare(struct gs_history_db *db, struct gs_error *err)
{
	if (sqlite3_exec(db->sql, schema, NULL, NULL, NULL) != SQLITE_OK)
		return fail_sql(db, err);
	/* Came later; an error says that it is there. */
	sqlite3_exec(db->sql, "ALTER TABLE step ADD COLUMN program INTEGER DEFAULT 0", NULL, NULL,
		     NULL);
	if (sqlite3_prepare_v2(db->sql,
			       "INSERT INTO step(" FIELDS ") VALUES"
			       "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
			       -1, &db->insert, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db->sql,
			       "SELECT " FIELDS " FROM step WHERE end_s>=?1 AND"
			       " (?2=0 OR job=?2) AND (?3='' OR user=?3) AND"
			       " (?4='' OR partition=?4) ORDER BY id",
			       -1, &db->select, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db->sql,
			       "DELETE FROM step WHERE id<="
			       "(SELECT max(id) FROM step)-?",
			       -1, &db->trim, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db->sql, "INSERT OR REPLACE INTO learned(key,tpt_ps) VALUES(?,?)",
			       -1, &db->learn, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db->sql, forget_learned, -1, &db->forget, NULL) != SQLITE_OK)
		return fail_sql(db, err);
	return 0;
}

/* 0; -1: cannot be opened; 1: the file is no good, with the reason. */
static int try_open(struct gs_history_db *db, const char *path, struct gs_error *err)
{
	mode_t mask = umask(077);
	int rc = sqlite3_open_v2(path, &db->sql,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
				 NULL);

	umask(mask);
	if (rc != SQLITE_OK)
		return gs_fail(err, "%s", db->sql ? sqlite3_errmsg(db->sql) : "no memory");
	sqlite3_busy_timeout(db->sql, BUSY_MS);
	if (sound(db->sql, err) < 0)
		return sqlite3_errcode(db->sql) == SQLITE_BUSY ? -1 : 1;
	sqlite3_exec(db->sql, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
	return prepare(db, err);
}

static void shut(struct gs_history_db *db)
{
	sqlite3_finalize(db->insert);
	sqlite3_finalize(db->select);
	sqlite3_finalize(db->trim);
	sqlite3_finalize(db->learn);
	sqlite3_finalize(db->forget);
	sqlite3_close(db->sql);
	db->insert = db->select = db->trim = db->learn = db->forget = NULL;
	db->sql = NULL;
}

static int set_aside(const char *path, struct gs_error *err)
{
	char aside[512], journal[512];

	if (snprintf(aside, sizeof(aside), "%s.corrupt", path) >= (int)sizeof(aside))
		return gs_fail(err, "its name is too long");
	if (rename(path, aside) < 0)
		return gs_fail_errno(err, "cannot set %s aside", path);
	snprintf(journal, sizeof(journal), "%.500s-journal", path);
	unlink(journal); /* of the file that is no good: never to be played into the new one */
	return 0;
}

struct gs_history_db *gs_history_db_open(const char *path, uint32_t rows, struct gs_error *err)
{
	struct gs_history_db *db = calloc(1, sizeof(*db));
	struct gs_error why = { "" };
	int rc;

	if (!db) {
		gs_fail(err, "no memory");
		return NULL;
	}
	db->rows = rows;
	rc = try_open(db, path, &why);
	if (rc == 1) {
		shut(db);
		if (set_aside(path, err) < 0)
			goto fail;
		gs_fail(err, "%.120s: set aside as .corrupt: %.100s", path, why.text);
		rc = try_open(db, path, &why);
	} else {
		err->text[0] = '\0';
	}
	if (rc == 0)
		return db;
	gs_fail(err, "%.120s: %.100s", path, why.text);
fail:
	shut(db);
	free(db);
	return NULL;
}

void gs_history_db_close(struct gs_history_db *db)
{
	struct gs_error err;

	if (!db)
		return;
	gs_history_db_commit(db, &err);
	shut(db);
	free(db);
}

static void bind(sqlite3_stmt *st, const struct gs_past_step *s)
{
	const int64_t ids[] = { s->job, s->step, s->gpu, s->shares };
	const int64_t counts[] = { s->start_s, s->end_s, (int64_t)s->kernels,
				   (int64_t)s->preemptions };
	const double figures[] = { s->active_ms,    s->waiting_ms,   s->turnaround_ms,
				   s->evict_p50_us, s->evict_p99_us, s->memory_mb,
				   s->reserved_mb };
	int at = 1;

	for (size_t i = 0; i < 4; i++)
		sqlite3_bind_int64(st, at++, ids[i]);
	sqlite3_bind_text(st, at++, s->user, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, at++, s->partition, -1, SQLITE_STATIC);
	for (size_t i = 0; i < 4; i++)
		sqlite3_bind_int64(st, at++, counts[i]);
	for (size_t i = 0; i < 7; i++)
		sqlite3_bind_double(st, at++, figures[i]);
	sqlite3_bind_int64(st, at, (int64_t)s->program);
}

static int begin(struct gs_history_db *db, struct gs_error *err)
{
	if (db->open_batch)
		return 0;
	if (sqlite3_exec(db->sql, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
		return fail_sql(db, err);
	db->open_batch = 1;
	return 0;
}

int gs_history_db_learn(struct gs_history_db *db, const struct gs_learned_entry *entry,
			struct gs_error *err)
{
	int rc;

	if (begin(db, err) < 0)
		return -1;
	sqlite3_bind_int64(db->learn, 1, (int64_t)entry->key);
	sqlite3_bind_int64(db->learn, 2, (int64_t)entry->tpt_ps);
	rc = sqlite3_step(db->learn) == SQLITE_DONE ? 0 : fail_sql(db, err);
	sqlite3_reset(db->learn);
	return rc;
}

int gs_history_db_learned(struct gs_history_db *db, struct gs_learned_entry **entry, size_t *n,
			  struct gs_error *err)
{
	sqlite3_stmt *st = NULL;
	int rc;

	*n = 0;
	*entry = calloc(GS_LEARNED_MAX, sizeof(**entry));
	if (!*entry)
		return gs_fail(err, "no memory");
	if (sqlite3_prepare_v2(db->sql, "SELECT key,tpt_ps FROM learned ORDER BY id LIMIT ?", -1,
			       &st, NULL) != SQLITE_OK)
		return fail_sql(db, err);
	sqlite3_bind_int64(st, 1, GS_LEARNED_MAX);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && *n < GS_LEARNED_MAX)
		(*entry)[(*n)++] = (struct gs_learned_entry) {
			(uint64_t)sqlite3_column_int64(st, 0),
			(uint64_t)sqlite3_column_int64(st, 1),
		};
	rc = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : fail_sql(db, err);
	sqlite3_finalize(st);
	return rc;
}

int gs_history_db_add(struct gs_history_db *db, const struct gs_past_step *step,
		      struct gs_error *err)
{
	int rc;

	if (begin(db, err) < 0)
		return -1;
	bind(db->insert, step);
	rc = sqlite3_step(db->insert) == SQLITE_DONE ? 0 : fail_sql(db, err);
	sqlite3_reset(db->insert);
	return rc;
}

int gs_history_db_commit(struct gs_history_db *db, struct gs_error *err)
{
	int rc = 0;

	if (!db->open_batch)
		return 0;
	db->open_batch = 0;
	sqlite3_bind_int64(db->trim, 1, db->rows);
	if (sqlite3_step(db->trim) != SQLITE_DONE)
		rc = fail_sql(db, err);
	sqlite3_reset(db->trim);
	sqlite3_bind_int64(db->forget, 1, GS_LEARNED_MAX);
	if (rc == 0 && sqlite3_step(db->forget) != SQLITE_DONE)
		rc = fail_sql(db, err);
	sqlite3_reset(db->forget);
	if (rc == 0 && sqlite3_exec(db->sql, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		rc = fail_sql(db, err);
	if (rc < 0)
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static void text_of(sqlite3_stmt *st, int column, char *field, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	snprintf(field, size, "%s", text ? text : "");
}

static void read_row(sqlite3_stmt *st, struct gs_past_step *s)
{
	memset(s, 0, sizeof(*s));
	s->priority = -1;
	s->job = (uint32_t)sqlite3_column_int64(st, 0);
	s->step = (uint32_t)sqlite3_column_int64(st, 1);
	s->gpu = (uint32_t)sqlite3_column_int64(st, 2);
	s->shares = (uint32_t)sqlite3_column_int64(st, 3);
	text_of(st, 4, s->user, sizeof(s->user));
	text_of(st, 5, s->partition, sizeof(s->partition));
	s->start_s = sqlite3_column_int64(st, 6);
	s->end_s = sqlite3_column_int64(st, 7);
	s->kernels = (uint64_t)sqlite3_column_int64(st, 8);
	s->preemptions = (uint64_t)sqlite3_column_int64(st, 9);
	s->active_ms = sqlite3_column_double(st, 10);
	s->waiting_ms = sqlite3_column_double(st, 11);
	s->turnaround_ms = sqlite3_column_double(st, 12);
	s->evict_p50_us = sqlite3_column_double(st, 13);
	s->evict_p99_us = sqlite3_column_double(st, 14);
	s->memory_mb = sqlite3_column_double(st, 15);
	s->reserved_mb = sqlite3_column_double(st, 16);
	s->program = (uint64_t)sqlite3_column_int64(st, 17);
}

int gs_history_db_select(struct gs_history_db *db, const struct gs_msg_history *query,
			 struct gs_past_step **step, size_t *n, struct gs_error *err)
{
	sqlite3_stmt *st = db->select;
	size_t room = *n;
	int rc;

	sqlite3_bind_int64(st, 1, (int64_t)query->since);
	sqlite3_bind_int64(st, 2, query->job_id);
	sqlite3_bind_text(st, 3, query->user, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 4, query->partition, -1, SQLITE_STATIC);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		if (*n == room) {
			struct gs_past_step *grown;

			room = room ? 2 * room : 64;
			grown = realloc(*step, room * sizeof(*grown));
			if (!grown)
				break;
			*step = grown;
		}
		read_row(st, &(*step)[(*n)++]);
	}
	if (rc == SQLITE_DONE)
		rc = 0;
	else
		rc = rc == SQLITE_ROW ? gs_fail(err, "no memory") : fail_sql(db, err);
	sqlite3_reset(st);
	return rc;
}

int gs_history_db_peaks(struct gs_history_db *db,
			void (*each)(void *arg, const char *user, uint64_t program,
				     double memory_mb),
			void *arg, struct gs_error *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->sql,
				    "SELECT user, program, max(memory_mb) FROM step"
				    " WHERE program<>0 GROUP BY user, program ORDER BY max(id)",
				    -1, &st, NULL);

	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		const char *user;

		rc = sqlite3_step(st);
		if (rc != SQLITE_ROW)
			break;
		user = (const char *)sqlite3_column_text(st, 0);
		each(arg, user ? user : "", (uint64_t)sqlite3_column_int64(st, 1),
		     sqlite3_column_double(st, 2));
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : fail_sql(db, err);
}

/* They end in another order than they begin, so it is not simply the last row's. */
int gs_history_db_local(struct gs_history_db *db, uint32_t *latest, struct gs_error *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->sql,
				    "SELECT job FROM step WHERE job BETWEEN ? AND ?"
				    " ORDER BY id",
				    -1, &st, NULL);

	*latest = 0;
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, GS_LOCAL_JOB_FIRST);
		sqlite3_bind_int64(st, 2, GS_LOCAL_JOB_LAST);
	}
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW)
			*latest =
				gs_local_job_later(*latest, (uint32_t)sqlite3_column_int64(st, 0));
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : fail_sql(db, err);
}
#endif
