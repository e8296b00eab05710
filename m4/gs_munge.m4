# SPDX-License-Identifier: GPL-2.0-or-later
# GS_MUNGE: MUNGE_CFLAGS and MUNGE_LIBS of libmunge (libmunge-dev).
AC_DEFUN([GS_MUNGE], [
  PKG_CHECK_MODULES([MUNGE], [munge], [],
    [AC_MSG_ERROR([libmunge is needed: install libmunge-dev])])
])
