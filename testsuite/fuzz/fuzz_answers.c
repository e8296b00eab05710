/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: a sequence of answers to the client library, which is what the shim has of the
 * daemon, and to that of the tools. All answers lie in the socket before the first question is
 * asked, and behind the last one the connection ends; so nothing waits. No descriptor may be left
 * open that an answer brought along.
 *
 * The first byte says how many of them a connection has, the next two what is asked; then come
 * records (records.h), whose flags are the tag and what comes along.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gpushare/client/client.h"
#include "gpushare/client/exchange.h"

#include "records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_gs_msg_connect(const char *path, uint64_t timeout_ns, struct gs_error *err);

static struct records answers; /* those that the next connection takes */
static unsigned how_many;      /* of them, at each connection */

static int peer[16];
static size_t npeer;

static void must(int holds)
{
	if (!holds)
		abort();
}

/* One call for all of them. */
static unsigned open_descriptors(void)
{
	struct pollfd all[64];
	unsigned n = 0;

	for (int i = 0; i < 64; i++)
		all[i] = (struct pollfd) { .fd = i };
	poll(all, 64, 0);
	for (int i = 0; i < 64; i++)
		n += !(all[i].revents & POLLNVAL);
	return n;
}

static int brought_along(unsigned what)
{
	struct gs_page *page;
	int fd;

	switch (what % 4) {
	case 0:
		fd = gs_page_create(&page, GS_PAGE_SIZE, NULL);
		must(fd >= 0);
		gs_page_unmap(page);
		return fd;
	case 1:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	default:
		return -1;
	}
}

/* Instead of the library's: no daemon is there, but all that it ever says. */
int __wrap_gs_msg_connect(const char *path, uint64_t timeout_ns, struct gs_error *err)
{
	struct record r;
	int pair[2];

	(void)path;
	(void)timeout_ns;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return gs_fail(err, "no socket");
	for (unsigned i = 0; i < how_many && records_next(&answers, &r); i++) {
		int fd = brought_along(r.flags >> 4);

		r.msg.header.tag = r.flags & 15;
		record_send(pair[1], &r, fd);
		if (fd >= 0)
			close(fd);
	}
	/* It stays open for what the client sends. */
	shutdown(pair[1], SHUT_WR);
	must(npeer < sizeof(peer) / sizeof(peer[0]));
	peer[npeer++] = pair[1];
	return pair[0];
}

static void on_wait(uint64_t bytes, const char *why)
{
	(void)bytes;
	must(strlen(why) < sizeof(((struct gs_msg_wait *)NULL)->reason));
}

static void asks(struct gs_client *c, unsigned what)
{
	const struct gs_untracked untracked[2] = { { 1, 2 }, { 3, 4 } };
	const struct gs_msg_variant variant = { .number = 1 };
	struct gs_msg_usage usage;
	uint64_t used, reservation;

	switch (what) {
	case 0:
		gs_client_connect(c, 4096, 100, NULL, NULL);
		break;
	case 1:
		gs_client_time(c, 1, 2);
		break;
	case 2:
		gs_client_request_priority(c, 1, 2, &usage);
		break;
	case 3:
		gs_client_untracked(c, 5, untracked, 2);
		gs_client_variant(c, &variant);
		break;
	case 4:
		gs_client_kernel(c, 1, 2, 0, 32, 5, "kernel");
		gs_client_doorbell(c);
		break;
	default:
		gs_client_alloc(c, 4096, &used, &reservation);
	}
}

static void tool(unsigned what)
{
	struct gs_ctl_text text = { NULL, 0 };

	if (gs_ctl_get("/", what % GS_QUERY_COUNT, 0, &text, NULL) == 0)
		must(strlen(text.bytes) <= text.size);
	free(text.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct gs_client_options options = { .socket = "/",
						   .program = "fuzz",
						   .on_wait = on_wait };
	struct gs_client *c;
	unsigned before;

	if (size < 3)
		return 0;
	before = open_descriptors();
	how_many = data[0] % 16;
	answers = (struct records) { data + 3, size - 3, GS_FROM_DAEMON };
	c = gs_client_create(&options);
	must(c != NULL);
	gs_client_connect(c, 0, 100, NULL, NULL);
	for (unsigned does = data[1] | (unsigned)data[2] << 8; does; does /= 6)
		asks(c, does % 6);
	if (gs_client_page(c))
		must(gs_client_page(c)->attended == 0); /* it can be read, and is the new one */
	tool(data[0] / 16);
	gs_client_destroy(c);
	while (npeer)
		close(peer[--npeer]);
	must(open_descriptors() == before);
	return 0;
}
