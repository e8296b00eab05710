/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments, options and gres strings as values; see values.h. */
#define _GNU_SOURCE
#include "plugins/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/period.h"
#include "common/units.h"
#include "gpushare/proto/msg.h"

#define DEFAULT_SOCKET "/run/gpushare/gpushared.sock"
#define DEFAULT_TIMEOUT_MS 5000
#define TIMEOUT_MAX_S 60
/* srun gives up 600 s after it has asked for a step's start; the daemon gets its time as well. */
#define SLURMCTLD_TIMEOUT_S 530
#define MEMORY_MIN (UINT64_C(1) << 20)

enum arg {
	ARG_SOCKET,
	ARG_MUNGE_SOCKET,
	ARG_TIMEOUT,
	ARG_ABSENT,
	ARG_SLURMCTLD_TIMEOUT,
	ARG_COUNT
};

static const char *const arg_names[ARG_COUNT] = {
	[ARG_SOCKET] = "socket",
	[ARG_MUNGE_SOCKET] = "munge_socket",
	[ARG_TIMEOUT] = "timeout",
	[ARG_ABSENT] = "absent",
	[ARG_SLURMCTLD_TIMEOUT] = "slurmctld_timeout",
};

static int path(const char *name, const char *text, char *out, struct gs_error *err)
{
	if (text[0] != '/')
		return gs_fail(err, "%s=%s: not an absolute path", name, text);
	if (strlen(text) >= GS_SPANK_PATH_MAX)
		return gs_fail(err, "%s: a path of %zu bytes is too long for a socket", name,
			       strlen(text));
	strcpy(out, text);
	return 0;
}

static int timeout(const char *name, const char *text, uint32_t max_s, uint32_t *ms,
		   struct gs_error *err)
{
	struct gs_error why;
	uint64_t ns;

	if (gs_parse_duration(text, &ns, &why) < 0)
		return gs_fail(err, "%s=%.32s: %s", name, text, why.text);
	if (ns < GS_NS_PER_MS || ns > max_s * GS_NS_PER_S)
		return gs_fail(err, "%s=%s: from 1ms to %us", name, text, max_s);
	*ms = (uint32_t)(ns / GS_NS_PER_MS);
	return 0;
}

static int set_arg(struct gs_spank_args *args, enum arg which, const char *value,
		   struct gs_error *err)
{
	switch (which) {
	case ARG_SOCKET:
		return path("socket", value, args->socket, err);
	case ARG_MUNGE_SOCKET:
		return path("munge_socket", value, args->munge_socket, err);
	case ARG_TIMEOUT:
		return timeout("timeout", value, TIMEOUT_MAX_S, &args->timeout_ms, err);
	case ARG_SLURMCTLD_TIMEOUT:
		return timeout("slurmctld_timeout", value, SLURMCTLD_TIMEOUT_S,
			       &args->slurmctld_timeout_ms, err);
	default:
		if (strcmp(value, "run") != 0 && strcmp(value, "fail") != 0)
			return gs_fail(err, "absent=%.32s: run or fail", value);
		args->run_absent = value[0] == 'r';
		return 0;
	}
}

int gs_spank_args_parse(int argc, char *const *argv, struct gs_spank_args *args,
			struct gs_error *err)
{
	struct gs_spank_args parsed = { .socket = DEFAULT_SOCKET,
					.timeout_ms = DEFAULT_TIMEOUT_MS,
					.slurmctld_timeout_ms = SLURMCTLD_TIMEOUT_S * 1000 };
	int seen[ARG_COUNT] = { 0 };

	*args = parsed;
	for (int i = 0; i < argc; i++) {
		const char *equals = strchr(argv[i], '=');
		size_t length = equals ? (size_t)(equals - argv[i]) : 0;
		int which;

		for (which = 0; which < ARG_COUNT; which++)
			if (length == strlen(arg_names[which]) &&
			    strncmp(argv[i], arg_names[which], length) == 0)
				break;
		if (which == ARG_COUNT)
			return gs_fail(err, "unknown argument %.64s in plugstack.conf", argv[i]);
		if (seen[which]++)
			return gs_fail(err, "%s= twice in plugstack.conf", arg_names[which]);
		if (set_arg(&parsed, (enum arg)which, equals + 1, err) < 0)
			return -1;
	}
	*args = parsed;
	return 0;
}

int gs_socket_path(const char *path, const char *node, char *out, size_t size, struct gs_error *err)
{
	size_t used = 0;

	for (; *path; path++) {
		const char *piece = path;
		size_t length = 1;

		if (path[0] == '%' && path[1] == 'n') {
			if (!node || !*node || strchr(node, '/'))
				return gs_fail(err,
					       "socket=: %%n, and this node's name is not known");
			piece = node;
			length = strlen(node);
			path++;
		}
		if (used + length >= size)
			return gs_fail(err, "socket=: the path with the node's name is too long");
		memcpy(out + used, piece, length);
		used += length;
	}
	out[used] = '\0';
	return 0;
}

int gs_gpu_index(const char *text, uint32_t *gpu, struct gs_error *err)
{
	int64_t value;

	if (strchr(text, ','))
		return gs_fail(err,
			       "shares of the GPUs %.64s: a step has shares of one GPU of a node",
			       text);
	if (gs_parse_int(text, 0, UINT32_MAX, &value, err) < 0)
		return -1;
	*gpu = (uint32_t)value;
	return 0;
}

static int bounded(const char *text, struct gs_error *err)
{
	if (!text || !*text)
		return gs_fail(err, "no value");
	if (strlen(text) >= GS_OPTION_TEXT_MAX)
		return gs_fail(err, "a value of more than %u characters", GS_OPTION_TEXT_MAX - 1);
	return 0;
}

int gs_option_memory(const char *text, uint64_t *bytes, struct gs_error *err)
{
	if (bounded(text, err) < 0)
		return -1;
	if (strcasecmp(text, "auto") == 0) {
		*bytes = GS_MEMORY_AUTO;
		return 0;
	}
	if (gs_parse_size(text, bytes, err) < 0)
		return -1;
	if (*bytes < MEMORY_MIN)
		return gs_fail(err, "%s is less than 1M of device memory; give a unit, as in 8G",
			       text);
	return 0;
}

int gs_option_priority(const char *text, uint32_t *priority, struct gs_error *err)
{
	int64_t value;

	if (bounded(text, err) < 0 || gs_parse_int(text, 0, GS_PRIORITY_MAX, &value, err) < 0)
		return -1;
	*priority = (uint32_t)value;
	return 0;
}

int gs_option_period(const char *text, uint64_t *ns, struct gs_error *err)
{
	return bounded(text, err) < 0 ? -1 : gs_period_parse(text, ns, err);
}

int gs_option_corun(const char *text, int *no, struct gs_error *err)
{
	int yes;

	if (bounded(text, err) < 0 || gs_parse_bool(text, &yes, err) < 0)
		return -1;
	*no = !yes;
	return 0;
}

/* One element, "gres:" taken off: name[:type][:count][(...)], count last. */
static uint64_t element_count(const char *text, size_t length, const char *name)
{
	size_t name_length = strlen(name);
	const char *open = memchr(text, '(', length);
	const char *end = open ? open : text + length;
	const char *colon;

	if ((size_t)(end - text) < name_length || strncmp(text, name, name_length) != 0)
		return 0;
	text += name_length;
	if (open && length > 5 && strncmp(open, "(CNT:", 5) == 0)
		return text == end || *text == ':' ? strtoull(open + 5, NULL, 10) : 0;
	if (text == end)
		return 1;
	if (*text != ':')
		return 0;
	colon = memrchr(text, ':', (size_t)(end - text));
	return isdigit((unsigned char)colon[1]) ? strtoull(colon + 1, NULL, 10) : 1;
}

int gs_gres_is_bare(const char *list, const char *name)
{
	size_t name_length = strlen(name);

	for (; list && *list; list += strspn(list, ",;")) {
		size_t length = strcspn(list, ",;");
		const char *text = list, *last;

		list += length;
		if (strncmp(text, "gres:", 5) == 0 || strncmp(text, "gres/", 5) == 0) {
			text += 5;
			length -= 5;
		}
		if (length < name_length || strncmp(text, name, name_length) != 0)
			continue;
		if (length == name_length)
			return 1;
		last = memrchr(text, ':', length);
		if (text[name_length] == ':' && last && !memchr(text, '=', length) &&
		    !isdigit((unsigned char)last[1]))
			return 1;
	}
	return 0;
}

uint64_t gs_gres_count(const char *list, const char *name)
{
	uint64_t count = 0;

	while (list && *list) {
		size_t length = 0;
		int depth = 0;

		/* Indices within parentheses have commas of their own. */
		for (; list[length] && (depth > 0 || list[length] != ','); length++)
			depth += (list[length] == '(') - (list[length] == ')');
		if (strncmp(list, "gres:", 5) == 0 || strncmp(list, "gres/", 5) == 0)
			count += element_count(list + 5, length - 5, name);
		else
			count += element_count(list, length, name);
		list += length + (list[length] == ',');
	}
	return count;
}

int gs_library_path(const char *old, const char *dir, char *out, size_t size)
{
	size_t length = strlen(dir);
	int n;

	if (old && strncmp(old, dir, length) == 0 && (old[length] == ':' || !old[length]))
		n = snprintf(out, size, "%s", old);
	else
		n = snprintf(out, size, "%s%s%s", dir, old && *old ? ":" : "", old ? old : "");
	return n < 0 || (size_t)n >= size ? -1 : 0;
}
