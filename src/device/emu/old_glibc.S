/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the emulated device calls of the C library, as glibc 2.17 has it, so that it can be used in
 * older containers, too.  Makemodule.am has the same list for the linker. */
#include "common/old_glibc.inc"

	OLD	exp2f, GLIBC_2.2.5
	OLD	log2f, GLIBC_2.2.5
	OLD	pow, GLIBC_2.2.5
	OLD	powf, GLIBC_2.2.5
	OLD	pthread_attr_setstacksize, GLIBC_2.2.5
	OLD	pthread_condattr_setclock, GLIBC_2.3.3
	OLD	pthread_create, GLIBC_2.2.5
	OLD	pthread_once, GLIBC_2.2.5
	OLD	pthread_rwlock_destroy, GLIBC_2.2.5
	OLD	pthread_rwlock_init, GLIBC_2.2.5
	OLD	pthread_rwlock_rdlock, GLIBC_2.2.5
	OLD	pthread_rwlock_unlock, GLIBC_2.2.5
	OLD	pthread_rwlock_wrlock, GLIBC_2.2.5
	OLD	pthread_sigmask, GLIBC_2.2.5
	OLD_STAT stat, __xstat
	OLD_STAT fstat, __fxstat
	OLD_MEMFD_CREATE
	OLD_NUMBERS
