/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the driver and its functions. GPUSHARE_DRIVER names it (a site's, or the emulated device).
 * Otherwise the usual places are tried, each by its full path, so that the dynamic linker does not
 * return the shim itself under its soname.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device/driver/connections.h"
#include "device/shim/base/counted.h"
#include "device/shim/base/place.h"
#include "device/shim/base/shim.h"
#include "device/shim/base/wraps.h"
#include "gpushare/client/job_folder.h"

static const char *const names[SHIM_FN_COUNT] = {
#define ENTRY(name, kind, blocked) #name,
#include "device/shim/base/entries.def"
#undef ENTRY
};

#define WHY_MAX 384
/* cuDriverGetVersion() */
#define LAZY_LOADING_SINCE 13000
#define LOADING "CUDA_MODULE_LOADING"

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static void *driver;

static CUresult no_driver(void)
{
	return CUDA_ERROR_STUB_LIBRARY;
}

/* cudart finds the shim and asks for its version first. If that is 0 it reports what it reports
 * without any driver (cudaErrorInsufficientDriver). */
static CUresult no_version(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = 0;
	return CUDA_SUCCESS;
}

static CUresult not_there(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

const char *shim_name(enum shim_fn fn)
{
	return names[fn];
}

/* Is this path the file of the shim itself? */
static int is_ourselves(const char *path)
{
	return gs_job_folder_is_own(path, (void *)(uintptr_t)shim_real);
}

/* Opens a driver. NULL: it is not one; `why` says why, if the user should know. */
static void *open_path(const char *path, int must_be_there, char why[WHY_MAX])
{
	void *handle;

	if (access(path, R_OK) != 0) {
		if (must_be_there || errno != ENOENT)
			snprintf(why, WHY_MAX, ": %s: %s", path, strerror(errno));
		return NULL;
	}
	if (is_ourselves(path)) {
		if (must_be_there)
			snprintf(why, WHY_MAX, ": %s is gpushare's own library", path);
		return NULL;
	}
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		snprintf(why, WHY_MAX, ": %s", dlerror());
		shim_log("cannot load the driver%s", why);
	}
	return handle;
}

/* In a container: through gpushared, which has the file open. */
static void *open_handed_over(char why[WHY_MAX])
{
	char path[32];
	void *handle;
	struct gs_error err = { "gpushared closed the connection" };
	int fd = shim_place_request_driver(&err);

	if (fd < 0) {
		if (!*why)
			snprintf(why, WHY_MAX, ": %s", err.text);
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	handle = open_path(path, 1, why);
	close(fd);
	return handle;
}

static int is_managed(void)
{
	return getenv("GPUSHARE_SOCKET") || getenv("GPUSHARE_FORCE_EVICT_MS") ||
	       getenv("GPUSHARE_FORCE_EVICT_TASKS") || getenv("GPUSHARE_FORCE_EVICT_SEED");
}

/* The place of a control daemon's pipes where the environment names none (Multi-Process Service).
 */
#define MPS_PIPES "/tmp/nvidia-mps"

/* Will the driver be a client of an MPS server? It looks for the same. */
static int is_mps_client(void)
{
	const char *pipes = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/control", pipes && *pipes ? pipes : MPS_PIPES);
	return access(path, F_OK) == 0;
}

/*
 * A client of MPS has two connections unless the environment asks for more, so an evicted kernel
 * never went on (doc/measurements/h200-connections-mps.csv). With 13, six streams may be blocked.
 */
#define MPS_CONNECTIONS 13
#define AS_TEXT(number) #number
#define TEXT(macro) AS_TEXT(macro)

static uint32_t connections_here(void)
{
	int mps = is_managed() && is_mps_client();
	uint32_t n;

	if (mps && !getenv(CU_CONNECTIONS))
		setenv(CU_CONNECTIONS, TEXT(MPS_CONNECTIONS), 1);
	/* How the driver takes what is no number from 1 to 32 is not known. */
	n = cu_connections(1);
	return mps && n < MPS_CONNECTIONS ? 1 : n;
}

/*
 * The number is the program's own, since each further connection makes a context more expensive:
 * with 32 it takes 509 ms instead of 151 to make one, and stops the GPU's other contexts for 21 ms
 * instead of 11 (doc/measurements/h200-connections.csv), and with few of them kernels of different
 * streams keep an order that programs count on. So the rules for blocked streams count with what
 * there is.
 */
uint32_t shim_connections(void)
{
	static _Atomic uint32_t connections;
	uint32_t n = atomic_load_explicit(&connections, memory_order_relaxed);

	if (n)
		return n;
	/* Whoever comes first has read it for all. */
	if (atomic_compare_exchange_strong(&connections, &n, connections_here())) {
		n = atomic_load(&connections);
		shim_log("a context has %u connections to count with", n);
	}
	return n;
}

/*
 * Which calls wait in lazy loading was examined with these drivers only (kernel/loading.h). With an
 * older driver everything is loaded at once, since that never waits for a preemptible kernel. The
 * driver reads this variable once, in cuInit.
 */
static void load_eagerly(void)
{
	const char *had = getenv(LOADING);
	CUresult (*version)(int *version);
	void *p = dlsym(driver, names[SHIM_FN_cuDriverGetVersion]);
	int is = 0;

	memcpy(&version, &p, sizeof(version));
	if (version && version(&is) == CUDA_SUCCESS && is >= LAZY_LOADING_SINCE)
		return;
	if (had && *had && strcmp(had, "EAGER") != 0)
		shim_notice(
			LOADING
			"=%.32s is EAGER here: with a driver before 13.0 lazy loading could wait for a blocked kernel",
			had);
	setenv(LOADING, "EAGER", 1);
}

static void *find_driver(char why[WHY_MAX])
{
	static const char *const places[] = {
#define DRIVER_PLACE(folder) folder "/libcuda.so.1",
#include "common/driver_places.def"
#undef DRIVER_PLACE
	};
	const char *named = getenv("GPUSHARE_DRIVER");
	char path[2 * PATH_MAX];
	void *handle = NULL;

	if (named && *named) {
		handle = open_path(named, 1, why);
		/* In a job's mounts the driver's path may lead to the shim. */
		if (handle || !is_ourselves(named))
			return handle;
	}
	for (size_t i = 0; !handle && shim_place_driver(i, path, sizeof(path)) == 0; i++)
		handle = open_path(path, 0, why);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !handle; i++)
		handle = open_path(places[i], 0, why);
	return handle ? handle : open_handed_over(why);
}

/*
 * Registers for membarrier(2), as order.c does when the session begins. This costs nothing while
 * the process has one thread. Once the driver has started threads, the kernel makes the caller
 * wait until every processor has switched tasks, which takes 10 ms and more.
 */
static void request_membarrier(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

static void open_driver(void)
{
	char why[WHY_MAX] = "";

	shim_place_find();
	if (is_managed())
		request_membarrier();
	driver = find_driver(why);
	if (!driver)
		shim_notice("no CUDA driver found%s", why);
	else if (is_managed())
		load_eagerly();
}

void *shim_real(enum shim_fn fn)
{
	void *p = __atomic_load_n(&shim_slot[fn], __ATOMIC_ACQUIRE);

	if (p)
		return p;
	pthread_once(&opened, open_driver);
	if (!driver)
		return fn == SHIM_FN_cuDriverGetVersion ? (void *)(uintptr_t)no_version :
							  (void *)(uintptr_t)no_driver;
	p = dlsym(driver, names[fn]);
	if (!p)
		p = (void *)(uintptr_t)not_there;
	__atomic_store_n(&shim_slot[fn], shim_counted_slot(fn, p), __ATOMIC_SEQ_CST);
	/* Once more: the counting may have begun since. */
	p = shim_counted_slot(fn, p);
	__atomic_store_n(&shim_slot[fn], p, __ATOMIC_RELEASE);
	return p;
}

SHIM_EXPORT CUresult cuInit(unsigned int flags)
{
	shim_connections();
	return REAL(cuInit)(flags);
}
