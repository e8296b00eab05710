# SPDX-License-Identifier: GPL-2.0-or-later
# GS_CUDA: --with-cuda=DIR|no; with nvcc the demo kernels' PTX is built, otherwise the shipped PTX is used.
AC_DEFUN([GS_CUDA], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR|no],
      [the CUDA toolkit (default: where nvcc is, or /usr/local/cuda)])],
    [], [with_cuda=auto])
  NVCC=
  AS_CASE([$with_cuda],
    [no], [],
    [auto|yes], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin])],
    [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])
  AS_IF([test "x$NVCC" = x && test "x$with_cuda" != xno && test "x$with_cuda" != xauto],
    [AC_MSG_ERROR([no nvcc in $with_cuda/bin])])
  AS_IF([test "x$NVCC" = x], [gs_cuda_summary="none (the shipped PTX is used)"],
    [gs_cuda_summary=$NVCC])
  AC_SUBST([NVCC])
  AM_CONDITIONAL([HAVE_NVCC], [test "x$NVCC" != x])
])
