/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mount namespace per job; see namespace.h. */
#define _GNU_SOURCE
#include "gpushare/mount/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpushare/mount/cover.h"

/* The kernel refuses a bind mount of a namespace that would be copied into that namespace: the
 * folder of the references must be a mount that nobody receives. */
static int private_folder(const char *jobs, struct gs_error *err)
{
	if (mkdir(jobs, 0755) < 0 && errno != EEXIST)
		return gs_fail_errno(err, "cannot make %s", jobs);
	if (mount(NULL, jobs, NULL, MS_PRIVATE, NULL) == 0)
		return 0;
	if (errno != EINVAL) /* EINVAL: nothing is mounted there yet */
		return gs_fail_errno(err, "cannot make %s private", jobs);
	if (mount(jobs, jobs, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, jobs, NULL, MS_PRIVATE, NULL) < 0)
		return gs_fail_errno(err, "cannot make %s a mount of its own", jobs);
	return 0;
}

/* Two tasks may be the first at once. */
static int lock(const char *folder, struct gs_error *err)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/lock", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return gs_fail_errno(err, "cannot open %s", path);
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR) {
			gs_fail_errno(err, "cannot lock %s", path);
			close(fd);
			return -1;
		}
	return fd;
}

/* A descriptor of the namespace that the reference keeps; -1: it keeps none. */
static int open_kept(const char *reference)
{
	int fd = open(reference, O_RDONLY | O_CLOEXEC);
	struct statfs fs;

	if (fd >= 0 && (fstatfs(fd, &fs) < 0 || fs.f_type != NSFS_MAGIC)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The child: make the namespace, say so or why not, and stay until the parent has a hold of it. */
static void make(const struct gs_mount_plan *plan, const char *folder, const char *socket, int sock)
{
	struct gs_error err = { "" };
	char c;

	if (unshare(CLONE_NEWNS) < 0)
		gs_fail_errno(&err, "no mount namespace");
	else
		gs_mount_cover(plan, folder, socket, &err);
	if (send(sock, &err, sizeof(err), MSG_NOSIGNAL) == sizeof(err))
		recv(sock, &c, 1, 0);
	_exit(0);
}

static int keep(pid_t child, int sock, const char *reference, struct gs_error *err)
{
	char made[64];
	int fd;

	if (recv(sock, err, sizeof(*err), 0) != sizeof(*err))
		return gs_fail(err, "the process that makes the job's namespace has ended");
	if (err->text[0])
		return -1;
	fd = open(reference, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return gs_fail_errno(err, "cannot make %s", reference);
	close(fd);
	snprintf(made, sizeof(made), "/proc/%d/ns/mnt", (int)child);
	if (mount(made, reference, NULL, MS_BIND, NULL) < 0)
		return gs_fail_errno(err, "cannot keep the job's namespace at %s", reference);
	fd = open_kept(reference);
	return fd >= 0 ? fd : gs_fail_errno(err, "cannot open %s", reference);
}

static int make_and_keep(const struct gs_mount_plan *plan, const char *folder, const char *socket,
			 const char *reference, struct gs_error *err)
{
	int pair[2], fd;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return gs_fail_errno(err, "no pair of sockets");
	child = fork();
	if (child == 0) {
		close(pair[0]);
		make(plan, folder, socket, pair[1]);
	}
	close(pair[1]);
	fd = child < 0 ? gs_fail_errno(err, "cannot fork") : keep(child, pair[0], reference, err);
	close(pair[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return fd;
}

int gs_mount_join(const struct gs_mount_plan *plan, const char *folder, const char *socket,
		  uint32_t job_id, struct gs_error *err)
{
	char jobs[PATH_MAX - 16], reference[PATH_MAX];
	int fd, locked = lock(folder, err), rc = -1;

	if (locked < 0)
		return -1;
	snprintf(jobs, sizeof(jobs), "%s/jobs", folder);
	snprintf(reference, sizeof(reference), "%s/%u", jobs, job_id);
	fd = open_kept(reference);
	if (fd < 0 && private_folder(jobs, err) == 0)
		fd = make_and_keep(plan, folder, socket, reference, err);
	if (fd >= 0) {
		rc = setns(fd, CLONE_NEWNS);
		if (rc < 0)
			gs_fail_errno(err, "cannot join the job's namespace");
		close(fd);
	}
	close(locked);
	return rc;
}

int gs_mount_leave(const char *folder, uint32_t job_id, struct gs_error *err)
{
	char reference[PATH_MAX];

	snprintf(reference, sizeof(reference), "%s/jobs/%u", folder, job_id);
	/* EINVAL: the reference was in a namespace of Slurm's, which has gone with the job. */
	if (umount2(reference, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL &&
	    errno != ENOENT)
		return gs_fail_errno(err, "cannot give %s up", reference);
	return unlink(reference) == 0 || errno == ENOENT ?
		       0 :
		       gs_fail_errno(err, "cannot remove %s", reference);
}
