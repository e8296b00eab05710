/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kernels call of the system: vprintf, __assertfail, malloc, free
 * (CUDA C++ Programming Guide, "Formatted Output", "Assertion",
 * "Dynamic Global Memory Allocation and Operations").
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

static uint64_t argument(struct emu_warp *w, const struct emu_op *op, uint32_t lane, int k,
			 uint32_t size)
{
	uint64_t v = 0;

	if (op->extra[k] != EMU_NO_ROW)
		memcpy(&v,
		       w->store.local + (size_t)lane * w->store.stride + w->lane.local[lane] +
			       (uint32_t)op->extra[k],
		       size);
	return v;
}

static void result(struct emu_warp *w, const struct emu_op *op, uint32_t lane, const void *v,
		   uint32_t size)
{
	if (op->target != UINT32_MAX)
		memcpy(w->store.local + (size_t)lane * w->store.stride + w->lane.local[lane] +
			       op->target,
		       v, size);
}

/* A string of the device, bounded; -1 with the fault filled. */
static int string(struct emu_warp *w, uint32_t lane, uint64_t addr, char *out, size_t max)
{
	for (size_t i = 0; i + 1 < max; i++) {
		const char *c = emu_translate(w, (int)lane, EMU_S_GENERIC, addr + i, 1, 1);

		if (!c)
			return -1;
		out[i] = *c;
		if (!*c)
			return 0;
	}
	out[max - 1] = '\0';
	return 0;
}

/* Fetch an argument of the packed buffer: naturally aligned, 4 or 8 bytes. */
static int fetch(struct emu_warp *w, uint32_t lane, uint64_t *at, uint32_t size, uint64_t *v)
{
	const void *p;

	*at = (*at + size - 1) & ~(uint64_t)(size - 1);
	p = emu_translate(w, (int)lane, EMU_S_GENERIC, *at, size, size);
	if (!p)
		return -1;
	*v = 0;
	memcpy(v, p, size);
	*at += size;
	return 0;
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* One conversion %...c of at most `len` characters; appends to out. */
static int convert(struct emu_warp *w, uint32_t lane, const char *spec, size_t len, uint64_t *args,
		   char *out, size_t max)
{
	char fmt[48], text[1024], conv = spec[len - 1];
	int longs = 0, n = 0;
	size_t k = 0;
	uint64_t v;
	double f;

	for (size_t i = 0; i < len - 1 && k < sizeof(fmt) - 16; i++) {
		if (spec[i] == '*') {
			if (fetch(w, lane, args, 4, &v))
				return -1;
			k += (size_t)snprintf(fmt + k, 16, "%d", (int32_t)v % 512);
		} else if (strchr("lzjt", spec[i])) {
			longs = 1;
		} else if (spec[i] != 'h') {
			fmt[k++] = spec[i];
		}
	}
	if (strchr("diouxXc", conv)) {
		if (fetch(w, lane, args, longs ? 8 : 4, &v))
			return -1;
		if (longs)
			fmt[k++] = 'l';
		fmt[k++] = conv;
		fmt[k] = '\0';
		n = longs ? snprintf(out, max, fmt, (long)v) : snprintf(out, max, fmt, (int)v);
	} else if (strchr("fFeEgGaA", conv)) {
		if (fetch(w, lane, args, 8, &v))
			return -1;
		memcpy(&f, &v, 8);
		fmt[k++] = conv;
		fmt[k] = '\0';
		n = snprintf(out, max, fmt, f);
	} else if (conv == 's') {
		if (fetch(w, lane, args, 8, &v) || string(w, lane, v, text, sizeof(text)))
			return -1;
		fmt[k++] = 's';
		fmt[k] = '\0';
		n = snprintf(out, max, fmt, text);
	} else if (conv == 'p') {
		if (fetch(w, lane, args, 8, &v))
			return -1;
		n = snprintf(out, max, "0x%llx", (unsigned long long)v);
	}
	return n < 0 ? 0 : n;
}

int emu_h_vprintf(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		char format[1024], out[4096];
		uint64_t args = argument(w, op, i, 1, 8);
		size_t n = 0;
		int32_t printed = 0;

		if (string(w, i, argument(w, op, i, 0, 8), format, sizeof(format)))
			return -1;
		for (const char *p = format; *p && n < sizeof(out) - 1; p++) {
			const char *q = p + 1;
			int r;

			if (*p != '%') {
				out[n++] = *p;
				continue;
			}
			if (*q == '%') {
				out[n++] = '%';
				p = q;
				continue;
			}
			q += strspn(q, "-+ #0123456789.*hlzjt");
			if (!*q)
				break;
			r = convert(w, i, p, (size_t)(q - p) + 1, &args, out + n, sizeof(out) - n);
			if (r < 0)
				return -1;
			n += (size_t)r < sizeof(out) - n ? (size_t)r : sizeof(out) - n - 1;
			printed++;
			p = q;
		}
		fwrite(out, 1, n, stdout);
		result(w, op, i, &printed, 4);
	}
	fflush(stdout);
	return 0;
}

/* (message, file, line, function, char size) */
int emu_h_assertfail(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t lane = (uint32_t)__builtin_ctz(mask);
	char message[256], file[256], where[64], function[256];

	if (string(w, lane, argument(w, op, lane, 0, 8), message, sizeof(message)) ||
	    string(w, lane, argument(w, op, lane, 1, 8), file, sizeof(file)) ||
	    string(w, lane, argument(w, op, lane, 3, 8), function, sizeof(function)))
		return -1;
	fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
		file, (unsigned int)argument(w, op, lane, 2, 4), function, w->block->ctaid[0],
		w->block->ctaid[1], w->block->ctaid[2], w->lane.tid[0][lane], w->lane.tid[1][lane],
		w->lane.tid[2][lane], message);
	snprintf(where, sizeof(where), "assertion failed");
	return emu_fault(w, (int)lane, EMU_FAULT_ASSERT, 0, where);
}

int emu_h_malloc(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		uint64_t size = argument(w, op, i, 0, 8), p = 0;

		if (size && size <= 8u << 20)
			p = emu_mem_alloc(w->block->grid->mem, size, EMU_MEM_MODULE, 0, 0);
		result(w, op, i, &p, 8);
	}
	return 0;
}

int emu_h_free(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		uint64_t p = argument(w, op, i, 0, 8), size;
		enum emu_mem_kind kind;

		if (p && emu_mem_free(w->block->grid->mem, p, 1u << EMU_MEM_MODULE, &size, &kind))
			return emu_fault(w, (int)i, EMU_FAULT_ADDRESS, p,
					 "free of an address that malloc did not return");
	}
	return 0;
}
