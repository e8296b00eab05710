/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache of variants; see cache.h.
 *
 * An entry's name is a hash of its whole key and of this build of the shim. It contains the
 * addresses that the variant was made for, its module and its description, each as a zstd frame
 * with a checksum. Anybody who may write to the directory can run kernels as this user anyway, so
 * the hash need not withstand attacks.
 */
#define _GNU_SOURCE
#include "device/shim/variant/cache.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "device/shim/variant/cache_dir.h"
#include "device/shim/variant/describe.h"
#include "device/shim/base/shim.h"

#define MAGIC 0x33687347u
#define LEVEL 1
/* No part of an entry may be longer. */
#define BYTES_MAX ((uint64_t)1 << 30)

enum part { ADDRESSES, MADE, DESCRIPTION, PARTS };

/* The head of an entry, before the frames. */
struct head {
	uint32_t magic, sm;
	uint64_t build[2], text, hash[2];
	uint64_t bytes[PARTS], packed[PARTS];
};

#define NAME_BYTES 48

/* Identifies the file that this code is in, since entries of another build must not be used. */
static int build_of(uint64_t build[2])
{
	static const char here;
	struct stat st;
	Dl_info info;

	if (!dladdr(&here, &info) || !info.dli_fname || stat(info.dli_fname, &st) < 0)
		return -1;
	build[0] = (uint64_t)st.st_size;
	build[1] = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	return 0;
}

/* One lane of the hash: multiplies and folds, so that every bit of the result depends on every bit
 * of the word. */
static uint64_t stir(uint64_t h, uint64_t word, uint64_t partly)
{
	unsigned __int128 product = (unsigned __int128)(h ^ word) * partly;

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (word << 32 | word >> 32);
}

static void stir_bytes(uint64_t h[2], const void *data, size_t len)
{
	const unsigned char *at = data;

	while (len) {
		size_t n = len < 8 ? len : 8;
		uint64_t word = 0;

		memcpy(&word, at, n);
		h[0] = stir(h[0], word, UINT64_C(0x9e3779b97f4a7c15));
		h[1] = stir(h[1], word, UINT64_C(0xd1342543de82ef95));
		at += n;
		len -= n;
	}
}

/* The head and the name of this key's entry. */
static int head_of(struct head *head, char name[NAME_BYTES], const struct shim_cache_key *key)
{
	uint64_t h[2] = { UINT64_C(0x243f6a8885a308d3), UINT64_C(0x13198a2e03707344) };

	memset(head, 0, sizeof(*head));
	head->magic = MAGIC;
	head->sm = key->sm;
	head->text = key->len;
	if (build_of(head->build) < 0)
		return -1;
	stir_bytes(h, head, sizeof(*head));
	stir_bytes(h, key->kernel, strlen(key->kernel) + 1);
	stir_bytes(h, key->compiler, strlen(key->compiler) + 1);
	stir_bytes(h, key->text, key->len);
	/* all of the head must match, not only the name */
	memcpy(head->hash, h, sizeof(head->hash));
	snprintf(name, NAME_BYTES, "%016llx%016llx.module", (unsigned long long)h[0],
		 (unsigned long long)h[1]);
	return 0;
}

/* Reads the entry's head and finds its frames, if the entry may be this key's. Returns 0, or -1. */
static int read_head(const unsigned char *file, size_t len, const struct head *want,
		     struct head *got, const unsigned char *zstd[PARTS])
{
	if (len < sizeof(*got))
		return -1;
	memcpy(got, file, sizeof(*got));
	if (memcmp(got, want, offsetof(struct head, bytes)) != 0)
		return -1;
	file += sizeof(*got);
	len -= sizeof(*got);
	for (int i = 0; i < PARTS; i++) {
		if (got->bytes[i] > BYTES_MAX || got->packed[i] > len ||
		    ZSTD_getFrameContentSize(file, got->packed[i]) != got->bytes[i])
			return -1;
		zstd[i] = file;
		file += got->packed[i];
		len -= got->packed[i];
	}
	return len ? -1 : 0;
}

/* The frame's contents with a NUL behind them; the caller frees the block. */
static void *contents(const unsigned char *zstd, size_t len, size_t bytes)
{
	char *data = malloc(bytes + 1);

	if (data && ZSTD_decompress(data, bytes, zstd, len) == bytes) {
		data[bytes] = '\0';
		return data;
	}
	free(data);
	return NULL;
}

/* The data are names with their NUL, each followed by its address. */
static int all_same(const char *data, size_t len, shim_cache_same_fn *same, void *user)
{
	for (size_t at = 0; at < len;) {
		size_t name = strnlen(data + at, len - at) + 1;
		uint64_t address;

		if (len - at < name + sizeof(address))
			return 0;
		memcpy(&address, data + at + name, sizeof(address));
		if (!same(data + at, address, user))
			return 0;
		at += name + sizeof(address);
	}
	return 1;
}

static char *describe_needs(const struct ptx_need *need, uint32_t n, uint64_t *len)
{
	char *data = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&data, &size);

	for (uint32_t i = 0; f && i < n; i++) {
		fwrite(need[i].name, strlen(need[i].name) + 1, 1, f);
		fwrite(&need[i].address, sizeof(need[i].address), 1, f);
	}
	if (!f || fclose(f) != 0)
		return NULL;
	*len = size;
	return data;
}

/* The unpacked parts of an entry. */
struct opened {
	char *part[PARTS];
};

static void drop(struct opened *o)
{
	for (int i = 0; i < PARTS; i++)
		free(o->part[i]);
}

static int open_parts(struct opened *o, const struct head *head, const unsigned char *zstd[PARTS])
{
	int ok = 1;

	for (int i = 0; i < PARTS; i++) {
		o->part[i] = contents(zstd[i], head->packed[i], head->bytes[i]);
		ok &= o->part[i] != NULL;
	}
	return ok;
}

static struct ptx_transformed *read_entry(const unsigned char *file, size_t len,
					  const struct head *want, shim_cache_same_fn *same,
					  void *user, int *damaged)
{
	const unsigned char *zstd[PARTS];
	struct ptx_transformed *t = NULL;
	struct opened o = { { NULL } };
	struct head got;

	*damaged = read_head(file, len, want, &got, zstd) < 0 || !open_parts(&o, &got, zstd);
	if (!*damaged && all_same(o.part[ADDRESSES], got.bytes[ADDRESSES], same, user)) {
		t = shim_undescribe((unsigned char *)o.part[DESCRIPTION], got.bytes[DESCRIPTION]);
		*damaged = !t || t->nkernel != 1;
	}
	if (t && !*damaged) {
		t->text = o.part[MADE];
		t->len = got.bytes[MADE];
		o.part[MADE] = NULL;
	} else {
		ptx_transformed_free(t);
		t = NULL;
	}
	drop(&o);
	return t;
}

static int worthwhile(size_t len)
{
	return len <= BYTES_MAX && shim_cache_max() > 0;
}

struct ptx_transformed *shim_cache_get(const struct shim_cache_key *key, shim_cache_same_fn *same,
				       void *user)
{
	struct ptx_transformed *t = NULL;
	unsigned char *file = NULL;
	char name[NAME_BYTES];
	struct head head;
	int dir, damaged = 0;
	size_t len;

	if (!worthwhile(key->len) || (dir = shim_cache_open()) < 0)
		return NULL;
	if (head_of(&head, name, key) == 0)
		file = shim_cache_read(dir, name, &len);
	if (file)
		t = read_entry(file, len, &head, same, user, &damaged);
	if (damaged)
		shim_log("cache: %s is damaged and is made again", name);
	free(file);
	close(dir);
	return t;
}

/* The head and a frame for each part: *len bytes, which the caller frees. NULL: no memory. */
static unsigned char *pack(struct head *head, const void *const part[PARTS], size_t *len)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	size_t room = sizeof(*head), n = 0;
	unsigned char *file;

	for (int i = 0; i < PARTS; i++)
		room += ZSTD_compressBound(head->bytes[i]);
	file = malloc(room);
	*len = sizeof(*head);
	for (int i = 0; i < PARTS && file && z && !ZSTD_isError(n); i++) {
		ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
		n = ZSTD_compress2(z, file + *len, room - *len, part[i], head->bytes[i]);
		head->packed[i] = n;
		*len += n;
	}
	ZSTD_freeCCtx(z);
	if (file && n && !ZSTD_isError(n)) {
		memcpy(file, head, sizeof(*head));
		return file;
	}
	free(file);
	return NULL;
}

static unsigned char *pack_entry(struct head *head, const struct ptx_need *need, uint32_t nneed,
				 const struct ptx_transformed *t, size_t *size)
{
	char *addresses = describe_needs(need, nneed, &head->bytes[ADDRESSES]);
	size_t n = 0;
	unsigned char *description = shim_describe(t, &n), *file = NULL;

	head->bytes[MADE] = t->len;
	head->bytes[DESCRIPTION] = n;
	if (addresses && description)
		file = pack(head, (const void *const[]) { addresses, t->text, description }, size);
	free(addresses);
	free(description);
	return file;
}

void shim_cache_put(const struct shim_cache_key *key, const struct ptx_need *need, uint32_t nneed,
		    const struct ptx_transformed *t)
{
	unsigned char *file = NULL;
	uint64_t max = shim_cache_max();
	char name[NAME_BYTES];
	struct head head;
	size_t size = 0;
	int dir;

	if (!worthwhile(key->len) || !t->text || (dir = shim_cache_open()) < 0)
		return;
	if (head_of(&head, name, key) == 0)
		file = pack_entry(&head, need, nneed, t, &size);
	if (file && size <= max) {
		/* Make room first, so that the bound holds even if several processes write. */
		shim_cache_trim(dir, max - size);
		if (shim_cache_write(dir, name, file, size) < 0)
			shim_log("cache: %s cannot be written", name);
		else
			shim_cache_trim(dir, max);
	}
	free(file);
	close(dir);
}
