# SPDX-License-Identifier: GPL-2.0-or-later
# GS_WARNINGS: the warnings of our own code; --enable-werror in CI.
AC_DEFUN([GS_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [turn warnings into errors])],
    [], [enable_werror=no])
  GS_CFLAGS="-std=c11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla"
  AS_IF([test "x$enable_werror" != xno], [GS_CFLAGS="$GS_CFLAGS -Werror"])
  AC_SUBST([GS_CFLAGS])
])
