/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpacking entries: one raw LZ4 block, or one zstd frame.  The size that the
 * header claims bounds what is written and must come out exactly.
 */
#define _GNU_SOURCE
#include "device/fatbin/fatbin.h"

#include <limits.h>
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

#include "device/fatbin/bytes.h"

/* No byte of an LZ4 block stands for more than this (its format's match length coding). */
#define LZ4_RATIO_MAX 255

static int check_size(const struct gs_fatbin_entry *e, struct gs_error *err)
{
	unsigned long long zstd;

	if (!e->size || e->size > GS_FATBIN_UNPACK_MAX)
		return gs_fail(err, "fatbin: an entry of %llu bytes is not unpacked",
			       (unsigned long long)e->size);
	if (e->packing != GS_PACKING_NONE && e->payload.len > INT_MAX)
		return gs_fail(err, "fatbin: %zu packed bytes are too many", e->payload.len);
	if (e->packing == GS_PACKING_LZ4 && e->size / LZ4_RATIO_MAX > e->payload.len)
		return gs_fail(err, "fatbin: %zu bytes of LZ4 cannot hold %llu", e->payload.len,
			       (unsigned long long)e->size);
	if (e->packing == GS_PACKING_ZSTD) {
		zstd = ZSTD_getFrameContentSize(e->payload.data, e->payload.len);
		if (zstd == ZSTD_CONTENTSIZE_ERROR)
			return gs_fail(err, "fatbin: no zstd frame where one should be");
		if (zstd != ZSTD_CONTENTSIZE_UNKNOWN && zstd != e->size)
			return gs_fail(err, "fatbin: a zstd frame of %llu bytes, not %llu", zstd,
				       (unsigned long long)e->size);
	}
	return 0;
}

/* A length's further bytes: 255 means that another follows.  0 if they end too early. */
static int lz4_length(const uint8_t *p, size_t len, size_t *at, size_t *n)
{
	uint8_t more = 255;

	while (more == 255) {
		if (*at == len)
			return 0;
		more = p[(*at)++];
		*n += more;
	}
	return 1;
}

/*
 * Do the matches that make the first `want` bytes point at bytes before them?
 * Offset 0 is "an invalid value, denoting a corrupted block" (LZ4 block format,
 * Match copy operation), but the library copies what the buffer held before.
 */
static int lz4_sound(const uint8_t *p, size_t len, size_t want)
{
	size_t at = 0, made = 0;

	while (at < len && made < want) {
		uint8_t token = p[at++];
		size_t literals = token >> 4, match = token & 15, offset;

		if (literals == 15 && !lz4_length(p, len, &at, &literals))
			return 0;
		if (literals >= len - at) /* the last sequence has no match */
			return literals == len - at;
		at += literals;
		made += literals;
		if (made >= want)
			break;
		if (len - at < 2)
			return 0;
		offset = get16(p + at);
		at += 2;
		if (!offset || offset > made || (match == 15 && !lz4_length(p, len, &at, &match)))
			return 0;
		made += match + 4;
	}
	return 1;
}

/* A block's bytes, the first `want` only if that is not all; 0 if it is corrupt. */
static size_t lz4(const struct gs_fatbin_entry *e, uint8_t *buf, size_t want)
{
	const char *packed = (const char *)e->payload.data;
	int n, len = (int)e->payload.len;

	if (!lz4_sound(e->payload.data, e->payload.len, want))
		return 0;
	n = want == e->size ?
		    LZ4_decompress_safe(packed, (char *)buf, len, (int)want) :
		    LZ4_decompress_safe_partial(packed, (char *)buf, len, (int)want, (int)want);
	return n < 0 ? 0 : (size_t)n;
}

static int unpack_into(const struct gs_fatbin_entry *e, uint8_t *buf, struct gs_error *err)
{
	size_t got;

	switch (e->packing) {
	case GS_PACKING_LZ4:
		got = lz4(e, buf, (size_t)e->size);
		break;
	case GS_PACKING_ZSTD:
		got = ZSTD_decompress(buf, (size_t)e->size, e->payload.data, e->payload.len);
		if (ZSTD_isError(got))
			got = 0;
		break;
	default:
		got = e->payload.len;
		memcpy(buf, e->payload.data, got);
		break;
	}
	if (got != e->size)
		return gs_fail(err, "fatbin: the %s of an entry is corrupt",
			       gs_packing_name(e->packing));
	return 0;
}

uint8_t *gs_fatbin_unpack(const struct gs_fatbin_entry *e, size_t *len, struct gs_error *err)
{
	uint8_t *buf;

	if (check_size(e, err) < 0)
		return NULL;
	buf = malloc((size_t)e->size + 1);
	if (!buf) {
		gs_fail(err, "fatbin: no memory for %llu bytes", (unsigned long long)e->size);
		return NULL;
	}
	if (unpack_into(e, buf, err) < 0) {
		free(buf);
		return NULL;
	}
	buf[e->size] = '\0';
	*len = (size_t)e->size;
	return buf;
}

/* For what can only be unpacked whole, in memory that is bounded as there. */
static size_t peek_whole(const struct gs_fatbin_entry *e, uint8_t *buf, size_t want)
{
	size_t len;
	uint8_t *whole = gs_fatbin_unpack(e, &len, NULL);

	if (!whole || len < want)
		want = 0;
	if (want)
		memcpy(buf, whole, want);
	free(whole);
	return want;
}

static size_t peek_zstd(const struct gs_fatbin_entry *e, uint8_t *buf, size_t want)
{
	ZSTD_inBuffer in = { e->payload.data, e->payload.len, 0 };
	ZSTD_outBuffer out = { buf, want, 0 };
	ZSTD_DStream *stream = ZSTD_createDStream();
	size_t rc;

	if (!stream)
		return 0;
	/* A frame's window is allocated: no more than what may be unpacked at all.  A wider one is
	 * refused here. */
	ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, 28);
	while (out.pos < want) { /* of several frames if need be, as unpacking would */
		size_t before = in.pos + out.pos;

		rc = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(rc) || in.pos + out.pos == before)
			break;
	}
	ZSTD_freeDStream(stream);
	return out.pos < want ? peek_whole(e, buf, want) : out.pos;
}

int gs_fatbin_peek(const struct gs_fatbin_entry *e, uint8_t *buf, size_t want, struct gs_error *err)
{
	size_t got = 0;

	if (check_size(e, err) < 0)
		return -1;
	switch (e->packing) {
	case GS_PACKING_LZ4:
		got = e->size < want ? 0 : lz4(e, buf, want);
		break;
	case GS_PACKING_ZSTD:
		got = peek_zstd(e, buf, want);
		break;
	default:
		got = e->payload.len < want ? e->payload.len : want;
		memcpy(buf, e->payload.data, got);
		break;
	}
	if (got < want)
		return gs_fail(err, "fatbin: the %s of an entry is corrupt or short",
			       gs_packing_name(e->packing));
	return 0;
}
