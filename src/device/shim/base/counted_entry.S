/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stands in shim_slot[] in the place of the driver's functions where their calls are counted;
 * see counted.h.  The argument registers are kept, and the stack arguments are copied below our
 * frame, as in forward.S.
 */
#include "device/shim/base/counted.h"
#include "device/shim/base/stack_words.h"

	.text

/*
 * %r11: the entry's number.  Calls the driver's function and counts that as it begins and ends
 * (base/counted.h), always in the same page.
 */
	.type	shim_counted_through, @function
shim_counted_through:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$16, %rsp	/* keeps 16-byte alignment, as 8 * STACK_WORDS does */
	movq	shim_counted_words(%rip), %rax
	movq	%rax, -8(%rbp)
	lock incl (%rax)
	leaq	shim_counted_driver_of(%rip), %rax
	movq	(%rax,%r11,8), %r11
	.set	i, STACK_WORDS
	.rept	STACK_WORDS
	.set	i, i - 1
	pushq	16 + 8 * i(%rbp)
	.endr
	call	*%r11
	movq	-8(%rbp), %rcx
	lock incl SHIM_CALLS_ENDED(%rcx)
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	shim_counted_through, .-shim_counted_through

	.globl	shim_counted_entry
	.hidden	shim_counted_entry
	.type	shim_counted_entry, @object
	.balign	SHIM_COUNTED_BYTES
shim_counted_entry:
	.set	number, 0
	.macro COUNT_ENTRY
	.balign	SHIM_COUNTED_BYTES
	movl	$number, %r11d
	jmp	shim_counted_through
	.set	number, number + 1
	.endm
#define ENTRY(name, kind, blocked) COUNT_ENTRY
#include "device/shim/base/entries.def"
	.balign	SHIM_COUNTED_BYTES
	.size	shim_counted_entry, .-shim_counted_entry

	.section .note.GNU-stack, "", @progbits
