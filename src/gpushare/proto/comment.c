/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our part of a field that others write to as well.  AdminComment is
 * printed raw, so our part is one line and holds no ';'.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/proto/comment.h"

#define PREFIX "gpushare: "
#define BAR " | "
#define ENDED "gpushare-ended "

/* Where a part that begins so begins: at the field's start or behind a separator. */
static const char *find_part(const char *old, const char *prefix)
{
	const char *at = old;

	while ((at = strstr(at, prefix))) {
		const char *before = at;

		while (before > old && before[-1] == ' ')
			before--;
		if (before == old || before[-1] == ';')
			return at;
		at += strlen(prefix);
	}
	return NULL;
}

static const char *find_ours(const char *old)
{
	return find_part(old, PREFIX);
}

/* Append a piece of that length; the new length, or size when it does not fit. */
static size_t append(char *out, size_t size, size_t used, const char *piece, size_t length)
{
	if (used >= size || length >= size - used)
		return size;
	memcpy(out + used, piece, length);
	out[used + length] = '\0';
	return used + length;
}

enum whose { NOBODYS, ANOTHERS, OWN };

/* "n1: gpu=0 ...": which node's is it? */
static enum whose whose(const char *piece, size_t length, const char *node)
{
	const char *colon = memchr(piece, ':', length);
	size_t name = colon ? (size_t)(colon - piece) : 0;

	if (!name || memchr(piece, '=', name) || memchr(piece, ' ', name))
		return NOBODYS;
	return name == strlen(node) && strncmp(piece, node, name) == 0 ? OWN : ANOTHERS;
}

static size_t append_piece(char *out, size_t size, size_t used, const char *piece, size_t length)
{
	if (used > strlen(PREFIX))
		used = append(out, size, used, BAR, strlen(BAR));
	return append(out, size, used, piece, length);
}

int gs_comment_merge_node(const char *old, const char *node, const char *ours, char *out,
			  size_t size)
{
	const char *at = old ? find_ours(old) : NULL, *end = at ? at + strcspn(at, ";") : NULL;
	char part[2 * GS_COMMENT_MAX], own[GS_COMMENT_MAX];
	size_t used = append(part, sizeof(part), 0, PREFIX, strlen(PREFIX));
	int placed = 0;

	if (strncmp(ours, PREFIX, strlen(PREFIX)) == 0)
		ours += strlen(PREFIX);
	if ((size_t)snprintf(own, sizeof(own), "%s: %s", node, ours) >= sizeof(own))
		return -1;
	for (at = at ? at + strlen(PREFIX) : NULL; at && at < end;) {
		const char *bar = memmem(at, (size_t)(end - at), BAR, strlen(BAR));
		size_t length = (size_t)((bar ? bar : end) - at);
		enum whose is = whose(at, length, node);

		if (is == ANOTHERS)
			used = append_piece(part, sizeof(part), used, at, length);
		else if (is == OWN && !placed++)
			used = append_piece(part, sizeof(part), used, own, strlen(own));
		at = bar ? bar + strlen(BAR) : end;
	}
	if (!placed)
		used = append_piece(part, sizeof(part), used, own, strlen(own));
	return used < sizeof(part) ? gs_comment_merge(old, part, out, size) : -1;
}

int gs_comment_merge(const char *old, const char *ours, char *out, size_t size)
{
	const char *at = old ? find_ours(old) : NULL;
	int n;

	if (!old || !*old)
		n = snprintf(out, size, "%s", ours);
	else if (!at)
		n = snprintf(out, size, "%s; %s", old, ours);
	else
		n = snprintf(out, size, "%.*s%s%s", (int)(at - old), old, ours,
			     at + strcspn(at, ";"));
	return n >= 0 && (size_t)n < size ? 0 : -1;
}

/* Out of the field goes what is from `at` to the next ';', with the separator before or behind it.
 */
static void cut(char *field, char *at)
{
	char *end = at + strcspn(at, ";");

	while (at > field && at[-1] == ' ')
		at--;
	if (at > field)
		at--; /* the ';' before it */
	else if (*end)
		end += 1 + strspn(end + 1, " ");
	memmove(at, end, strlen(end) + 1);
}

int gs_comment_take_ended(char *extra, uint32_t *job_id, char *report, size_t size)
{
	char *at, *text;

	while ((at = (char *)(uintptr_t)find_part(extra, ENDED))) {
		*job_id = (uint32_t)strtoul(at + strlen(ENDED), &text, 10);
		if (*job_id && strncmp(text, ": ", 2) == 0) {
			snprintf(report, size, "%.*s", (int)strcspn(text + 2, ";"), text + 2);
			cut(extra, at);
			return 1;
		}
		cut(extra, at); /* nobody's */
	}
	return 0;
}

static int add_piece(const char *extra, const char *piece, char *out, size_t size)
{
	int n = snprintf(out, size, "%s%s%s", extra, *extra ? "; " : "", piece);

	return n >= 0 && (size_t)n < size ? 0 : -1;
}

int gs_comment_add_ended(const char *extra, uint32_t job_id, const char *report, char *out,
			 size_t size)
{
	char rest[GS_EXTRA_MAX], kept[GS_EXTRA_MAX] = "", next[GS_EXTRA_MAX];
	char piece[GS_COMMENT_MAX + 64], other[GS_COMMENT_MAX], others[GS_COMMENT_MAX + 64];
	uint32_t id;

	if (!extra)
		extra = "";
	if (strlen(extra) >= sizeof(rest))
		return -1;
	strcpy(rest, extra);
	while (gs_comment_take_ended(rest, &id, other, sizeof(other))) {
		snprintf(others, sizeof(others), ENDED "%u: %s", id, other);
		if (id != job_id && add_piece(kept, others, next, sizeof(next)) == 0)
			strcpy(kept, next);
	}
	snprintf(piece, sizeof(piece), ENDED "%u: %s", job_id, report);
	if (*kept && add_piece(rest, kept, next, sizeof(next)) == 0 &&
	    add_piece(next, piece, out, size) == 0)
		return 0;
	return add_piece(rest, piece, out, size);
}
