/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exported symbols of the entry points that we do not wrap.
 *
 * SAFE ones jump to the driver through shim_slot[], filled on first use;
 * QUEUES ones, too, while nothing is held in the legacy default stream.
 * WAIT and LEGACY ones call it between shim_barrier_enter and shim_barrier_leave
 * (context/barrier.h).  Their signatures do not matter: the argument registers are kept,
 * and the stack arguments (at most STACK_WORDS; no entry point has more) are
 * copied below our frame.
 */
#include "device/shim/base/unlisted.h"

#include "device/shim/base/stack_words.h"
#include "device/shim/base/operations.h"
#include "common/forward.inc"

	.text

	FIRST_CALL shim_first_call, shim_real

/* %r11: the entry's number.  Counts the call, which may wait for that, and jumps there. */
	.type	shim_counted_call, @function
shim_counted_call:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$144, %rsp
	SAVE_ARGS
	movq	%r11, -136(%rbp)
	movl	$SHIM_QUEUES_OPERATIONS, %edi
	call	shim_blocked_behind
	movl	-136(%rbp), %edi
	call	shim_real
	movq	%rax, %r11
	RESTORE_ARGS
	leave
	.cfi_def_cfa %rsp, 8
	jmp	*%r11
	.cfi_endproc
	.size	shim_counted_call, .-shim_counted_call

/* %r11: the entry's number, or one behind them all (unlisted.h); %r10: 1 for LEGACY. */
	.type	shim_barrier_call, @function
shim_barrier_call:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$144, %rsp	/* keeps 16-byte alignment: 144 and 8 * STACK_WORDS are multiples of 16 */
	SAVE_ARGS
	movq	%r10, -8(%rbp)
	movq	%r11, -136(%rbp)
	movl	%r10d, %edi
	call	shim_barrier_enter
	movl	-136(%rbp), %edi
	call	shim_barrier_target
	movq	%rax, %r11
	.set	i, STACK_WORDS
	.rept	STACK_WORDS
	.set	i, i - 1
	pushq	16 + 8 * i(%rbp)
	.endr
	RESTORE_ARGS
	call	*%r11
	addq	$(8 * STACK_WORDS), %rsp
	movq	%rax, -136(%rbp)
	movl	-8(%rbp), %edi
	call	shim_barrier_leave
	movq	-136(%rbp), %rax
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	shim_barrier_call, .-shim_barrier_call

	.macro FORWARD_SAFE name
	JUMP	\name, shim_slot, shim_first_call
	.endm
	.macro FORWARD_QUEUES name
	SYMBOL	\name
	cmpl	$0, shim_held + 4(%rip)
	jne	2f
	movq	shim_slot + 8 * number(%rip), %rax
	testq	%rax, %rax
	jz	1f
	jmp	*%rax
1:	movl	$number, %r11d
	jmp	shim_first_call
2:	movl	$number, %r11d
	jmp	shim_counted_call
	.size	\name, .-\name
	.endm
	.macro FORWARD_ENTRY
	movl	$number, %r11d
	xorl	%r10d, %r10d
	jmp	shim_barrier_call
	.endm
	.macro FORWARD_WAIT name
	SYMBOL	\name
	FORWARD_ENTRY
	.size	\name, .-\name
	.endm
	.macro FORWARD_LEGACY name
	SYMBOL	\name
	movl	$number, %r11d
	movl	$1, %r10d
	jmp	shim_barrier_call
	.size	\name, .-\name
	.endm
	.macro WRAPPED_SAFE name
	.endm
	.macro WRAPPED_QUEUES name
	.endm
	.macro WRAPPED_WAIT name
	.endm
	.macro WRAPPED_LEGACY name
	.endm

	.set	number, 0
	.macro ENTRY_OF name, kind, blocked
	\kind\()_\blocked \name
	.set	number, number + 1
	.endm

#define ENTRY(name, kind, blocked) ENTRY_OF name, kind, blocked
#include "device/shim/base/entries.def"

	.globl	shim_unlisted_entry
	.hidden	shim_unlisted_entry
	.type	shim_unlisted_entry, @object
	.balign	SHIM_ENTRY_BYTES
shim_unlisted_entry:
	.rept	SHIM_UNLISTED
	.balign	SHIM_ENTRY_BYTES
	FORWARD_ENTRY
	.set	number, number + 1
	.endr
	.balign	SHIM_ENTRY_BYTES
	.size	shim_unlisted_entry, .-shim_unlisted_entry

	.section .note.GNU-stack, "", @progbits
