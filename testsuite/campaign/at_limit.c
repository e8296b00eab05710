/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * at_limit ENTRY SEED FILE CONTEXT: a program at the limit of its reservation, by one way to
 * allocate (row G1 of the campaign). Each context is charged with CONTEXT bytes.
 *
 * It asks for random sizes and knows beforehand, by its own account, whether it gets them. When all
 * is taken it writes "at limit BYTES", what it has in all, and goes on asking until FILE is gone;
 * then it frees something, allocates it again, and gives everything back.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../e2e/entries.h"

#define PIECES 256
#define SMALLEST 1024

CUdevice dev;
int failures;

static const struct entry *entry;
static size_t left, context_bytes, resident, stack_bytes;
static struct {
	uint64_t handle;
	size_t bytes;
} piece[PIECES];
static unsigned n;

static void __attribute__((format(printf, 1, 2), noreturn)) fail(const char *words, ...)
{
	va_list args;

	va_start(args, words);
	printf("%s: ", entry ? entry->name : "at_limit");
	vprintf(words, args);
	puts("");
	va_end(args);
	exit(1);
}

void check(CUresult rc, const char *call, int line)
{
	if (rc != CUDA_SUCCESS)
		fail("line %d: %s: error %d", line, call, (int)rc);
}

static CUresult context(size_t bytes, uint64_t *h)
{
	(void)bytes;
	return cuCtxCreate((CUcontext *)h, NULL, 0, dev);
}

static CUresult context_free(uint64_t h, size_t bytes)
{
	(void)bytes;
	return cuCtxDestroy((CUcontext)(uintptr_t)h);
}

static const struct entry context_entry = { "context", context, context_free, 0 };

static const struct entry *find(const char *name)
{
	if (strcmp(name, context_entry.name) == 0)
		return &context_entry;
	if (strcmp(name, frames_entry.name) == 0)
		return &frames_entry;
	for (size_t i = 0; i < ndoors; i++)
		if (strcmp(name, entries[i].name) == 0)
			return &entries[i];
	return NULL;
}

static size_t whole(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* A stack or a frame of each thread that may be resident, in steps of 16 bytes. */
static size_t of_threads(size_t bytes, size_t beside)
{
	return (((beside + bytes / resident + 16) & ~(size_t)15) - beside) * resident;
}

/* What the entry takes for a request of so many bytes (../e2e/entries_list.c). */
static size_t takes(size_t bytes)
{
	static const struct {
		const char *name;
		size_t unit;
	} units[] = {
		{ "pitched", 512 }, { "vmm", 2 * MIB }, { "mapped", 2 * MIB }, { "array3d", 16384 }
	};

	if (entry == &context_entry)
		return context_bytes;
	if (entry == &frames_entry)
		return context_bytes + sizeof(int) + of_threads(bytes, stack_bytes);
	if (strcmp(entry->name, "stack") == 0)
		return of_threads(bytes, 0);
	/* Of more than one row of 4 KiB, eight at a time. */
	if (strcmp(entry->name, "array") == 0)
		return whole(bytes, bytes > 4096 ? 8 * 4096 : 4096);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(entry->name, units[i].name) == 0)
			return whole(bytes, units[i].unit);
	return bytes;
}

/* A pool gives 512 bytes at a time, and what it has is charged until it gives it back. */
static int is_of_pool(void)
{
	return strcmp(entry->name, "ordered") == 0 || strcmp(entry->name, "pool") == 0;
}

/* Asks for so many bytes; the answer must be that of the account. */
static int request(size_t bytes)
{
	size_t want = takes(bytes = is_of_pool() ? whole(bytes, 512) : bytes);
	CUresult right = want <= left ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY, rc;

	rc = entry->alloc(bytes, &piece[n].handle);
	if (rc != right)
		fail("%zu bytes more, of which %zu are left: error %d instead of %d", want, left,
		     (int)rc, (int)right);
	if (rc != CUDA_SUCCESS)
		return 0;
	piece[n++].bytes = bytes;
	left -= want;
	if (n == PIECES)
		fail("there is no end to it");
	return 1;
}

static void release_last(void)
{
	CHECK(entry->release(piece[n - 1].handle, piece[n - 1].bytes));
	left += takes(piece[--n].bytes);
}

/* Random sizes until the first is refused, then smaller and smaller ones. */
static void fill_up(unsigned seed)
{
	size_t bytes;

	do
		bytes = MIB / 2 + (size_t)rand_r(&seed) % (6 * MIB);
	while (request(bytes));
	for (; bytes >= SMALLEST; bytes = bytes / 2 + (size_t)rand_r(&seed) % 512)
		while (request(bytes))
			;
}

static void nothing_left(void)
{
	CUdeviceptr p;
	CUresult rc = cuMemAlloc(&p, 1);

	if (rc != CUDA_ERROR_OUT_OF_MEMORY)
		fail("a byte beyond the reservation: error %d", (int)rc);
	request(1);
}

/* What is freed can be allocated again, by other ways too, and is memory. */
static void goes_on(void)
{
	static unsigned int word[1024];
	size_t bytes = piece[n - 1].bytes, words;
	CUdeviceptr p;

	release_last();
	words = left / sizeof(*word) < 1024 ? left / sizeof(*word) : 1024;
	CHECK(cuMemAlloc(&p, words * sizeof(*word)));
	CHECK(cuMemsetD32(p, 0x600d, words));
	CHECK(cuMemcpyDtoH(word, p, words * sizeof(*word)));
	CHECK(cuMemFree(p));
	for (size_t i = 0; i < words; i++)
		if (word[i] != 0x600d)
			fail("word %zu is %x", i, word[i]);
	if (!request(bytes))
		fail("what was freed is not there again");
}

static void begin(const char *context_argument)
{
	size_t total;
	CUcontext ctx;
	int sms, threads;

	context_bytes = (size_t)atol(context_argument);
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuCtxCreate(&ctx, NULL, 0, dev));
	CHECK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev));
	CHECK(cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
				   dev));
	resident = (size_t)sms * (size_t)threads;
	CHECK(cuCtxGetLimit(&stack_bytes, CU_LIMIT_STACK_SIZE));
	CHECK(cuMemGetInfo(&left, &total));
	if (total - left != context_bytes)
		fail("a context takes %zu bytes, not %zu", total - left, context_bytes);
}

int main(int argc, char **argv)
{
	size_t at_first, total, now;
	CUdeviceptr rest = 0;

	if (argc != 5)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	begin(argv[4]);
	entry = find(argv[1]);
	if (!entry)
		return 2;
	at_first = left;
	fill_up((unsigned)atoi(argv[2]));
	if (left)
		CHECK(cuMemAlloc(&rest, left));
	total = left;
	left = 0;
	nothing_left();
	printf("at limit %zu\n", at_first + context_bytes);
	while (access(argv[3], F_OK) == 0) {
		nothing_left();
		usleep(1000);
	}
	if (rest)
		CHECK(cuMemFree(rest));
	left = total;
	goes_on();
	while (n)
		release_last();
	CHECK(cuMemGetInfo(&now, &total));
	if (now != at_first)
		fail("%zu bytes are free at the end, %zu were at first", now, at_first);
	request(MIB);
	release_last();
	puts("at_limit: right");
	return 0;
}
