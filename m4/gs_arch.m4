# SPDX-License-Identifier: GPL-2.0-or-later
# GS_ARCH: the shim's forwarders are written for x86-64 Linux.
AC_DEFUN([GS_ARCH], [
  AS_CASE([$host],
    [x86_64-*-linux*], [],
    [AC_MSG_ERROR([gpushare runs on x86-64 Linux; this is $host])])
])
