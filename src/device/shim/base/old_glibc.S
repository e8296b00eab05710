/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the shim calls of the C library, as glibc 2.17 has it, so that it loads in
 * containers as old as that.  Makemodule.am has the same list for the linker; testsuite/lint/glibc sees to it
 * that nothing newer is left.
 */
#include "common/old_glibc.inc"

	OLD	dladdr, GLIBC_2.2.5
	OLD	dlerror, GLIBC_2.2.5
	OLD	dlopen, GLIBC_2.2.5
	OLD	dlsym, GLIBC_2.2.5
	OLD	pow, GLIBC_2.2.5
	OLD	pthread_attr_setstacksize, GLIBC_2.2.5
	OLD	pthread_create, GLIBC_2.2.5
	OLD	pthread_detach, GLIBC_2.2.5
	OLD	pthread_key_create, GLIBC_2.2.5
	OLD	pthread_mutex_trylock, GLIBC_2.2.5
	OLD	pthread_once, GLIBC_2.2.5
	OLD	pthread_setname_np, GLIBC_2.12
	OLD	pthread_setspecific, GLIBC_2.2.5
	OLD	pthread_sigmask, GLIBC_2.2.5
	OLD	pthread_timedjoin_np, GLIBC_2.3.3
	OLD_STAT stat, __xstat
	OLD_STAT fstat, __fxstat
	OLD_MEMFD_CREATE
	OLD_NUMBERS

/* fstatat(dir, path, buf, flags), likewise */
	WRAP	fstatat
	movl	%ecx, %r8d
	movq	%rdx, %rcx
	movq	%rsi, %rdx
	movl	%edi, %esi
	movl	$1, %edi
	jmp	__fxstatat@PLT
	.size	__wrap_fstatat, .-__wrap_fstatat
