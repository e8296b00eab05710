/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of kernels; see kernel_name.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/kernel_name.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Of libstdc++; loaded when a name asks for it, so that nothing else of gpusharectl needs it. */
typedef char *demangle_fn(const char *name, char *buffer, size_t *size, int *status);

static demangle_fn *demangler(void)
{
	static demangle_fn *found;
	static int tried;

	if (!tried++) {
		void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

		if (library)
			*(void **)&found = dlsym(library, "__cxa_demangle");
	}
	return found;
}

char *gs_kernel_name(const char *name)
{
	demangle_fn *demangle = strncmp(name, "_Z", 2) == 0 ? demangler() : NULL;
	int status;
	char *words = demangle ? demangle(name, NULL, NULL, &status) : NULL;

	return words ? words : strdup(name);
}

/* What stands there belongs to the name of an operator, as in operator(), operator<, operator->. */
static int is_operator(const char *name, const char *at)
{
	const char *end = at;

	while (end > name && strchr("<>-=", end[-1]))
		end--;
	return end - name >= 8 && strncmp(end - 8, "operator", 8) == 0;
}

/* The bracket that is closed there; NULL: there is none. */
static char *opening(char *name, char *close)
{
	int depth = 0;

	for (char *c = close;; c--) {
		if (*c == ')' || *c == '>')
			depth++;
		else if (*c == '(' || *c == '<')
			depth--;
		if (depth == 0)
			return c;
		if (c == name)
			return NULL;
	}
}

/* The parameters, which end the name, and what it returns, which begins it. */
static void cut_signature(char *name)
{
	char *close = strrchr(name, ')'), *open = close ? opening(name, close) : NULL, *c;

	if (open && open > name && !is_operator(name, open) && strncmp(open, "(anonymous", 10) != 0)
		*open = '\0';
	for (c = name + strlen(name); c > name; c--) {
		if ((c[-1] == '>' || c[-1] == ')') && !is_operator(name, c)) {
			char *from = opening(name, c - 1);

			if (!from)
				return;
			c = from + 1;
		} else if (c[-1] == ' ') {
			memmove(name, c, strlen(c) + 1);
			return;
		}
	}
}

static void cut_template(char *name)
{
	char *open = strchr(name, '<'), *close = strrchr(name, '>');

	if (!open || !close || close - open < 4 || is_operator(name, open))
		return;
	memmove(open + 3, close, strlen(close) + 1);
	memcpy(open + 1, "..", 2);
}

static void cut_namespaces(char *name)
{
	char *end = strchr(name, '<'), *last = NULL;

	for (char *c = name; (c = strstr(c, "::")) && (!end || c < end); c += 2)
		last = c;
	if (last)
		memmove(name, last + 2, strlen(last + 2) + 1);
}

void gs_kernel_name_shorten(char *name, size_t width)
{
	static void (*const cuts[])(char *) = { cut_signature, cut_template, cut_namespaces };

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]) && strlen(name) > width; i++)
		cuts[i](name);
}
