/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare within Slurm's text of a request: finding and rewriting it; see request.h. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/job_submit/request.h"

#define NAME "gpushare"
#define SHARES_MAX 1000000

/* The element that begins here is of that name: how long is it, "gres:" included?  0: another's. */
static size_t of_name(const char *text, const char *wanted, size_t *prefix)
{
	size_t length = strcspn(text, ",;");
	const char *name = text;
	char next;

	if (strncmp(text, "gres:", 5) == 0 || strncmp(text, "gres/", 5) == 0)
		name += 5;
	*prefix = (size_t)(name - text);
	if (length < *prefix + strlen(wanted) || strncmp(name, wanted, strlen(wanted)) != 0)
		return 0;
	next = name[strlen(wanted)];
	return strchr(":=,;", next) || !next ? length : 0;
}

int gs_gres_has_gpu(const char *text)
{
	size_t prefix;

	for (; text && *text; text += strspn(text, ",;")) {
		if (of_name(text, "gpu", &prefix))
			return 1;
		text += strcspn(text, ",;");
	}
	return 0;
}

/* "25": a positive number; anything else with the reason. */
static int parse_count(const char *text, uint64_t *count, struct gs_error *err)
{
	char *end;

	if (*text == '-')
		return gs_fail(err, "'%.40s' shares: a number from 1 is wanted", text);
	if (strspn(text, "0123456789") == 0)
		return gs_fail(err, "'%.40s' is no number of shares", text);
	*count = strtoull(text, &end, 10);
	if (*end && strspn(end, "kKmMgGtTiIbB") == strlen(end))
		return gs_fail(err,
			       "'%.40s': shares have no unit; for device memory there is "
			       "--gpushare-mem=%.40s",
			       text, text);
	if (*end)
		return gs_fail(err, "'%.40s' is no number of shares: they are whole numbers", text);
	if (*count == 0)
		return gs_fail(err, "0 shares: at least 1 is wanted, or no gpushare at all");
	if (*count > SHARES_MAX)
		return gs_fail(err, "'%.40s' is more shares than any GPU has", text);
	return 0;
}

/* A word that is neither a number nor meant as one is a gres type. */
static int is_type(const char *text)
{
	return *text && !strchr("-+.0123456789", *text) && !strchr(text, '%');
}

/* What follows the name: nothing, ":25", "=25", ":h200", ":h200:25", ":h200=25". */
static int parse_tail(char *tail, struct gs_gres_item *item, struct gs_error *err)
{
	char *count;

	if (!*tail)
		return 0;
	tail++;
	count = strpbrk(tail, ":=");
	if (!count) {
		if (!is_type(tail))
			return parse_count(tail, &item->count, err);
		if (strlen(tail) >= sizeof(item->type))
			return gs_fail(err, "a type of more than %zu characters",
				       sizeof(item->type) - 1);
		strcpy(item->type, tail);
		return 0;
	}
	*count++ = '\0';
	if (!*tail || strlen(tail) >= sizeof(item->type))
		return gs_fail(err, "'%.40s' is no type of a GPU", tail);
	strcpy(item->type, tail);
	return parse_count(count, &item->count, err);
}

int gs_gres_has_type(const char *list, const char *type)
{
	size_t length = strlen(type);

	for (; *list; list += strspn(list, ", ")) {
		size_t n = strcspn(list, ", ");

		if (n == length && strncasecmp(list, type, n) == 0)
			return 1;
		list += n;
	}
	return 0;
}

void gs_gres_types(const char *text, char *list, size_t size)
{
	size_t prefix, length;

	for (; text && *text; text += strcspn(text, ",;"), text += strspn(text, ",;")) {
		size_t at = strlen(list), n;
		char type[64];

		length = of_name(text, NAME, &prefix);
		if (!length || text[prefix + strlen(NAME)] != ':')
			continue;
		text += prefix + strlen(NAME) + 1;
		n = strcspn(text, ":,;");
		if (text[n] != ':' || !n || n >= sizeof(type))
			continue;
		snprintf(type, sizeof(type), "%.*s", (int)n, text);
		if (is_type(type) && !gs_gres_has_type(list, type) && at + n + 3 < size)
			snprintf(list + at, size - at, "%s%s", at ? ", " : "", type);
	}
}

/*
 * Slurm looks for "gres" anywhere in the text, and takes what follows for a name:
 * "xgres:gpushare:5" asks for 5 shares.  Is there one that begins no element?
 */
static int is_hidden(const char *text)
{
	for (const char *at = text; at && (at = strstr(at, NAME)); at++) {
		const char *name = at, *end = at + strlen(NAME);

		if (*end && !strchr(":=,;", *end))
			continue;
		if (at > text && strchr(":/", at[-1]))
			at--;
		if (at - text >= 4 && memcmp(at - 4, "gres", 4) == 0 &&
		    (at == name || (at - text > 4 && !strchr(",;", at[-5]))))
			return 1;
		at = name;
	}
	return 0;
}

int gs_gres_find(const char *text, struct gs_gres_item *item, struct gs_error *err)
{
	char tail[160];

	*item = (struct gs_gres_item) { 0 };
	if (is_hidden(text))
		return gs_fail(err, "'%.40s': shares are written as --gres=gpushare:N", text);
	for (size_t at = 0; text && text[at]; at += text[at] != '\0') {
		size_t prefix, length = of_name(text + at, NAME, &prefix);

		if (length) {
			size_t begin = at + prefix, after = begin + strlen(NAME);

			if (item->end)
				return gs_fail(err, "gpushare is asked for twice");
			item->begin = begin;
			item->end = at + length;
			if (item->end - after >= sizeof(tail))
				return gs_fail(err, "a request of %zu characters", length);
			memcpy(tail, text + after, item->end - after);
			tail[item->end - after] = '\0';
			if (parse_tail(tail, item, err) < 0)
				return -1;
		}
		at += strcspn(text + at, ",;");
	}
	return 0;
}

char *gs_gres_rewrite(const char *text, const struct gs_gres_item *item, const char *prefix,
		      uint64_t count)
{
	char *out;

	if (!item->end) {
		if (asprintf(&out, "%s%s%s" NAME ":%" PRIu64, text ? text : "",
			     text && *text ? "," : "", prefix, count) < 0)
			return NULL;
		return out;
	}
	if (asprintf(&out, "%.*s" NAME "%s%s:%" PRIu64 "%s", (int)item->begin, text,
		     *item->type ? ":" : "", item->type, count, text + item->end) < 0)
		return NULL;
	return out;
}
