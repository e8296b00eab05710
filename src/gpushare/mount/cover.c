/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Covering drivers by libraries of ours; see cover.h. */
#define _GNU_SOURCE
#include "gpushare/mount/cover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Room for links, names and a few variables. */
#define FOLDER_OPTIONS "mode=755,size=256k"

/* Make the folders above the file that path names, from path[from] on. */
static int make_folders(char *path, size_t from, struct gs_error *err)
{
	for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return gs_fail_errno(err, "cannot make %s", path);
		*slash = '/';
	}
	return 0;
}

static int write_file(const char *path, uid_t uid, mode_t mode, const char *text,
		      struct gs_error *err)
{
	FILE *f = fopen(path, "we");
	int bad;

	if (!f)
		return gs_fail_errno(err, "cannot write %s", path);
	bad = fchmod(fileno(f), mode) < 0 || fchown(fileno(f), uid, (gid_t)-1) < 0 ||
	      fputs(text, f) < 0;
	return fclose(f) == 0 && !bad ? 0 : gs_fail_errno(err, "cannot write %s", path);
}

/*
 * The file that is open becomes what is at `real`. Where the node's mounts are shared, as systemd
 * has them, a bind mount receives what is mounted on its file, and so does each copy of it in other
 * mount namespaces: our library would cover what we keep as well. A bind mount of a private one
 * receives nothing, and its copies are made in all namespaces none the less.
 */
static int keep_file(const char *opened, const char *real, const char *folder, struct gs_error *err)
{
	char apart[PATH_MAX];
	int rc = -1;

	snprintf(apart, sizeof(apart), "%s/job/apart", folder);
	if (write_file(apart, (uid_t)-1, 0644, "", err) < 0)
		return -1;
	if (mount(opened, apart, NULL, MS_BIND, NULL) == 0) {
		rc = mount(NULL, apart, NULL, MS_PRIVATE, NULL);
		if (rc == 0)
			rc = mount(apart, real, NULL, MS_BIND, NULL);
		if (rc < 0)
			gs_fail_errno(err, "cannot keep %s", real);
		umount2(apart, MNT_DETACH | UMOUNT_NOFOLLOW);
	} else {
		gs_fail_errno(err, "cannot keep %s", real);
	}
	unlink(apart);
	return rc;
}

/* real/<file> becomes the driver, and the driver's own path our library. */
static int cover_file(const char *file, const char *ours, const char *folder, struct gs_error *err)
{
	char real[2 * PATH_MAX], opened[32];
	int fd, at, rc;

	at = snprintf(real, sizeof(real), "%s/job/real", folder);
	snprintf(real + at, sizeof(real) - (size_t)at, "%s", file);
	if (access(real, F_OK) == 0)
		return 0; /* another path has led to it */
	if (make_folders(real, (size_t)at, err) < 0 ||
	    write_file(real, (uid_t)-1, 0644, "", err) < 0)
		return -1;
	fd = open(file, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return gs_fail_errno(err, "cannot open %s", file);
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	rc = keep_file(opened, real, folder, err);
	if (rc == 0 && (rc = mount(ours, file, NULL, MS_BIND, NULL)) < 0)
		gs_fail_errno(err, "cannot put %s in the place of %s", ours, file);
	close(fd);
	return rc;
}

static int make_job_folder(const char *folder, const char *socket, struct gs_error *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/job", folder);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return gs_fail_errno(err, "cannot make %s", path);
	if (mount(GS_MOUNT_SOURCE, path, "tmpfs", MS_NOSUID | MS_NODEV, FOLDER_OPTIONS) < 0)
		return gs_fail_errno(err, "cannot mount %s", path);
	snprintf(path, sizeof(path), "%s/job/socket", folder);
	return write_file(path, (uid_t)-1, 0644, socket, err);
}

static int make_link(const char *target, const char *path, struct gs_error *err)
{
	return symlink(target, path) == 0 ? 0 : gs_fail_errno(err, "cannot make %s", path);
}

/* lib/<name> leads to the file that the first of the library's covered paths was. */
static int link_library(const char *folder, enum gs_mount_library library, const char *file,
			struct gs_error *err)
{
	static const char *const names[GS_MOUNT_LIBRARIES] = GS_MOUNT_NAMES;
	char path[PATH_MAX], target[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/job/lib", folder);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return gs_fail_errno(err, "cannot make %s", path);
	snprintf(path, sizeof(path), "%s/job/lib/%s", folder, names[library]);
	snprintf(target, sizeof(target), "../real%s", file);
	if (make_link(target, path, err) < 0)
		return -1;
	if (library != GS_MOUNT_CUDA)
		return 0;
	snprintf(path, sizeof(path), "%s/job/driver", folder);
	return make_link(target + 3, path, err);
}

static int note_covered(const char *folder, const char *file, struct gs_error *err)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/job/covered", folder);
	f = fopen(path, "ae");
	if (f && fprintf(f, "%s\n", file) > 0 && fclose(f) == 0)
		return 0;
	return gs_fail_errno(err, "cannot write %s", path);
}

static int cover_all(const struct gs_mount_plan *plan, const char *folder, const char *socket,
		     struct gs_error *err)
{
	char ours[GS_MOUNT_LIBRARIES][PATH_MAX], file[PATH_MAX];
	int linked[GS_MOUNT_LIBRARIES] = { 0 };

	for (int i = 0; i < GS_MOUNT_LIBRARIES; i++)
		if (*plan->ours[i] && !realpath(plan->ours[i], ours[i]))
			return gs_fail_errno(err, "no shim: %s", plan->ours[i]);
	if (make_job_folder(folder, socket, err) < 0)
		return -1;
	for (size_t i = 0; i < plan->ncover; i++) {
		enum gs_mount_library library = plan->cover[i].library;

		if (!*plan->ours[library] || !realpath(plan->cover[i].path, file))
			continue; /* removed since gpushared looked */
		if (!linked[library] && link_library(folder, library, file, err) < 0)
			return -1;
		linked[library] = 1;
		if (note_covered(folder, file, err) < 0 ||
		    cover_file(file, ours[library], folder, err) < 0)
			return -1;
	}
	return linked[GS_MOUNT_CUDA] ? 0 : gs_fail(err, "the driver %s is gone", plan->driver);
}

int gs_mount_cover(const struct gs_mount_plan *plan, const char *folder, const char *socket,
		   struct gs_error *err)
{
	/* Homes that autofs mounts later must arrive here. */
	if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		return gs_fail_errno(err, "cannot keep the job's mounts to itself");
	return cover_all(plan, folder, socket, err);
}

int gs_mount_is_covered(const struct gs_mount_plan *plan, const char *path)
{
	struct stat a, b;

	if (stat(path, &a) < 0)
		return 0;
	for (int i = 0; i < GS_MOUNT_LIBRARIES; i++)
		if (*plan->ours[i] && stat(plan->ours[i], &b) == 0 && a.st_dev == b.st_dev &&
		    a.st_ino == b.st_ino)
			return 1;
	return 0;
}

/* Is what was kept of this path the driver still? */
static int is_kept(const struct gs_mount_plan *plan, const char *folder, const char *path)
{
	char file[PATH_MAX], real[2 * PATH_MAX];

	if (!realpath(path, file))
		return 0;
	snprintf(real, sizeof(real), "%s/job/real%s", folder, file);
	return access(real, F_OK) == 0 && !gs_mount_is_covered(plan, real);
}

static int all_covered(const struct gs_mount_plan *plan, const char *folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/job/node", folder);
	if (access(path, F_OK) < 0)
		return 0;
	for (size_t i = 0; i < plan->ncover; i++)
		if (*plan->ours[plan->cover[i].library] &&
		    (!gs_mount_is_covered(plan, plan->cover[i].path) ||
		     !is_kept(plan, folder, plan->cover[i].path)))
			return 0;
	return 1;
}

int gs_mount_cover_node(const struct gs_mount_plan *plan, const char *folder, const char *socket,
			struct gs_error *err)
{
	char path[PATH_MAX];

	if (all_covered(plan, folder))
		return 0;
	if (gs_mount_uncover_node(folder, err) < 0)
		return -1;
	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		return gs_fail_errno(err, "cannot make %s", folder);
	snprintf(path, sizeof(path), "%s/job/node", folder);
	if (cover_all(plan, folder, socket, err) == 0 &&
	    write_file(path, (uid_t)-1, 0644, "", err) == 0)
		return 0;
	gs_mount_uncover_node(folder, NULL); /* not by halves */
	return -1;
}

int gs_mount_uncover_node(const char *folder, struct gs_error *err)
{
	char path[PATH_MAX], file[PATH_MAX];
	int bad = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/job/covered", folder);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT || errno == ENOTDIR ?
			       0 :
			       gs_fail_errno(err, "cannot read %s", path);
	/* EINVAL: nothing is mounted there, as the last time ended before it was. */
	while (fgets(file, sizeof(file), f)) {
		file[strcspn(file, "\n")] = '\0';
		if (umount2(file, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL &&
		    errno != ENOENT)
			bad = gs_fail_errno(err, "cannot give %s back", file);
	}
	fclose(f);
	snprintf(path, sizeof(path), "%s/job", folder);
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
		bad = gs_fail_errno(err, "cannot unmount %s", path);
	return bad;
}

/* Another task may read it meanwhile. */
static int replace_file(const char *folder, const char *name, uid_t uid, mode_t mode,
			const char *text, struct gs_error *err)
{
	char path[PATH_MAX], fresh[PATH_MAX];

	snprintf(path, sizeof(path), "%s/job/%s", folder, name);
	snprintf(fresh, sizeof(fresh), "%s/job/%s.%d", folder, name, (int)getpid());
	if (write_file(fresh, uid, mode, text, err) < 0)
		return -1;
	return rename(fresh, path) == 0 ? 0 : gs_fail_errno(err, "cannot write %s", path);
}

int gs_mount_tell_job(const char *folder, uid_t uid, const char *job, const char *environment,
		      struct gs_error *err)
{
	if (replace_file(folder, "environment", uid, 0400, environment, err) < 0)
		return -1;
	return replace_file(folder, "job", (uid_t)-1, 0444, job, err);
}
