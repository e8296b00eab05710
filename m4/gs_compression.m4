# SPDX-License-Identifier: GPL-2.0-or-later
# GS_COMPRESSION: COMPRESSION_CFLAGS and COMPRESSION_LIBS of liblz4 and libzstd, for packed fatbins.
# The static ones, since the shim goes into containers that have neither; others have theirs as well.
AC_DEFUN([GS_COMPRESSION], [
  PKG_CHECK_MODULES([COMPRESSION], [liblz4 libzstd >= 1.4], [],
    [AC_MSG_ERROR([liblz4 and libzstd are needed: install liblz4-dev and libzstd-dev])])
  AC_MSG_CHECKING([for static liblz4 and libzstd that a library can have in it])
  gs_save_LIBS=$LIBS gs_save_CFLAGS=$CFLAGS
  LIBS="-l:liblz4.a -l:libzstd.a $LIBS" CFLAGS="$CFLAGS -shared -fPIC"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <lz4.h>
#include <zstd.h>]], [[return LZ4_decompress_safe("", 0, 0, 0) + (int)ZSTD_decompress(0, 0, "", 0);]])],
    [AC_MSG_RESULT([yes]); COMPRESSION_LIBS="-l:liblz4.a -l:libzstd.a"],
    [AC_MSG_RESULT([no]); AC_MSG_WARN([the shim will need liblz4 and libzstd, which many containers have not])])
  LIBS=$gs_save_LIBS CFLAGS=$gs_save_CFLAGS
])
