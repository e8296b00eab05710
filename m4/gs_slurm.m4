# SPDX-License-Identifier: GPL-2.0-or-later
# GS_SLURM: --with-slurm-source=DIR, a configured source tree of the installed Slurm.
AC_DEFUN([GS_SLURM], [
  AC_ARG_WITH([slurm-source],
    [AS_HELP_STRING([--with-slurm-source=DIR],
      [configured source tree of the installed Slurm (contrib/fetch-slurm-source makes one)])],
    [], [with_slurm_source=no])
  gs_slurm_summary="no (no --with-slurm-source)"
  AS_IF([test "x$with_slurm_source" != xno], [gs_slurm_summary=$with_slurm_source])
  SLURM_SOURCE=$with_slurm_source
  AC_SUBST([SLURM_SOURCE])
  AM_CONDITIONAL([HAVE_SLURM], [test "x$with_slurm_source" != xno])
])
