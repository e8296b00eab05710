/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache of transformed modules; see cache.h.
 *
 * An entry's name is a hash of the text, of the forms asked for and of this
 * build of the shim; in it are the text itself, the transformed text and the
 * kernels' description, each as a zstd frame with a checksum.  The text is
 * compared, byte by byte, so two texts of one hash cost time, never a wrong
 * kernel, and the hash need not withstand anybody.
 */
#define _GNU_SOURCE
#include "device/shim/cache.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "device/shim/cache_dir.h"
#include "device/shim/describe.h"
#include "device/shim/shim.h"

#define MAGIC 0x32687347u
#define LEVEL 1
/* No text is kept that is longer: neither program nor driver would load it. */
#define BYTES_MAX ((uint64_t)1 << 30)

enum part { TEXT, MADE, DESCRIPTION, PARTS };

/* Before the frames. */
struct head {
	uint32_t magic, transforms;
	uint64_t build[2];
	uint64_t bytes[PARTS], packed[PARTS];
};

#define NAME_BYTES 48

/* The file that this code is in: its entries are not another build's. */
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

/* Multiply and fold, a lane of a hash: every bit of the product depends on every one of the word.
 */
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

/* What the entry of this text begins with, and its name. */
static int head_of(struct head *head, char name[NAME_BYTES], const char *text, size_t len,
		   uint32_t transforms)
{
	uint64_t h[2] = { UINT64_C(0x243f6a8885a308d3), UINT64_C(0x13198a2e03707344) };

	memset(head, 0, sizeof(*head));
	head->magic = MAGIC;
	head->transforms = transforms;
	head->bytes[TEXT] = len;
	if (build_of(head->build) < 0)
		return -1;
	stir_bytes(h, head, sizeof(*head));
	stir_bytes(h, text, len);
	snprintf(name, NAME_BYTES, "%016llx%016llx.module", (unsigned long long)h[0],
		 (unsigned long long)h[1]);
	return 0;
}

/* The entry's head and where its frames are, if it may be this text's.  0, or -1. */
static int read_head(const unsigned char *file, size_t len, const struct head *want,
		     struct head *got, const unsigned char *zstd[PARTS])
{
	if (len < sizeof(*got))
		return -1;
	memcpy(got, file, sizeof(*got));
	if (got->magic != want->magic || got->transforms != want->transforms ||
	    got->bytes[TEXT] != want->bytes[TEXT] ||
	    memcmp(got->build, want->build, sizeof(got->build)))
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

/* A piece at a time: the memory for all of it would cost more than the comparison. */
static int contains(const unsigned char *zstd, size_t len, const char *text, size_t text_len)
{
	ZSTD_inBuffer in = { zstd, len, 0 };
	ZSTD_DStream *z = ZSTD_createDStream();
	unsigned char piece[32768];
	size_t at = 0, rc = 1;

	while (z && rc) {
		ZSTD_outBuffer out = { piece, sizeof(piece), 0 };
		size_t before = in.pos;

		rc = ZSTD_decompressStream(z, &out, &in);
		if (ZSTD_isError(rc) || out.pos > text_len - at ||
		    memcmp(text + at, piece, out.pos) || (rc && !out.pos && in.pos == before))
			break;
		at += out.pos;
	}
	ZSTD_freeDStream(z);
	return rc == 0 && at == text_len;
}

/* The frame's contents with a NUL behind: a block of the caller's to free. */
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

static struct ptx_transformed *read_entry(int dir, const char *name, const struct head *want,
					  const char *text)
{
	const unsigned char *zstd[PARTS];
	struct ptx_transformed *t = NULL;
	void *description = NULL;
	unsigned char *file;
	struct head got;
	size_t len;

	file = shim_cache_read(dir, name, &len);
	if (!file)
		return NULL;
	if (read_head(file, len, want, &got, zstd) == 0 &&
	    contains(zstd[TEXT], got.packed[TEXT], text, got.bytes[TEXT]))
		description = contents(zstd[DESCRIPTION], got.packed[DESCRIPTION],
				       got.bytes[DESCRIPTION]);
	if (description)
		t = shim_undescribe(description, got.bytes[DESCRIPTION]);
	free(description);
	if (t && (t->text = contents(zstd[MADE], got.packed[MADE], got.bytes[MADE]))) {
		t->len = got.bytes[MADE];
	} else {
		ptx_transformed_free(t);
		t = NULL;
		shim_log("cache: %s is damaged, or another text's: made anew", name);
	}
	free(file);
	return t;
}

static int worthwhile(size_t len)
{
	return len >= SHIM_CACHE_TEXT_MIN && len <= BYTES_MAX && shim_cache_max() > 0;
}

struct ptx_transformed *shim_cache_get(const char *text, size_t len, uint32_t transforms)
{
	struct ptx_transformed *t = NULL;
	char name[NAME_BYTES];
	struct head head;
	int dir;

	if (!worthwhile(len) || (dir = shim_cache_open()) < 0)
		return NULL;
	if (head_of(&head, name, text, len, transforms) == 0)
		t = read_entry(dir, name, &head, text);
	if (t)
		t->content = ptx_content(text, len);
	close(dir);
	return t;
}

/* The head, then a frame of each part; *len bytes, the caller's to free.  NULL: no memory. */
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

void shim_cache_put(const char *text, size_t len, uint32_t transforms,
		    const struct ptx_transformed *t)
{
	unsigned char *description = NULL, *file = NULL;
	uint64_t max = shim_cache_max();
	char name[NAME_BYTES];
	size_t n, size;
	struct head head;
	int dir;

	if (!worthwhile(len) || !t->text || (dir = shim_cache_open()) < 0)
		return;
	if (head_of(&head, name, text, len, transforms) == 0)
		description = shim_describe(t, &n);
	if (description) {
		head.bytes[MADE] = t->len;
		head.bytes[DESCRIPTION] = n;
		file = pack(&head, (const void *const[]) { text, t->text, description }, &size);
	}
	if (file && size <= max) {
		/* Room first, so that the bound holds however many write. */
		shim_cache_trim(dir, max - size);
		if (shim_cache_write(dir, name, file, size) < 0)
			shim_log("cache: %s cannot be written", name);
		else
			shim_cache_trim(dir, max);
	}
	free(file);
	free(description);
	close(dir);
}
