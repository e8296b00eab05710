# SPDX-License-Identifier: GPL-2.0-or-later
# GS_CMOCKA: the unit tests' library; without it `make check` has fewer tests and says so.
AC_DEFUN([GS_CMOCKA], [
  PKG_CHECK_MODULES([CMOCKA], [cmocka >= 1.1],
    [gs_have_cmocka=yes gs_cmocka_summary=cmocka],
    [gs_have_cmocka=no gs_cmocka_summary="no (install libcmocka-dev)"])
  AM_CONDITIONAL([HAVE_CMOCKA], [test "x$gs_have_cmocka" = xyes])
])
