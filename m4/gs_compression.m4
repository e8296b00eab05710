# SPDX-License-Identifier: GPL-2.0-or-later
# GS_COMPRESSION: COMPRESSION_CFLAGS and COMPRESSION_LIBS of liblz4 and libzstd, for packed fatbins.
AC_DEFUN([GS_COMPRESSION], [
  PKG_CHECK_MODULES([COMPRESSION], [liblz4 libzstd >= 1.4], [],
    [AC_MSG_ERROR([liblz4 and libzstd are needed: install liblz4-dev and libzstd-dev])])
])
