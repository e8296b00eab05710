# SPDX-License-Identifier: GPL-2.0-or-later
# GS_SQLITE: SQLITE_CFLAGS, SQLITE_LIBS and HAVE_SQLITE of libsqlite3 (libsqlite3-dev), for the
# history; without it gpushared has none, and says so. 3.25 has window functions.
AC_DEFUN([GS_SQLITE], [
  PKG_CHECK_MODULES([SQLITE], [sqlite3 >= 3.25],
    [AC_DEFINE([HAVE_SQLITE], [1], [Define to keep the history of the steps in SQLite.])
     gs_sqlite_summary=yes],
    [gs_sqlite_summary="no (install libsqlite3-dev 3.25 or newer)"])
])
