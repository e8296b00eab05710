/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal; see screen.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"
#define ESCAPE_NS (50 * GS_NS_PER_MS) /* the rest of a key's sequence comes at once */

static struct {
	int begun, keys;
	struct termios before;
} screen;
static volatile sig_atomic_t resized, stop;

static size_t number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long n = text ? strtol(text, &end, 10) : 0;

	return text && end != text && !*end && n > 0 && n < 100000 ? (size_t)n : 0;
}

static struct winsize terminal(void)
{
	struct winsize w = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0)
		w = (struct winsize) { 0 };
	return w;
}

size_t gs_screen_width(void)
{
	size_t n = number("COLUMNS");

	if (n || !isatty(STDOUT_FILENO))
		return n;
	n = terminal().ws_col;
	return n ? n : 80;
}

size_t gs_screen_height(void)
{
	size_t n = number("LINES");

	if (!n)
		n = terminal().ws_row;
	return n ? n : 24;
}

int gs_screen_is_smart(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static void say(const char *text)
{
	ssize_t done = write(STDOUT_FILENO, text, strlen(text));

	(void)done;
}

static void raw(void)
{
	struct termios t = screen.before;

	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	t.c_cc[VMIN] = 0;
	t.c_cc[VTIME] = 0;
	if (screen.keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &t);
	say(ENTER);
}

void gs_screen_end(void)
{
	if (!screen.begun)
		return;
	screen.begun = 0;
	say(LEAVE);
	if (screen.keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.before);
}

static void on_signal(int number)
{
	if (number == SIGWINCH)
		resized = 1;
	else
		stop = 1;
}

/* Ctrl-Z: the shell gets its terminal back, and top takes it again when it goes on. */
static void on_stop(int number)
{
	int saved = errno;

	(void)number;
	say(LEAVE);
	if (screen.keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.before);
	raise(SIGSTOP);
	raw();
	resized = 1;
	errno = saved;
}

void gs_screen_begin(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	/* A table that is being written to a slow terminal goes on; poll() ends all the same. */
	struct sigaction resize = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction pause = { .sa_handler = on_stop };

	screen.keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen.before) == 0;
	screen.begun = 1;
	atexit(gs_screen_end);
	sigaction(SIGWINCH, &resize, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGTSTP, &pause, NULL);
	raw();
}

static int byte(uint64_t wait_ns)
{
	struct pollfd p = { .fd = screen.keys ? STDIN_FILENO : -1, .events = POLLIN };
	struct timespec t = { (time_t)(wait_ns / GS_NS_PER_S), (long)(wait_ns % GS_NS_PER_S) };
	unsigned char c;

	if (stop)
		return GS_KEY_STOP;
	if (ppoll(&p, 1, &t, NULL) > 0) {
		if (read(STDIN_FILENO, &c, 1) == 1)
			return c;
		screen.keys = 0; /* the terminal has gone, or its input has ended */
	}
	return stop ? GS_KEY_STOP : GS_KEY_NONE;
}

/* "ESC [ A", "ESC O A", "ESC [ 5 ~". */
static int sequence(void)
{
	int c = byte(ESCAPE_NS), key;

	if (c != '[' && c != 'O')
		return '\033';
	key = byte(ESCAPE_NS);
	c = key;
	while (c >= '0' && c <= '?')
		c = byte(ESCAPE_NS);
	switch (key) {
	case 'A':
		return GS_KEY_UP;
	case 'B':
		return GS_KEY_DOWN;
	case '5':
		return GS_KEY_PAGE_UP;
	case '6':
		return GS_KEY_PAGE_DOWN;
	case 'H':
	case '1':
	case '7':
		return GS_KEY_HOME;
	case 'F':
	case '4':
	case '8':
		return GS_KEY_END;
	default:
		return GS_KEY_NONE;
	}
}

int gs_screen_key(uint64_t wait_ns)
{
	uint64_t end = gs_clock_ns() + wait_ns;

	for (;;) {
		uint64_t now = gs_clock_ns();
		int c = byte(now < end ? end - now : 0);

		if (resized) {
			resized = 0;
			return GS_KEY_RESIZED;
		}
		if (c == '\033')
			c = sequence();
		if (c != GS_KEY_NONE || gs_clock_ns() >= end)
			return c;
	}
}
