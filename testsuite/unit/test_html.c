/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report's page: it says what the daemon said, adds up users, and brings no script. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/ctl/html.h"

static const struct gs_html full = {
	.title = "gpushare on n<1>",
	.about = "Made today.",
	.timeline = "<svg id=\"here\"></svg>",
	.steps =
		"[{\"job\": 1, \"start\": 1700000001, \"step\": \"batch\", \"user\": \"alice\", \"partition\": \"low\", \"gpu\": 0, \"shares\": 40,"
		" \"active_ms\": 30000, \"waiting_ms\": 10000, \"ntt\": 1.333, \"preemptions\": 3, \"memory_mb\": 100},"
		"{\"job\": 2, \"start\": 1700000003, \"step\": \"0\", \"user\": \"<b>ob\", \"partition\": \"high\", \"gpu\": 0, \"shares\": 20,"
		" \"active_ms\": 60000, \"waiting_ms\": 0, \"ntt\": 1, \"preemptions\": 0, \"memory_mb\": 50},"
		"{\"job\": 3, \"start\": 1700000002, \"step\": \"0\", \"user\": \"alice\", \"partition\": \"low\", \"gpu\": 0, \"shares\": 20,"
		" \"active_ms\": 0, \"waiting_ms\": 20000, \"ntt\": null, \"preemptions\": 0, \"memory_mb\": 0}]",
	.memory =
		"[{\"gpu\": 0, \"memory_mb\": 1000, \"reserved_mb\": 250, \"used_mb\": 100, \"steps\": ["
		"{\"job\": 1, \"user\": \"alice\", \"state\": \"admitted\", \"memory_mb\": 250, \"used_mb\": 100, \"why\": null},"
		"{\"job\": 3, \"user\": \"alice\", \"state\": \"waiting\", \"memory_mb\": 900, \"used_mb\": 0,"
		" \"why\": \"150 MiB are missing\"}]}]",
};

static char *page_of(const struct gs_html *page)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct gs_error err = { "" };

	if (gs_html_write(out, page, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	return text;
}

static void expect(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no %s in %s", what, text);
}

static void test_users_are_added_up(void **unused)
{
	char *text = page_of(&full);

	(void)unused;
	/* Alice: 30 s of 90 s, 30 s of the 60 s that she wanted; job 3 has no slowdown. */
	expect(text,
	       "alice</td><td>2</td><td>30.0 s</td><td class=b><i style=\"width:23.3%\"></i>33 %</td>"
	       "<td>30.0 s</td><td class=b><i style=\"width:35.0%\"></i><i style=\"width:35.0%\"></i>"
	       "50 %</td><td>1.33</td><td>3</td><td>100</td>");
	expect(text, "of the latter is 0.90"); /* (0.5 + 1)^2 / (2 * 1.25) */
	assert_true(strstr(text, "&lt;b&gt;ob") < strstr(text, "alice")); /* most time first */
	free(text);
}

static void test_memory_and_steps_are_there(void **unused)
{
	char *text = page_of(&full);

	(void)unused;
	expect(text,
	       "<b>GPU 0</b></td><td class=l></td><td class=l>1000 MiB</td><td>250</td><td>100</td>"
	       "<td class=b><i style=\"width:17.5%\"></i>25 %</td>");
	expect(text, "150 MiB are missing");
	expect(text,
	       "<td>1</td><td class=l>batch</td><td class=l>alice</td><td class=l>low</td><td>0</td>");
	/* In the order in which they began. */
	assert_true(strstr(text, "<tr><td>1</td>") < strstr(text, "<tr><td>3</td>"));
	assert_true(strstr(text, "<tr><td>3</td>") < strstr(text, "<tr><td>2</td>"));
	free(text);
}

/* Nothing is loaded from elsewhere, nothing runs, and names are no markup. */
static void test_the_file_stands_alone(void **unused)
{
	static const char *const never[] = { "<script", "http:",   "https:", "src=",
					     "href=",   "@import", "url(",   "<b>ob" };
	char *text = page_of(&full);

	(void)unused;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (strstr(text, never[i]))
			fail_msg("%s in %s", never[i], text);
	expect(text, "<svg id=\"here\"></svg>");
	expect(text, "<h1>gpushare on n&lt;1&gt;</h1>");
	free(text);
}

static void test_words_instead_of_a_picture(void **unused)
{
	struct gs_html page = full;
	char *text;

	(void)unused;
	page.timeline = "nothing of job 7 <yet>";
	page.timeline_words = 1;
	page.steps = "[]";
	page.memory = "[]";
	text = page_of(&page);
	expect(text, "nothing of job 7 &lt;yet&gt;");
	free(text);
}

static void test_an_answer_that_is_no_json(void **unused)
{
	struct gs_html page = full;
	struct gs_error err = { "" };
	char buffer[100];
	FILE *out = fmemopen(buffer, sizeof(buffer), "w");

	(void)unused;
	page.memory = "gpu 0: 512 MiB";
	assert_int_equal(gs_html_write(out, &page, &err), -1);
	expect(err.text, "JSON");
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users_are_added_up),
		cmocka_unit_test(test_memory_and_steps_are_there),
		cmocka_unit_test(test_the_file_stands_alone),
		cmocka_unit_test(test_words_instead_of_a_picture),
		cmocka_unit_test(test_an_answer_that_is_no_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
