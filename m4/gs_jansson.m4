# SPDX-License-Identifier: GPL-2.0-or-later
# GS_JANSSON: JANSSON_CFLAGS and JANSSON_LIBS of libjansson (libjansson-dev).
AC_DEFUN([GS_JANSSON], [
  PKG_CHECK_MODULES([JANSSON], [jansson], [],
    [AC_MSG_ERROR([libjansson is needed: install libjansson-dev])])
])
