/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The C library's functions by the names and versions that glibc 2.17 has, so that the shim loads in
 * containers as old as that.  The linker turns a call of NAME, also from a static library, into
 * one of __wrap_NAME (--wrap in Makemodule.am, whose list this is); testsuite/lint/glibc sees to it
 * that nothing newer is left.
 *
 * The version of a symbol is that of its first release; where it has changed since, it was moved
 * from libpthread or libdl into libc, so those two are named as needed libraries.  pow's
 * newer version sets errno no more.
 */
	.text

	.macro WRAP name
	.globl	__wrap_\name
	.hidden	__wrap_\name
	.type	__wrap_\name, @function
__wrap_\name:
	.endm

	/* A jump: the callee sees its caller, which dlopen looks at. */
	.macro OLD name, version
	.symver	old_\name, \name@\version
	WRAP	\name
	jmp	old_\name@PLT
	.size	__wrap_\name, .-__wrap_\name
	.endm

	OLD	dladdr, GLIBC_2.2.5
	OLD	dlerror, GLIBC_2.2.5
	OLD	dlopen, GLIBC_2.2.5
	OLD	dlsym, GLIBC_2.2.5
	OLD	pow, GLIBC_2.2.5
	OLD	pthread_attr_setstacksize, GLIBC_2.2.5
	OLD	pthread_create, GLIBC_2.2.5
	OLD	pthread_key_create, GLIBC_2.2.5
	OLD	pthread_mutex_trylock, GLIBC_2.2.5
	OLD	pthread_once, GLIBC_2.2.5
	OLD	pthread_setname_np, GLIBC_2.12
	OLD	pthread_setspecific, GLIBC_2.2.5
	OLD	pthread_sigmask, GLIBC_2.2.5
	OLD	pthread_timedjoin_np, GLIBC_2.3.3

/* stat(path, buf) and fstat(fd, buf) had the version of struct stat in front: 1 on x86-64. */
	.macro OLD_STAT name, old
	WRAP	\name
	movq	%rsi, %rdx
	movq	%rdi, %rsi
	movl	$1, %edi
	jmp	\old@PLT
	.size	__wrap_\name, .-__wrap_\name
	.endm

	OLD_STAT stat, __xstat
	OLD_STAT fstat, __fxstat

/* fstatat(dir, path, buf, flags), likewise */
	WRAP	fstatat
	movl	%ecx, %r8d
	movq	%rdx, %rcx
	movq	%rsi, %rdx
	movl	%edi, %esi
	movl	$1, %edi
	jmp	__fxstatat@PLT
	.size	__wrap_fstatat, .-__wrap_fstatat

/* memfd_create(name, flags): a system call, without a function in the C library before 2.27 */
	WRAP	memfd_create
	movl	%esi, %edx
	movq	%rdi, %rsi
	movl	$319, %edi
	xorl	%eax, %eax
	jmp	syscall@PLT
	.size	__wrap_memfd_create, .-__wrap_memfd_create

	.section .note.GNU-stack, "", @progbits
