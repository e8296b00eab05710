/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking NVML for MIG mode, in a helper process that may hang; see mig.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/memory/mig.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/daemon/base/child.h"
#include "gpushare/daemon/base/driver_file.h"

#define PATIENCE_MS 3000

enum finding { NOT_KNOWN, WHOLE, IN_MIG_MODE, NOT_THERE };

/* What the helper finds of each Gpu= line. */
struct findings {
	unsigned char of[GS_CONFIG_GPUS_MAX];
	char why[192]; /* if nothing is known of any: why; "": something is */
};

static const struct gs_config *named; /* whose GPUs the helper asks for: it is a copy of us */

static struct {
	int (*init)(void);
	int (*by_index)(unsigned int index, void **device);
	int (*by_uuid)(const char *uuid, void **device);
	int (*mode)(void *device, unsigned int *current, unsigned int *pending);
} nvml;

/* An instance must be there; a GPU must not be in MIG mode. */
static enum finding find(const struct gs_config_gpu *gpu)
{
	unsigned int current = 0, pending = 0;
	void *device;

	if (gs_config_is_instance(gpu))
		return !nvml.by_uuid                         ? NOT_KNOWN :
		       nvml.by_uuid(gpu->uuid, &device) == 0 ? WHOLE :
							       NOT_THERE;
	if (nvml.by_index(gpu->index, &device) != 0 || !nvml.mode ||
	    nvml.mode(device, &current, &pending) != 0)
		return NOT_KNOWN; /* GPUs without MIG, and older drivers, say that they have none */
	return current ? IN_MIG_MODE : WHOLE;
}

static void find_all(const char *library, struct findings *found)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		snprintf(found->why, sizeof(found->why), "it cannot be loaded: %.150s", dlerror());
		return;
	}
	*(void **)&nvml.init = dlsym(lib, "nvmlInit_v2");
	*(void **)&nvml.by_index = dlsym(lib, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&nvml.by_uuid = dlsym(lib, "nvmlDeviceGetHandleByUUID");
	*(void **)&nvml.mode = dlsym(lib, "nvmlDeviceGetMigMode");
	if (!nvml.init || !nvml.by_index)
		snprintf(found->why, sizeof(found->why), "it is too old");
	else if (nvml.init() != 0)
		snprintf(found->why, sizeof(found->why), "it finds no driver");
	else
		for (size_t i = 0; i < named->ngpu; i++)
			found->of[i] = (unsigned char)find(&named->gpu[i]);
}

static void helper(int sock, const char *library)
{
	struct findings found = { .why = "" };

	find_all(library, &found);
	send(sock, &found, sizeof(found), MSG_NOSIGNAL);
}

static void get_findings(const char *library, struct findings *found)
{
	pid_t pid;
	int sock = gs_child_start(&pid, helper, library, 1), answers;
	struct pollfd p = { .fd = sock, .events = POLLIN };
	const char *why = NULL;

	if (sock < 0) {
		snprintf(found->why, sizeof(found->why), "no process could be made to ask it");
		return;
	}
	answers = poll(&p, 1, PATIENCE_MS);
	if (answers == 0)
		why = "it has not answered within 3 s";
	else if (answers < 0 || recv(sock, found, sizeof(*found), MSG_DONTWAIT) != sizeof(*found))
		why = "the process that asked it has ended";
	if (why) {
		memset(found, 0, sizeof(*found));
		snprintf(found->why, sizeof(found->why), "%s", why);
	}
	close(sock);
	gs_child_kill(pid);
}

/* Is a driver to be expected that has an NVML? */
static int has_driver(const struct gs_config *config)
{
	return *config->driver ? !gs_driver_is_emulated(config->driver) :
				 access("/dev/nvidiactl", F_OK) == 0;
}

int gs_mig_check(const struct gs_config *config, struct gs_error *err)
{
	struct findings found = { .why = "" };

	named = config;
	get_findings(config->nvml, &found);
	if (*found.why && has_driver(config))
		gs_log(GS_LOG_WARN,
		       "it is not known whether a GPU is in MIG mode, in which programs would not find it: NVML (%.150s): %s",
		       config->nvml, found.why);
	for (size_t i = 0; i < config->ngpu; i++) {
		const struct gs_config_gpu *gpu = &config->gpu[i];

		if (found.of[i] == NOT_THERE)
			return gs_fail(err, "GPU %u: there is no MIG instance %s", gpu->index,
				       gpu->uuid);
		if (found.of[i] == IN_MIG_MODE)
			return gs_fail(
				err,
				"GPU %u is in MIG mode, and gpushare shares whole GPUs: switch it off (nvidia-smi -i %u -mig 0), or remove the Gpu line",
				gpu->index, gpu->index);
	}
	return 0;
}
