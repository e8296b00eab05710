# SPDX-License-Identifier: GPL-2.0-or-later
# GS_SANITIZERS: --enable-sanitizers builds everything with ASan and UBSan.
# HAVE_TSAN: single tests are built with the thread sanitizer as well, which those two exclude;
# otherwise GS_NO_TSAN says to whoever runs them why not.
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
  gs_tsan=no
  GS_NO_TSAN="--enable-sanitizers excludes the thread sanitizer"
  AS_IF([test "x$enable_sanitizers" = xno], [
    GS_NO_TSAN="programs do not run under the thread sanitizer here"
    gs_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -fsanitize=thread"
    AC_MSG_CHECKING([whether programs run under the thread sanitizer])
    AC_RUN_IFELSE([AC_LANG_PROGRAM([], [])], [gs_tsan=yes], [gs_tsan=no], [gs_tsan=no])
    AC_MSG_RESULT([$gs_tsan])
    CFLAGS=$gs_save_CFLAGS
  ])
  AC_SUBST([GS_NO_TSAN])
  AM_CONDITIONAL([HAVE_TSAN], [test "x$gs_tsan" = xyes])
])
