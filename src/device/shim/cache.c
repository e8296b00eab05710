/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache of transformed modules; see cache.h.
 *
 * An entry's name is a hash of the text, of the forms asked for and of this
 * build of the shim; in it are the text itself, the transformed text and the
 * kernels' description, as one zstd frame with a checksum.  The text is
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

#define MAGIC 0x31687347u
#define LEVEL 1
/* No text is kept that is longer: neither program nor driver would load it. */
#define BYTES_MAX ((uint64_t)1 << 30)

/* Before the frame. */
struct head {
	uint32_t magic, forms;
	uint64_t build[2];
	uint64_t text, made, description; /* bytes of each, in the frame in this order */
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

/* Multiply and fold, a lane of a hash: every bit of the product depends on every one of the word. */
static uint64_t stir(uint64_t h, uint64_t word, uint64_t odd)
{
	unsigned __int128 product = (unsigned __int128)(h ^ word) * odd;

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
static int head_of(struct head *head, char name[NAME_BYTES], const char *text, size_t len, uint32_t forms)
{
	uint64_t h[2] = { UINT64_C(0x243f6a8885a308d3), UINT64_C(0x13198a2e03707344) };

	memset(head, 0, sizeof(*head));
	head->magic = MAGIC;
	head->forms = forms;
	head->text = len;
	if (build_of(head->build) < 0)
		return -1;
	stir_bytes(h, head, sizeof(*head));
	stir_bytes(h, text, len);
	snprintf(name, NAME_BYTES, "%016llx%016llx.module", (unsigned long long)h[0], (unsigned long long)h[1]);
	return 0;
}

/* The frame's bytes, if they are what the head says and belong to this text. */
static unsigned char *unpack(const unsigned char *file, size_t len, const struct head *want, const char *text,
			     struct head *got)
{
	unsigned char *bytes;
	uint64_t whole;

	if (len < sizeof(*got))
		return NULL;
	memcpy(got, file, sizeof(*got));
	if (got->magic != want->magic || got->forms != want->forms || got->text != want->text ||
	    memcmp(got->build, want->build, sizeof(got->build)) || got->made > BYTES_MAX ||
	    got->description > BYTES_MAX)
		return NULL;
	whole = got->text + got->made + got->description;
	file += sizeof(*got);
	len -= sizeof(*got);
	if (ZSTD_getFrameContentSize(file, len) != whole)
		return NULL;
	bytes = malloc(whole + 1);
	if (!bytes)
		return NULL;
	if (ZSTD_decompress(bytes, whole, file, len) == whole && memcmp(bytes, text, got->text) == 0)
		return bytes;
	free(bytes);
	return NULL;
}

static struct ptx_transformed *read_entry(int dir, const char *name, const struct head *want, const char *text)
{
	struct ptx_transformed *t = NULL;
	unsigned char *file, *bytes;
	struct head got;
	size_t len;

	file = shim_cache_read(dir, name, &len);
	if (!file)
		return NULL;
	bytes = unpack(file, len, want, text, &got);
	free(file);
	if (bytes)
		t = shim_undescribe(bytes + got.text + got.made, got.description);
	if (t && (t->text = malloc(got.made + 1))) {
		memcpy(t->text, bytes + got.text, got.made);
		t->text[got.made] = '\0';
		t->len = got.made;
	} else {
		ptx_transformed_free(t);
		t = NULL;
		shim_log("cache: %s is damaged, or another text's: made anew", name);
	}
	free(bytes);
	return t;
}

static int worthwhile(size_t len)
{
	return len >= SHIM_CACHE_TEXT_MIN && len <= BYTES_MAX && shim_cache_max() > 0;
}

struct ptx_transformed *shim_cache_get(const char *text, size_t len, uint32_t forms)
{
	struct ptx_transformed *t = NULL;
	char name[NAME_BYTES];
	struct head head;
	int dir;

	if (!worthwhile(len) || (dir = shim_cache_open()) < 0)
		return NULL;
	if (head_of(&head, name, text, len, forms) == 0)
		t = read_entry(dir, name, &head, text);
	if (t)
		t->content = ptx_content(text, len);
	close(dir);
	return t;
}

/* head, then a frame of the three parts; *len bytes. */
static unsigned char *pack(const struct head *head, const char *text, const char *made,
			   const unsigned char *description, size_t *len)
{
	size_t whole = head->text + head->made + head->description, room = ZSTD_compressBound(whole), n = 0;
	unsigned char *file = malloc(sizeof(*head) + room), *bytes = malloc(whole + 1);
	ZSTD_CCtx *z = ZSTD_createCCtx();

	if (file && bytes && z) {
		memcpy(bytes, text, head->text);
		memcpy(bytes + head->text, made, head->made);
		memcpy(bytes + head->text + head->made, description, head->description);
		memcpy(file, head, sizeof(*head));
		ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
		n = ZSTD_compress2(z, file + sizeof(*head), room, bytes, whole);
	}
	ZSTD_freeCCtx(z);
	free(bytes);
	if (n && !ZSTD_isError(n)) {
		*len = sizeof(*head) + n;
		return file;
	}
	free(file);
	return NULL;
}

void shim_cache_put(const char *text, size_t len, uint32_t forms, const struct ptx_transformed *t)
{
	unsigned char *description = NULL, *file = NULL;
	uint64_t max = shim_cache_max();
	char name[NAME_BYTES];
	size_t n, size;
	struct head head;
	int dir;

	if (!worthwhile(len) || !t->text || (dir = shim_cache_open()) < 0)
		return;
	if (head_of(&head, name, text, len, forms) == 0)
		description = shim_describe(t, &n);
	if (description) {
		head.made = t->len;
		head.description = n;
		file = pack(&head, text, t->text, description, &size);
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
