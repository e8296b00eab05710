# SPDX-License-Identifier: GPL-2.0-or-later
# GS_HWLOC: HWLOC_CFLAGS and HWLOC_LIBS of libhwloc (libhwloc-dev).
AC_DEFUN([GS_HWLOC], [
  PKG_CHECK_MODULES([HWLOC], [hwloc], [],
    [AC_MSG_ERROR([libhwloc is needed: install libhwloc-dev])])
])
