/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking gpushared; see figures.h. */
#define _GNU_SOURCE
#include "device/nvml/figures.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "device/nvml/nvml.h"
#include "gpushare/client/job_folder.h"

#define FRESH_NS (250 * GS_NS_PER_MS)
/* Without an answer: asked again after this, and the last figures hold for so long. */
#define AGAIN_NS GS_NS_PER_S
#define KEEP_NS (10 * GS_NS_PER_S)

static pthread_once_t begun = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char socket[128];            /* "": nobody is to be asked */
	struct nvml_figures figures; /* at_ns 0: none yet */
	uint64_t requested_ns;       /* 0: not yet */
} self;                              /* under lock */

static void after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	self.requested_ns = self.figures.at_ns = 0; /* it may be moved to another step */
}

/* In a job's mounts its folder says whether there is somebody to ask. */
static void begin(void)
{
	char folder[PATH_MAX];

	gs_job_folder_find(folder);
	if (!*folder || gs_job_folder_has(folder, "job") || gs_job_folder_has(folder, "node"))
		gs_job_folder_socket(folder, self.socket, sizeof(self.socket));
	pthread_atfork(NULL, NULL, after_fork);
}

static uint64_t left(uint64_t until_ns)
{
	uint64_t now = gs_clock_ns();

	return until_ns > now ? until_ns - now : 0;
}

/* The answer to *msg until then; 0, or -1. *fd, which begins as -1, as gs_msg_recv(). */
static int request(struct gs_msg *msg, enum gs_msg_type answer, uint64_t until_ns, int *fd)
{
	/* Where the daemon hangs a connection waits, too, and the abstract address is tried. */
	uint64_t patience = left(until_ns) / 3;
	int sock = patience && *self.socket ? gs_msg_connect(self.socket, patience, NULL) : -1;
	int rc = -1;

	if (sock < 0)
		return -1;
	patience = left(until_ns);
	if (patience && gs_msg_limit(sock, patience, NULL) == 0 &&
	    gs_msg_send(sock, msg, -1) == 0 &&
	    gs_msg_recv(sock, msg, GS_FROM_DAEMON, fd, NULL) == 1 && msg->header.type == answer)
		rc = 0;
	if (rc < 0 && fd && *fd >= 0)
		close(*fd); /* of another answer */
	close(sock);
	return rc;
}

/* Under lock. */
static void refresh(uint64_t now, uint64_t until_ns)
{
	struct gs_msg msg;

	self.requested_ns = now;
	gs_msg_init(&msg, GS_MSG_FIGURES, 1);
	if (request(&msg, GS_MSG_STEP_FIGURES, until_ns, NULL) < 0 ||
	    msg.step_figures.pids > GS_FIGURES_PIDS_MAX)
		return;
	self.figures.step = msg.step_figures;
	self.figures.at_ns = gs_clock_ns();
}

/* 1: there is a step. */
static int load(struct nvml_figures *figures, uint64_t fresh_ns, uint64_t until_ns)
{
	uint64_t now = gs_clock_ns(), age;

	pthread_once(&begun, begin);
	pthread_mutex_lock(&lock);
	age = now - self.figures.at_ns;
	if (!self.requested_ns || (age >= fresh_ns && (self.figures.at_ns >= self.requested_ns ||
						       now - self.requested_ns >= AGAIN_NS)))
		refresh(now, until_ns);
	*figures = self.figures;
	pthread_mutex_unlock(&lock);
	return figures->at_ns && gs_clock_ns() - figures->at_ns < KEEP_NS && figures->step.job_id;
}

/* By its UUID where gpushared knows that; a process may see fewer GPUs than gpushared numbers. */
static int is_of(void *device, const struct gs_msg_step_figures *step)
{
	typedef int get_uuid(void *device, char *uuid, unsigned int size);
	typedef int get_number(void *device, unsigned int *index);
	typedef int get_count(unsigned int *count);
	char uuid[NVML_UUID_MAX] = "";
	unsigned int index, count = 0;

	if (*step->uuid &&
	    NVML_REAL(get_uuid *, nvmlDeviceGetUUID)(device, uuid, sizeof(uuid)) == NVML_SUCCESS)
		return strcmp(uuid, step->uuid) == 0;
	if (NVML_REAL(get_count *, nvmlDeviceGetCount_v2)(&count) == NVML_SUCCESS && count == 1)
		return 1;
	return NVML_REAL(get_number *, nvmlDeviceGetIndex)(device, &index) == NVML_SUCCESS &&
	       index == step->gpu;
}

int nvml_figures_of(void *device, struct nvml_figures *figures)
{
	return load(figures, FRESH_NS, gs_clock_ns() + NVML_PATIENCE_NS) &&
	       is_of(device, &figures->step);
}

int nvml_figures_now(void *device, uint64_t until_ns, struct nvml_figures *figures)
{
	return load(figures, 0, until_ns) && is_of(device, &figures->step);
}

int nvml_figures_has_pid(const struct nvml_figures *figures, uint32_t pid)
{
	uint32_t number;

	for (uint32_t i = 0; i < figures->step.pids; i++) {
		memcpy(&number, figures->step.pid + i * sizeof(number), sizeof(number));
		if (number == pid)
			return 1;
	}
	return 0;
}

int nvml_figures_request_library(void)
{
	struct gs_msg msg;
	int fd = -1;

	pthread_once(&begun, begin);
	gs_msg_init(&msg, GS_MSG_WHERE, 1);
	msg.where.driver = GS_WHERE_NVML;
	return request(&msg, GS_MSG_HERE, gs_clock_ns() + NVML_PATIENCE_NS, &fd) == 0 ? fd : -1;
}
