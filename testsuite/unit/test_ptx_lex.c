/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens of PTX text. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "device/ptx/lex.h"

/* The tokens of text, one per entry of want; the text has no NUL behind it. */
static void expect(const char *text, const char *const *want)
{
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);
	struct ptx_lexer l = { .text = copy, .end = (uint32_t)len, .line = 1 };

	assert_non_null(copy);
	memcpy(copy, text, len);
	for (; *want; want++) {
		struct ptx_token t = ptx_lex(&l);

		assert_int_not_equal(t.kind, PTX_TOK_END);
		assert_int_equal(t.end - t.begin, strlen(*want));
		assert_memory_equal(copy + t.begin, *want, t.end - t.begin);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(ptx_lex(&l).kind, PTX_TOK_END);
	free(copy);
}

static void words_and_signs(void **state)
{
	(void)state;
	expect("@!%p1 bra $L__BB0_2;",
	       (const char *const[]) { "@", "!", "%p1", "bra", "$L__BB0_2", ";", NULL });
	expect("[%rd1+-4]", (const char *const[]) { "[", "%rd1", "+", "-", "4", "]", NULL });
	expect(".reg .b32 %r<10>;",
	       (const char *const[]) { ".reg", ".b32", "%r", "<", "10", ">", ";", NULL });
	expect("%p1|%p2, _", (const char *const[]) { "%p1", "|", "%p2", ",", "_", NULL });
	expect("%ctaid.x", (const char *const[]) { "%ctaid", ".x", NULL });
	expect("", (const char *const[]) { NULL });
}

static void numbers(void **state)
{
	(void)state;
	expect("0 7U 0x1fU 0b101 017 0f3F800000 0d3ff0000000000000",
	       (const char *const[]) { "0", "7U", "0x1fU", "0b101", "017", "0f3F800000",
				       "0d3ff0000000000000", NULL });
	expect("1.5 1e-3 2.5E+7 9.0 1.",
	       (const char *const[]) { "1.5", "1e-3", "2.5E+7", "9.0", "1.", NULL });
	expect("0x1e-3", (const char *const[]) { "0x1e", "-", "3", NULL });
	expect("1+2", (const char *const[]) { "1", "+", "2", NULL });
}

static void comments_and_lines(void **state)
{
	struct ptx_lexer l = { .text = "// a\n/* b\n */ x /* c */ y // end", .end = 32, .line = 1 };
	struct ptx_token t = ptx_lex(&l);

	(void)state;
	assert_int_equal(t.kind, PTX_TOK_WORD);
	assert_int_equal(t.line, 3);
	assert_int_equal(ptx_lex(&l).kind, PTX_TOK_WORD);
	assert_int_equal(ptx_lex(&l).kind, PTX_TOK_END);
}

static void what_has_no_end(void **state)
{
	static const char *const texts[] = { "\"abc",   "/* abc", "\"abc\ndef\"",
					     "\"abc\\", "\x01",   "\xff" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ptx_lexer l = { .text = texts[i],
				       .end = (uint32_t)strlen(texts[i]),
				       .line = 1 };

		assert_int_equal(ptx_lex(&l).kind, PTX_TOK_BAD);
		assert_int_equal(ptx_lex(&l).kind, PTX_TOK_END);
	}
}

static void opcodes(void **state)
{
	static const char *const words[] = {
		"ld.global.L2::128B.v4.f32",
		"ret",
		"bar.sync",
		"cp.async.bulk.shared::cluster.global",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct ptx_lexer l = { .text = words[i],
				       .end = (uint32_t)strlen(words[i]),
				       .line = 1 };
		struct ptx_token t = ptx_lex(&l);

		ptx_lex_opcode(&l, &t);
		assert_int_equal(t.end, strlen(words[i]));
	}
}

static void colons(void **state)
{
	struct ptx_lexer label = { .text = "  : x", .end = 5, .line = 1 };
	struct ptx_lexer scope = { .text = "::x", .end = 3, .line = 1 };

	(void)state;
	assert_true(ptx_lex_colon(&label));
	assert_int_equal(label.pos, 3);
	assert_false(ptx_lex_colon(&scope));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_signs),
		cmocka_unit_test(numbers),
		cmocka_unit_test(comments_and_lines),
		cmocka_unit_test(what_has_no_end),
		cmocka_unit_test(opcodes),
		cmocka_unit_test(colons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
