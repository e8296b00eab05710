/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SipHash-2-4 (Aumasson and Bernstein, 2012) of the user's number under a secret; see user_key.h.
 */
#define _GNU_SOURCE
#include "gpushare/daemon/base/user_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t secret[2];

int gs_user_key_init(const char *socket, struct gs_error *err)
{
	struct stat st = { 0 };
	char path[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s.key", socket);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return gs_fail_errno(err, "cannot open %s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_nlink != 1 || (st.st_mode & 077)) {
		close(fd);
		return gs_fail(err,
			       "%s is not a file of this daemon alone, so others may know what it "
			       "has; remove it",
			       path);
	}
	n = read(fd, secret, sizeof(secret));
	if (n != (ssize_t)sizeof(secret)) {
		n = getrandom(secret, sizeof(secret), 0);
		if (n == (ssize_t)sizeof(secret))
			n = pwrite(fd, secret, sizeof(secret), 0);
	}
	if (n != (ssize_t)sizeof(secret))
		gs_fail_errno(err, "cannot write %s", path);
	close(fd);
	return n == (ssize_t)sizeof(secret) ? 0 : -1;
}

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static void rounds(uint64_t v[4], int n)
{
	while (n-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

uint64_t gs_user_key(uid_t uid)
{
	uint64_t v[4] = { secret[0] ^ 0x736f6d6570736575, secret[1] ^ 0x646f72616e646f6d,
			  secret[0] ^ 0x6c7967656e657261, secret[1] ^ 0x7465646279746573 };
	uint64_t block[2] = { uid, UINT64_C(8) << 56 }, key;

	for (int i = 0; i < 2; i++) {
		v[3] ^= block[i];
		rounds(v, 2);
		v[0] ^= block[i];
	}
	v[2] ^= 0xff;
	rounds(v, 4);
	key = v[0] ^ v[1] ^ v[2] ^ v[3];
	return key ? key : 1;
}
