/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading CUDA C source; see lex.h. */
#define _GNU_SOURCE
#include "gpushare/mem/lex.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/read_file.h"
#include "gpushare/mem/condition.h"

#define FILES_MAX 256
#define FILE_MAX (16u << 20)

/* ---- tokens ------------------------------------------------------------- */

static const char *skip_comment(const char *p, uint32_t *line)
{
	if (p[1] == '/')
		return p + strcspn(p, "\n");
	for (p += 2; *p && (p[0] != '*' || p[1] != '/'); p++)
		*line += *p == '\n';
	return *p ? p + 2 : p;
}

/* White space and comments; in a directive a new line ends it. */
static const char *skip_blank(const char *p, uint32_t *line, int directive)
{
	for (;;) {
		if (p[0] == '\\' && p[1] == '\n') {
			++*line;
			p += 2;
		} else if (p[0] == '/' && (p[1] == '/' || p[1] == '*')) {
			p = skip_comment(p, line);
		} else if (*p == '\n' && directive) {
			return p;
		} else if (isspace((unsigned char)*p)) {
			*line += *p == '\n';
			p++;
		} else {
			return p;
		}
	}
}

static size_t text_length(const char *p)
{
	char quote = *p;
	size_t n = 1;

	while (p[n] && p[n] != quote && p[n] != '\n')
		n += p[n] == '\\' && p[n + 1] ? 2 : 1;
	return p[n] == quote ? n + 1 : n;
}

static size_t sign_length(const char *p)
{
	static const char *const two[] = { "<<", ">>", "<=", ">=", "==", "!=", "&&",
					   "||", "++", "--", "+=", "-=", "*=", "/=",
					   "%=", "|=", "&=", "^=", "->", "::" };

	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
		if (strncmp(p, two[i], 2) == 0)
			return 2;
	return 1;
}

/* One token at p, which is not blank. */
static struct mem_token token_at(const char *p, uint32_t line, uint16_t file)
{
	struct mem_token t = { MEM_SIGN, p, 1, line, file, 0 };
	size_t n = 0;

	if (isalpha((unsigned char)*p) || *p == '_') {
		while (isalnum((unsigned char)p[n]) || p[n] == '_')
			n++;
		t.kind = MEM_WORD;
	} else if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]))) {
		while (isalnum((unsigned char)p[n]) || p[n] == '.' || p[n] == '\'' ||
		       ((p[n] == '+' || p[n] == '-') && (p[n - 1] == 'e' || p[n - 1] == 'E') &&
			strncasecmp(p, "0x", 2) != 0))
			n++;
		t.kind = MEM_NUMBER;
	} else if (*p == '"' || *p == '\'') {
		n = text_length(p);
		t.kind = MEM_TEXT;
	} else {
		n = sign_length(p);
	}
	t.len = (uint32_t)n;
	return t;
}

/* ---- directives ----------------------------------------------------------- */

static int same_body(const struct mem_token *a, const struct mem_token *b)
{
	while (a->kind != MEM_END && b->kind != MEM_END && a->len == b->len &&
	       strncmp(a->at, b->at, a->len) == 0)
		a++, b++;
	return a->kind == MEM_END && b->kind == MEM_END;
}

/* `body` and `param` become the macro's; of two different ones neither is believed. */
static int define(struct mem_source *s, const struct mem_token *name, struct mem_token *param,
		  struct mem_token *body)
{
	struct mem_macro *m = (struct mem_macro *)mem_source_macro(s, name), *grown;
	int maybe = mem_condition(s) == MEM_MAYBE;

	if (m) {
		m->ambiguous |= !m->param != !param || !same_body(m->body, body) ||
				(param && !same_body(m->param, param));
		m->maybe |= maybe;
		m->gone = 0;
		free(param);
		free(body);
		return 0;
	}
	grown = realloc(s->macro, (s->macros + 1) * sizeof(*grown));
	if (!grown)
		return -1;
	s->macro = grown;
	m = &s->macro[s->macros];
	*m = (struct mem_macro) {
		.name = strndup(name->at, name->len), .body = body, .param = param, .maybe = maybe
	};
	if (!m->name)
		return -1;
	s->macros++;
	return 0;
}

static struct mem_token *body_of(const char **at, uint32_t *line, uint16_t file)
{
	struct mem_token *body = NULL, end = { MEM_END, "", 0, *line, file, 0 };
	size_t n = 0, room = 0;
	const char *p = *at;

	while (*(p = skip_blank(p, line, 1)) && *p != '\n') {
		struct mem_token t = token_at(p, *line, file);

		if (mem_push(&body, &n, &room, t) < 0)
			break;
		p += t.len;
	}
	*at = p;
	if (mem_push(&body, &n, &room, end) < 0) {
		free(body);
		return NULL;
	}
	return body;
}

static int include_file(struct mem_source *s, const char *name, size_t len, uint16_t from);

/* (a, b) behind a macro's name, *at behind it: the names, of ... __VA_ARGS__.  NULL: no memory. */
static struct mem_token *parameters(const char **at, uint32_t *line, uint16_t file)
{
	struct mem_token *list = NULL, end = { MEM_END, "", 0, *line, file, 0 };
	size_t n = 0, room = 0;
	const char *p = *at + 1;
	int rc = 0;

	while (rc == 0 && *(p = skip_blank(p, line, 1)) && *p != '\n' && *p != ')') {
		struct mem_token t = token_at(p, *line, file);

		p += t.len;
		if (t.kind == MEM_WORD) {
			rc = mem_push(&list, &n, &room, t);
		} else if (strncmp(p - 1, "...", 3) == 0) {
			rc = mem_push(&list, &n, &room, token_at("__VA_ARGS__", *line, file));
			p += 2;
		}
	}
	*at = *p == ')' ? p + 1 : p;
	if (rc == 0 && mem_push(&list, &n, &room, end) == 0)
		return list;
	free(list);
	return NULL;
}

/* Behind #define; the end of it. */
static const char *define_at(struct mem_source *s, const char *p, uint32_t *line, uint16_t file)
{
	struct mem_token name = token_at(p, *line, file), *param = NULL, *body;

	p += name.len;
	if (name.kind != MEM_WORD || (*p == '(' && !(param = parameters(&p, line, file))))
		return p;
	body = body_of(&p, line, file);
	if (!body || define(s, &name, param, body) < 0) {
		free(param);
		free(body);
	}
	return p;
}

/* Behind #undef. */
static void undefine(struct mem_source *s, const struct mem_token *name)
{
	struct mem_macro *m = (struct mem_macro *)mem_source_macro(s, name);

	if (m && mem_condition(s) == MEM_MAYBE)
		m->maybe = 1;
	else if (m)
		m->gone = 1;
}

/* Behind # and its word. */
static const char *obey(struct mem_source *s, const struct mem_token *word, const char *p,
			uint32_t *line, uint16_t file)
{
	struct mem_token name, *rest;

	if (mem_condition_word(word)) {
		rest = body_of(&p, line, file);
		if (rest)
			mem_condition_take(s, word, rest);
		free(rest);
	} else if (mem_condition(s) == MEM_NO || !*p || *p == '\n') {
		return p;
	} else if (mem_is(word, "define")) {
		p = define_at(s, p, line, file);
	} else if (mem_is(word, "undef")) {
		name = token_at(p, *line, file);
		undefine(s, &name);
	} else if (mem_is(word, "include") && *p == '"') {
		name = token_at(p, *line, file);
		if (name.len > 2)
			include_file(s, name.at + 1, name.len - 2, file);
	}
	return p;
}

/* At the word behind #; the end of its line. */
static const char *directive(struct mem_source *s, const char *p, uint32_t *line, uint16_t file)
{
	struct mem_token word;

	p = skip_blank(p, line, 1);
	word = token_at(p, *line, file);
	if (!*p || *p == '\n')
		return p;
	p = obey(s, &word, skip_blank(p + word.len, line, 1), line, file);
	while (*p && *p != '\n') {
		if (p[0] == '\\' && p[1] == '\n') {
			++*line;
			p++;
		}
		p++;
	}
	return p;
}

/* ---- files ------------------------------------------------------------------ */

static int scan_text(struct mem_source *s, uint16_t file)
{
	const char *p = s->text[file];
	uint32_t line = 1;
	int fresh = 1; /* at the start of a line */

	for (;;) {
		uint32_t before = line;
		struct mem_token t;

		p = skip_blank(p, &line, 0);
		fresh |= line != before;
		if (!*p)
			return 0;
		if (*p == '#' && fresh) {
			p = directive(s, p + 1, &line, file);
			continue;
		}
		fresh = 0;
		t = token_at(p, line, file);
		p += t.len;
		t.maybe = mem_condition(s) == MEM_MAYBE;
		if (mem_condition(s) != MEM_NO && mem_push(&s->token, &s->tokens, &s->room, t) < 0)
			return -1;
	}
}

/* An #if ends with its file at the latest, and no #endif goes beyond its own. */
static int scan(struct mem_source *s, uint16_t file)
{
	size_t begun = mem_condition_enter(s);
	int rc = scan_text(s, file);

	mem_condition_leave(s, begun);
	return rc;
}

/* The END stays the last one. */
static int finish(struct mem_source *s)
{
	struct mem_token end = { MEM_END, "", 0, 0, 0, 0 };

	if (mem_push(&s->token, &s->tokens, &s->room, end) < 0)
		return -1;
	s->tokens--;
	return 0;
}

/* Takes the text over. */
static int take_file(struct mem_source *s, const char *name, char *text)
{
	char **files = realloc(s->file, (s->files + 1) * sizeof(*files));
	char **texts = files ? realloc(s->text, (s->files + 1) * sizeof(*texts)) : NULL;

	if (files)
		s->file = files;
	if (texts)
		s->text = texts;
	if (!texts || !(s->file[s->files] = strdup(name))) {
		free(text);
		return -1;
	}
	s->text[s->files++] = text;
	return scan(s, (uint16_t)(s->files - 1));
}

/* Beside the file that includes it; elsewhere it is not looked for.  Once each. */
static int include_file(struct mem_source *s, const char *name, size_t len, uint16_t from)
{
	const char *slash = strrchr(s->file[from], '/');
	char path[4096], *text;
	size_t length;

	if (snprintf(path, sizeof(path), "%.*s%.*s", slash ? (int)(slash - s->file[from]) + 1 : 0,
		     s->file[from], (int)len, name) >= (int)sizeof(path) ||
	    s->files >= FILES_MAX)
		return 0;
	for (size_t i = 0; i < s->files; i++)
		if (strcmp(s->file[i], path) == 0)
			return 0;
	text = gs_read_file(path, FILE_MAX, &length, NULL);
	s->not_found |= !text;
	return text ? take_file(s, path, text) : 0;
}

int mem_source_add(struct mem_source *s, const char *name, const char *text, struct gs_error *err)
{
	char *copy = strdup(text);

	if (!copy || take_file(s, name, copy) < 0 || finish(s) < 0)
		return gs_fail(err, "no memory");
	return 0;
}

int mem_source_load(struct mem_source *s, const char *path, struct gs_error *err)
{
	size_t length;
	char *text;

	if (s->files >= FILES_MAX)
		return gs_fail(err, "more than %d files", FILES_MAX);
	text = gs_read_file(path, FILE_MAX, &length, err);
	if (!text)
		return -1;
	if (take_file(s, path, text) < 0 || finish(s) < 0)
		return gs_fail(err, "no memory");
	return 0;
}

int mem_source_define(struct mem_source *s, const char *text, struct gs_error *err)
{
	const char *is = strchr(text, '=');
	char *line = NULL;
	int rc;

	if (asprintf(&line, "#define %.*s %s\n", (int)(is ? is - text : (long)strlen(text)), text,
		     is ? is + 1 : "1") < 0)
		return gs_fail(err, "no memory");
	rc = mem_source_add(s, "-D", line, err);
	free(line);
	return rc;
}

void mem_source_free(struct mem_source *s)
{
	for (size_t i = 0; i < s->macros; i++) {
		free(s->macro[i].name);
		free(s->macro[i].body);
		free(s->macro[i].param);
	}
	for (size_t i = 0; i < s->files; i++) {
		free(s->file[i]);
		free(s->text[i]);
	}
	free(s->macro);
	free(s->file);
	free(s->text);
	free(s->token);
	memset(s, 0, sizeof(*s));
}
