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
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpushare/mount/cover.h"

/* The lock on what jobs share: behind those of the jobs, whose numbers have 32 bits. */
#define OF_ALL_JOBS (INT64_C(1) << 32)

/*
 * Two tasks may be the first of their job at once, and two jobs the first of the node.  A user can
 * stop a task at any moment (scancel --signal=STOP), so each job has a lock of its own.
 */
static int lock(const char *folder, int64_t which, struct gs_error *err)
{
	struct flock one = { .l_type = F_WRLCK, .l_start = which, .l_len = 1 };
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/lock", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return gs_fail_errno(err, "cannot open %s", path);
	while (fcntl(fd, F_OFD_SETLKW, &one) < 0)
		if (errno != EINTR) {
			gs_fail_errno(err, "cannot lock %s", path);
			close(fd);
			return -1;
		}
	return fd;
}

/* The kernel refuses a bind mount of a namespace that would be copied into that namespace: the
 * folder of the references must be a mount that nobody receives. */
static int private_folder(const char *folder, const char *jobs, struct gs_error *err)
{
	int locked, rc = 0;

	if (mkdir(jobs, 0755) < 0 && errno != EEXIST)
		return gs_fail_errno(err, "cannot make %s", jobs);
	if (mount(NULL, jobs, NULL, MS_PRIVATE, NULL) == 0)
		return 0;
	if (errno != EINVAL) /* EINVAL: nothing is mounted there yet */
		return gs_fail_errno(err, "cannot make %s private", jobs);
	locked = lock(folder, OF_ALL_JOBS, err);
	if (locked < 0)
		return -1;
	if (mount(NULL, jobs, NULL, MS_PRIVATE, NULL) < 0 &&
	    (mount(jobs, jobs, NULL, MS_BIND, NULL) < 0 ||
	     mount(NULL, jobs, NULL, MS_PRIVATE, NULL) < 0))
		rc = gs_fail_errno(err, "cannot make %s a mount of its own", jobs);
	close(locked);
	return rc;
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

/*
 * The namespace that keeps the references is our parent's, slurmstepd's or slurmd's: ours may be
 * one that Slurm has made for the job.  Where the parent is not seen, in a process namespace, it is
 * ours.
 */
static int open_keeper(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)getppid());
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The path of a job's reference in that namespace, as we can open it. */
static void keepers_path(const char *reference, char *path, size_t size)
{
	int n = snprintf(path, size, "/proc/%d/root", (int)getppid());

	if (access(path, F_OK) < 0)
		n = 0;
	snprintf(path + n, size - (size_t)n, "%s", reference);
}

/* What a job's namespace is made from, and where it is kept. */
struct making {
	const struct gs_mount_plan *plan;
	const char *folder, *socket, *jobs, *reference;
	int processor; /* on which it is made; -1: any */
	int refused;   /* the kernel takes it for older than the keeper */
};

/* What a child says to its parent. */
struct answer {
	struct gs_error err;
	int refused;
};

static int run_on(int processor)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

/* The child: make the namespace, say so or why not, and stay until the parent has a hold of it. */
static void make(const struct making *m, int sock)
{
	struct answer a = { { "" }, 0 };
	char c;

	if (m->processor >= 0 && run_on(m->processor) < 0)
		gs_fail_errno(&a.err, "cannot run on processor %d", m->processor);
	else if (unshare(CLONE_NEWNS) < 0)
		gs_fail_errno(&a.err, "no mount namespace");
	else
		gs_mount_cover(m->plan, m->folder, m->socket, &a.err);
	if (send(sock, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a))
		recv(sock, &c, 1, 0);
	_exit(0);
}

/* Another child, in the keeper's namespace: the reference to what the first one has made. */
static void keep(const struct making *m, pid_t made, int keeper, int sock)
{
	struct answer a = { { "" }, 0 };
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)made);
	if (keeper >= 0 && setns(keeper, CLONE_NEWNS) < 0)
		gs_fail_errno(&a.err, "cannot join slurmstepd's mount namespace");
	else if (private_folder(m->folder, m->jobs, &a.err) < 0)
		;
	else if ((fd = open(m->reference, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) < 0)
		gs_fail_errno(&a.err, "cannot make %s", m->reference);
	else if (close(fd) < 0 || mount(path, m->reference, NULL, MS_BIND, NULL) < 0) {
		a.refused = errno == EINVAL;
		gs_fail_errno(&a.err, "cannot keep the job's namespace at %s", m->reference);
	}
	send(sock, &a, sizeof(a), MSG_NOSIGNAL);
	_exit(0);
}

/* What a child says: 0, or -1 with its reason. */
static int hear(int sock, struct making *m, struct gs_error *err)
{
	struct answer a;

	if (recv(sock, &a, sizeof(a), 0) != sizeof(a))
		return gs_fail(err, "the process that makes the job's namespace has ended");
	m->refused = a.refused;
	*err = a.err;
	return err->text[0] ? -1 : 0;
}

static void wait_for(pid_t child)
{
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static int keep_made(struct making *m, pid_t made, int pair[2], struct gs_error *err)
{
	int keeper = open_keeper(), rc;
	pid_t child = fork();
	char path[64];

	if (child == 0)
		keep(m, made, keeper, pair[1]);
	if (keeper >= 0)
		close(keeper);
	close(pair[1]);
	rc = child < 0 ? gs_fail_errno(err, "cannot fork") : hear(pair[0], m, err);
	wait_for(child);
	if (rc < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)made);
	rc = open(path, O_RDONLY | O_CLOEXEC);
	return rc >= 0 ? rc : gs_fail_errno(err, "cannot open %s", path);
}

/* A descriptor of the new namespace; -1 with the reason. */
static int make_and_keep(struct making *m, struct gs_error *err)
{
	int making[2], keeping[2], fd = -1;
	pid_t child;

	m->refused = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, making) < 0)
		return gs_fail_errno(err, "no pair of sockets");
	child = fork();
	if (child == 0) {
		close(making[0]);
		make(m, making[1]);
	}
	close(making[1]);
	if (child < 0)
		gs_fail_errno(err, "cannot fork");
	else if (hear(making[0], m, err) == 0) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keeping) < 0)
			gs_fail_errno(err, "no pair of sockets");
		else {
			fd = keep_made(m, child, keeping, err);
			close(keeping[0]);
		}
	}
	close(making[0]);
	wait_for(child);
	return fd;
}

/*
 * The kernel keeps no reference to a namespace in one that it takes for younger, and since 6.18 the
 * numbers by which it judges are dealt out to the processors in batches.  So where slurmd has a
 * namespace of its own, made not long ago (a container, PrivateTmp=), one made on another processor
 * may be refused; one made on the processor that made slurmd's is not.
 */
static int make_on_any(struct making *m, struct gs_error *err)
{
	int fd = make_and_keep(m, err);
	cpu_set_t all;

	if (fd >= 0 || !m->refused || sched_getaffinity(0, sizeof(all), &all) < 0)
		return fd;
	for (int i = 0; i < CPU_SETSIZE && fd < 0 && m->refused; i++)
		if (CPU_ISSET(i, &all)) {
			m->processor = i;
			fd = make_and_keep(m, err);
		}
	return fd;
}

int gs_mount_join(const struct gs_mount_plan *plan, const char *folder, const char *socket,
		  uint32_t job_id, struct gs_error *err)
{
	char jobs[PATH_MAX - 64], reference[PATH_MAX - 32], path[PATH_MAX];
	struct making m = { plan, folder, socket, jobs, reference, -1, 0 };
	int fd, locked = lock(folder, job_id, err), rc = -1;

	if (locked < 0)
		return -1;
	snprintf(jobs, sizeof(jobs), "%s/jobs", folder);
	snprintf(reference, sizeof(reference), "%s/%u", jobs, job_id);
	keepers_path(reference, path, sizeof(path));
	fd = open_kept(path);
	if (fd < 0)
		fd = make_on_any(&m, err);
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
	int keeper = open_keeper();

	if (keeper >= 0 && setns(keeper, CLONE_NEWNS) < 0)
		gs_fail_errno(err, "cannot join slurmd's mount namespace");
	if (keeper >= 0)
		close(keeper);
	snprintf(reference, sizeof(reference), "%s/jobs/%u", folder, job_id);
	/* EINVAL: the reference was in a namespace of Slurm's, which has gone with the job. */
	if (umount2(reference, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL &&
	    errno != ENOENT)
		return gs_fail_errno(err, "cannot give %s up", reference);
	return unlink(reference) == 0 || errno == ENOENT ?
		       0 :
		       gs_fail_errno(err, "cannot remove %s", reference);
}

static int write_map(const char *name, unsigned id, struct gs_error *err)
{
	char path[64], line[32];
	int fd, n = id == UINT_MAX ? snprintf(line, sizeof(line), "deny") :
				     snprintf(line, sizeof(line), "%u %u 1", id, id);

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, line, (size_t)n) != n) {
		gs_fail_errno(err, "cannot write %s", path);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	close(fd);
	return 0;
}

/* Who is not root may mount in a user namespace, as the same user. */
static int become_alone(struct gs_error *err)
{
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return gs_fail_errno(err, "no mount namespace");
	if (uid == 0)
		return 0;
	return write_map("setgroups", UINT_MAX, err) < 0 || write_map("uid_map", uid, err) < 0 ?
		       -1 :
		       write_map("gid_map", gid, err);
}

int gs_mount_own(const struct gs_mount_plan *plan, const char *folder, const char *socket,
		 struct gs_error *err)
{
	/* Within a job it is so already. */
	if (gs_mount_is_covered(plan, plan->driver))
		return 0;
	return become_alone(err) < 0 ? -1 : gs_mount_cover(plan, folder, socket, err);
}
