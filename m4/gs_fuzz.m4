# SPDX-License-Identifier: GPL-2.0-or-later
# GS_FUZZ: --enable-fuzz builds the libFuzzer targets (clang only).
AC_DEFUN([GS_FUZZ], [
  AC_ARG_ENABLE([fuzz],
    [AS_HELP_STRING([--enable-fuzz], [build the fuzz targets; needs CC=clang])],
    [], [enable_fuzz=no])
  AS_IF([test "x$enable_fuzz" != xno], [
    CFLAGS="$CFLAGS -g -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"
    LDFLAGS="$LDFLAGS -fsanitize=address,undefined"
  ])
  AM_CONDITIONAL([FUZZ], [test "x$enable_fuzz" != xno])
])
