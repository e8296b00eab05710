# SPDX-License-Identifier: GPL-2.0-or-later
# GS_SLURM: --with-slurm-source=DIR, a configured source tree of the installed Slurm.
#
#   HAVE_SLURM     gres/gpushare and job_submit/gpushare can be built: they need headers that Slurm
#                  does not install, and those of exactly the installed version
#   HAVE_SPANK     slurm/spank.h is there, from the source tree or from libslurm-dev
#   HAVE_SLURM_SUSPEND_HOOK  slurmd asks its task plugins before it suspends a job (up to 24.05):
#                  task/gpushare is built
#   HAVE_LIBSLURM  libslurm with its headers: the daemon's reports to slurmctld
# The interface of a gres plugin differs between releases; what the tree expects is asked of the
# tree's own list of symbols, not of its version number.
AC_DEFUN([GS_SLURM], [
  AC_ARG_WITH([slurm-source],
    [AS_HELP_STRING([--with-slurm-source=DIR],
      [configured source tree of the installed Slurm (contrib/fetch-slurm-source makes one)])],
    [], [with_slurm_source=no])
  AC_ARG_WITH([slurm-plugin-dir],
    [AS_HELP_STRING([--with-slurm-plugin-dir=DIR],
      [where to install the Slurm plugins (default: slurm below gpushare's own library folder)])],
    [], [with_slurm_plugin_dir='$(pkglibdir)/slurm'])
  SLURM_SOURCE= SLURM_CPPFLAGS= SPANK_CPPFLAGS= SLURM_VERSION= gs_have_spank=no gs_suspend_hook=no
  AS_CASE([$with_slurm_source],
    [yes], [AC_MSG_ERROR([--with-slurm-source needs a folder; contrib/fetch-slurm-source makes one])],
    [no], [gs_slurm_summary="no gres plugin (no --with-slurm-source)"],
    [GS_SLURM_TREE([$with_slurm_source])])
  GS_SLURM_INSTALLED
  GS_LIBSLURM
  AS_IF([test "x$SLURM_SOURCE" != x], [
    SPANK_CPPFLAGS="-isystem $SLURM_SOURCE" gs_have_spank=yes
  ], [
    AC_CHECK_HEADER([slurm/spank.h], [gs_have_spank=yes])
  ])
  gs_slurm_summary="$gs_slurm_summary; SPANK plugin: $gs_have_spank; libslurm: $gs_have_libslurm"
  slurmplugdir=$with_slurm_plugin_dir
  AC_SUBST([slurmplugdir])
  AC_SUBST([SLURM_SOURCE])
  AC_SUBST([SLURM_VERSION])
  AC_SUBST([SLURM_CPPFLAGS])
  AC_SUBST([SPANK_CPPFLAGS])
  AM_CONDITIONAL([HAVE_SLURM], [test "x$SLURM_SOURCE" != x])
  AS_IF([test "x$gs_suspend_hook" = xyes],
    [AC_DEFINE([HAVE_SLURM_SUSPEND_HOOK], [1], [Define when slurmd asks its task plugins before it suspends a job.])])
  AM_CONDITIONAL([HAVE_SLURM_SUSPEND_HOOK], [test "x$gs_suspend_hook" = xyes])
  AM_CONDITIONAL([HAVE_SPANK], [test "x$gs_have_spank" = xyes])
])

# GS_SLURM_TREE(DIR): is it a configured tree, of which version, with which gres interface?
AC_DEFUN([GS_SLURM_TREE], [
  AC_MSG_CHECKING([for a configured Slurm tree in $1])
  AS_IF([test -r "$1/config.h" && test -r "$1/slurm/slurm.h"],
    [SLURM_SOURCE=`cd "$1" && pwd`],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([no config.h and slurm/slurm.h in $1: run its configure, or contrib/fetch-slurm-source])])
  SLURM_VERSION=`sed -n 's/^#define SLURM_VERSION_STRING "\(.*\)"/\1/p' "$SLURM_SOURCE/config.h"`
  AS_IF([test "x$SLURM_VERSION" = x], [AC_MSG_ERROR([$1/config.h names no SLURM_VERSION_STRING])])
  AC_MSG_RESULT([$SLURM_VERSION])

  AC_MSG_CHECKING([for the interface of its gres plugins])
  gs_gres_c= gs_gres_flags=
  for gs_dir in interfaces common; do
    AS_IF([test "x$gs_gres_c" = x && test -r "$SLURM_SOURCE/src/$gs_dir/gres.c"],
      [gs_gres_c=$SLURM_SOURCE/src/$gs_dir/gres.c gs_gres_dir=$gs_dir])
  done
  AS_IF([test "x$gs_gres_c" = x], [AC_MSG_ERROR([no gres.c in $SLURM_SOURCE/src])])
  AS_IF([test $gs_gres_dir = interfaces], [gs_gres_flags="$gs_gres_flags -DGS_GRES_IN_INTERFACES"])
  AS_IF([grep -q '"gres_p_prep_build_env"' "$gs_gres_c"], [gs_gres_flags="$gs_gres_flags -DGS_GRES_PREP"])
  AS_IF([grep -q '"gres_p_get_job_info"' "$gs_gres_c"], [gs_gres_flags="$gs_gres_flags -DGS_GRES_JOB_INFO"])
  AS_IF([grep -q '",gres/"' "$gs_gres_c"], [gs_gres_flags="$gs_gres_flags -DGS_TRES_SLASH"])
  AS_IF([grep -q 'list_t;' "$SLURM_SOURCE/src/common/list.h"], [gs_gres_flags="$gs_gres_flags -DGS_SLURM_LIST_T"])
  AS_IF([grep -q 'hostlist_t \*hostlist_create' "$SLURM_SOURCE/src/common/hostlist.h"],
    [gs_gres_flags="$gs_gres_flags -DGS_SLURM_HOSTLIST_T"])
  AS_IF([grep -q '\<SELECT_MULTIPLE_SHARING_GRES_PJ\>' "$SLURM_SOURCE/slurm/slurm.h"],
    [gs_gres_flags="$gs_gres_flags -DGS_MULTIPLE_SHARING=SELECT_MULTIPLE_SHARING_GRES_PJ"],
    [grep -q '\<MULTIPLE_SHARING_GRES_PJ\>' "$SLURM_SOURCE/slurm/slurm.h"],
    [gs_gres_flags="$gs_gres_flags -DGS_MULTIPLE_SHARING=MULTIPLE_SHARING_GRES_PJ"])
  gs_submit_c=
  for gs_dir in interfaces slurmctld; do
    AS_IF([test "x$gs_submit_c" = x && test -r "$SLURM_SOURCE/src/$gs_dir/job_submit.c"],
      [gs_submit_c=$SLURM_SOURCE/src/$gs_dir/job_submit.c])
  done
  AS_IF([test "x$gs_submit_c" != x && sed -n '/(\*modify)/,/;/p' "$gs_submit_c" | grep -q err_msg],
    [gs_gres_flags="$gs_gres_flags -DGS_JOB_MODIFY_TEXT"])
  for gs_task_c in interfaces/task.c slurmd/common/task_plugin.c; do
    gs_task_c=$SLURM_SOURCE/src/$gs_task_c
    AS_IF([test -r "$gs_task_c"], [
      AS_IF([grep -q '"task_p_slurmd_suspend_job"' "$gs_task_c"], [gs_suspend_hook=yes])
      AS_IF([grep -q '"task_p_pre_launch_priv"' "$gs_task_c"], [gs_gres_flags="$gs_gres_flags -DGS_TASK_PRE_LAUNCH_PRIV"])
      AS_IF([sed -n '/(\*pre_launch_priv)/,/;/p' "$gs_task_c" | grep -q global_tid],
        [gs_gres_flags="$gs_gres_flags -DGS_TASK_GLOBAL_ID"])
    ])
  done
  gs_symbols=`sed -n '/syms\@<:@\@:>@ = {/,/};/p' "$gs_gres_c" | grep -c '"gres_p_'`
  AS_CASE([$gs_symbols],
    [13|11], [AC_MSG_RESULT([$gs_symbols symbols])],
    [AC_MSG_RESULT([$gs_symbols symbols])
     AC_MSG_WARN([Slurm $SLURM_VERSION wants $gs_symbols symbols of a gres plugin; gpushare knows the forms with 13 and with 11])])
  # -iquote goes before the -I. of automake: both trees have a config.h and a src/common/log.h.
  # Slurm's config.h has a PACKAGE_VERSION of its own.
  SLURM_CPPFLAGS="-iquote $SLURM_SOURCE -I$SLURM_SOURCE$gs_gres_flags -DGS_VERSION='\"$PACKAGE_VERSION\"'"
  gs_slurm_summary="gres and job_submit for Slurm $SLURM_VERSION"
])

# GS_SLURM_INSTALLED: a gres plugin loads into exactly the version that it was built for.
AC_DEFUN([GS_SLURM_INSTALLED], [
  AC_PATH_PROG([SLURMD], [slurmd], [], [$PATH:/usr/sbin:/usr/local/sbin])
  AS_IF([test "x$SLURMD" != x && test "x$SLURM_VERSION" != x], [
    AC_MSG_CHECKING([for the version of the installed Slurm])
    gs_slurm_installed=`"$SLURMD" -V 2>/dev/null | sed 's/.* //'`
    AC_MSG_RESULT([$gs_slurm_installed])
    AS_IF([test "x$gs_slurm_installed" != "x$SLURM_VERSION"],
      [AC_MSG_WARN([the plugins are built for Slurm $SLURM_VERSION and the installed one is $gs_slurm_installed: it will refuse them])])
  ])
])

# GS_LIBSLURM: LIBSLURM_LIBS of libslurm (libslurm-dev).
AC_DEFUN([GS_LIBSLURM], [
  gs_have_libslurm=no LIBSLURM_LIBS=
  AC_CHECK_HEADER([slurm/slurm.h], [
    AC_CHECK_LIB([slurm], [slurm_load_job], [gs_have_libslurm=yes LIBSLURM_LIBS=-lslurm])
  ])
  AS_IF([test $gs_have_libslurm = yes],
    [AC_DEFINE([HAVE_LIBSLURM], [1], [Define when libslurm is there.])
     AC_CHECK_MEMBERS([job_desc_msg_t.job_id], [], [], [[#include <slurm/slurm.h>]])])
  AC_SUBST([LIBSLURM_LIBS])
  AM_CONDITIONAL([HAVE_LIBSLURM], [test $gs_have_libslurm = yes])
])
