# SPDX-License-Identifier: GPL-2.0-or-later
# GS_SANITIZERS: --enable-sanitizers builds everything with ASan and UBSan.
AC_DEFUN([GS_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers],
      [build with the address and undefined-behaviour sanitizers])],
    [], [enable_sanitizers=no])
  gs_sanitizers=$enable_sanitizers
  AS_IF([test "x$enable_sanitizers" != xno], [
    CFLAGS="$CFLAGS -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
    LDFLAGS="$LDFLAGS -fsanitize=address,undefined"
    AC_DEFINE([GS_SANITIZED], [1], [Define when built with the sanitizers.])
  ])
  AM_CONDITIONAL([SANITIZED], [test "x$enable_sanitizers" != xno])
])
