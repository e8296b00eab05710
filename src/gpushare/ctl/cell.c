/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cells of tables; see cell.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/text.h"
#include "gpushare/ctl/kernel_name.h"
#include "gpushare/proto/job_name.h"

#define MIB_PER_GIB 1024.0

size_t gs_text_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void gs_print_duration(char *buf, size_t size, double s)
{
	unsigned long long whole = s > 0 ? (unsigned long long)s : 0;
	unsigned m = (unsigned)(whole / 60 % 60), h = (unsigned)(whole / 3600 % 24);

	if (s <= 0)
		snprintf(buf, size, "0");
	else if (s < 1e-6)
		snprintf(buf, size, "%.0fns", s * 1e9);
	else if (s < 1e-3)
		snprintf(buf, size, s < 1e-5 ? "%.2fus" : "%.0fus", s * 1e6);
	else if (s < 1)
		snprintf(buf, size, s < 1e-2 ? "%.2fms" : "%.0fms", s * 1e3);
	else if (s < 60)
		snprintf(buf, size, "%.*fs", s < 10 ? 2 : 1, s);
	else if (whole < 3600)
		snprintf(buf, size, "%u:%02u", m, (unsigned)(whole % 60));
	else if (whole < 86400)
		snprintf(buf, size, "%u:%02u:%02u", h, m, (unsigned)(whole % 60));
	else
		snprintf(buf, size, "%llu-%02u:%02u:%02u", whole / 86400, h, m,
			 (unsigned)(whole % 60));
}

static void print_memory(char *buf, size_t size, double mib)
{
	if (mib <= 0)
		snprintf(buf, size, "0");
	else if (mib < 10)
		snprintf(buf, size, "%.1fM", mib);
	else if (mib < 10 * MIB_PER_GIB)
		snprintf(buf, size, "%.0fM", mib);
	else
		snprintf(buf, size, "%.1fG", mib / MIB_PER_GIB);
}

static void print_time(char *buf, size_t size, time_t when, int brief)
{
	time_t now = time(NULL);
	struct tm tm, today;

	if (!localtime_r(&when, &tm) || !localtime_r(&now, &today))
		snprintf(buf, size, "-");
	else if (!brief)
		strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &tm);
	else if (tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday)
		strftime(buf, size, "%H:%M:%S", &tm);
	else
		strftime(buf, size, "%b %d", &tm);
}

static char *figure(enum gs_kind kind, json_t *value, int brief)
{
	double v = json_number_value(value);
	char buf[64];

	switch (kind) {
	case GS_KIND_NUMBER:
		snprintf(buf, sizeof(buf), "%.2f", v);
		break;
	case GS_KIND_RATIO:
		snprintf(buf, sizeof(buf), "%+.1f%%", (v - 1) * 100);
		break;
	case GS_KIND_PERCENT:
		snprintf(buf, sizeof(buf), "%.1f", v);
		break;
	case GS_KIND_S:
		gs_print_duration(buf, sizeof(buf), v);
		break;
	case GS_KIND_MS:
		gs_print_duration(buf, sizeof(buf), v / 1e3);
		break;
	case GS_KIND_US:
		gs_print_duration(buf, sizeof(buf), v / 1e6);
		break;
	case GS_KIND_NS:
		gs_print_duration(buf, sizeof(buf), v / 1e9);
		break;
	case GS_KIND_MIB:
		print_memory(buf, sizeof(buf), v);
		break;
	case GS_KIND_TIME:
		print_time(buf, sizeof(buf), (time_t)v, brief);
		break;
	case GS_KIND_JOB:
	case GS_KIND_OPTIONAL_JOB:
	case GS_KIND_JOB_OR_ALL:
		snprintf(buf, sizeof(buf), GS_JOB_F, GS_JOB((uint32_t)v));
		break;
	default:
		snprintf(buf, sizeof(buf), "%.0f", v);
	}
	return strdup(buf);
}

char *gs_cell(enum gs_kind kind, json_t *value, int brief)
{
	const char *text = json_string_value(value);
	char *cell;

	if (json_is_boolean(value))
		return strdup(json_is_true(value) ? "yes" : "no");
	if (json_is_number(value))
		return figure(kind, value, brief);
	if (!text || !*text || (kind == GS_KIND_REASON && strcmp(text, "none") == 0))
		return strdup("-");
	cell = kind == GS_KIND_KERNEL ? gs_kernel_name(text) : strdup(text);
	if (cell)
		gs_text_disarm(cell);
	return cell;
}

int gs_kind_is_figure(enum gs_kind kind)
{
	return kind >= GS_KIND_COUNT && kind != GS_KIND_BOOLEAN;
}
