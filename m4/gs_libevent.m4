# SPDX-License-Identifier: GPL-2.0-or-later
# GS_LIBEVENT: LIBEVENT_CFLAGS and LIBEVENT_LIBS, the daemon's event loop.
AC_DEFUN([GS_LIBEVENT], [
  PKG_CHECK_MODULES([LIBEVENT], [libevent_core >= 2.1], [],
    [AC_MSG_ERROR([libevent is needed: install libevent-dev])])
])
