/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making and keeping the process's session with the daemon; see session.h. */
#define _GNU_SOURCE
#include "device/shim/session/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "device/shim/base/counted.h"
#include "device/shim/base/place.h"
#include "device/shim/base/upcalls.h"
#include "device/shim/session/api.h"

#define CONNECT_TIMEOUT_MS 3000
#define GREET_TRIES 3 /* times GREET_NAP_US: the daemon may just be restarting */
#define GREET_NAP_US (100 * 1000)
/* VariantMin= until a daemon says otherwise. */
#define VARIANT_MIN_NS (500 * GS_NS_PER_US)
#define END_PATIENCE_NS (1 * GS_NS_PER_S)

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
_Atomic(struct shim_session *) shim_session_made;
_Atomic int shim_session_none;

static uint32_t env_u32(const char *name, uint32_t otherwise)
{
	const char *text = getenv(name);
	char *end;
	unsigned long v;

	if (!text || !*text)
		return otherwise;
	v = strtoul(text, &end, 10);
	return *end ? otherwise : (uint32_t)v;
}

/* A forked child has neither the shim's threads nor a CUDA context, so it starts anew. */
static void forget_in_child(void)
{
	struct shim_session *s = atomic_load(&shim_session_made);

	if (s)
		gs_client_leave(s->client);
	atomic_store(&shim_session_made, NULL);
	atomic_store(&shim_session_none, 0);
	pthread_mutex_init(&making, NULL);
	shim_upcalls->forked();
}

static void stop_at_exit(void)
{
	struct shim_session *s = atomic_load(&shim_session_made);

	if (s)
		shim_upcalls->session_ends(s);
}

int shim_session_connect(struct shim_session *s, int timeout_ms, struct gs_error *err)
{
	struct gs_client_grant grant;

	/* No thread charges meanwhile. The daemon is told what is in use, and takes back what is
	 * left of the lease. */
	pthread_mutex_lock(&s->requesting);
	if (s->page)
		atomic_store(&s->page->lease, 0);
	if (gs_client_connect(s->client, s->used, timeout_ms, &s->refused, err) < 0) {
		pthread_mutex_unlock(&s->requesting);
		shim_log("%s", err->text);
		return -1;
	}
	grant = gs_client_grant(s->client);
	s->page = gs_client_page(s->client);
	shim_counted_follow(s->page);
	s->absent = grant.absent;
	s->signal = grant.signal;
	s->variant_min_ns = grant.variant_min_us == UINT32_MAX ?
				    UINT64_MAX : /* no kernel takes so long */
				    (uint64_t)grant.variant_min_us * GS_NS_PER_US;
	s->machine_code = grant.machine_code;
	s->one_context = grant.one_context;
	s->reservation = grant.reservation;
	s->context_memory = grant.context_memory;
	s->connected = 1;
	pthread_mutex_unlock(&s->requesting);
	shim_api_repeat(s);
	return 0;
}

/* The daemon is there and says that this process does not belong to the job that it names. So it
 * gets no access to the GPU. */
static void send_away(struct shim_session *s, const struct gs_error *err)
{
	shim_notice("%s: this program gets nothing of the GPU", err->text);
	s->sent_away = 1;
	s->absent = GS_ABSENT_FAIL;
}

static void on_wait(uint64_t bytes, const char *why)
{
	int big = bytes >> 30 != 0;

	shim_notice("still waiting for %.*f %s of GPU memory after 1 s: %s", big,
		    (double)bytes / (big ? 1 << 30 : 1 << 20), big ? "GiB" : "MiB", why);
}

/* DaemonAbsent= as it was when the step was registered, since no daemon may be there to say it. */
static uint32_t configured_absent(void)
{
	static const char *const words[GS_ABSENT_COUNT] = GS_ABSENT_WORDS;
	const char *text = getenv(GS_ABSENT_ENV);

	for (uint32_t i = 0; text && i < GS_ABSENT_COUNT; i++)
		if (strcmp(text, words[i]) == 0)
			return i;
	return GS_ABSENT_RUN;
}

void shim_session_say_absent(const struct shim_session *s)
{
	if (s->absent == GS_ABSENT_WAIT)
		shim_notice(
			"gpushared is not there: this program waits until it answers (DaemonAbsent=wait)");
	else if (s->absent == GS_ABSENT_FAIL)
		shim_notice(
			"gpushared is not there: this program gets nothing of the GPU until it answers (DaemonAbsent=fail)");
	else
		shim_notice("gpushared is not there: this program runs unmanaged until it answers");
}

/* A program that was told to wait for memory, or with DaemonAbsent=wait, must not begin without the
 * daemon. */
static int greet_again(const struct shim_session *s, int tries)
{
	return tries < GREET_TRIES || s->absent == GS_ABSENT_WAIT || gs_client_waits(s->client);
}

static void greet(struct shim_session *s, struct gs_error *err)
{
	for (int tries = 0; greet_again(s, tries); tries++) {
		if (shim_session_connect(s, CONNECT_TIMEOUT_MS, err) == 0)
			return;
		if (s->refused) {
			send_away(s, err);
			return;
		}
		if (tries == GREET_TRIES && !gs_client_waits(s->client))
			shim_session_say_absent(s);
		usleep(GREET_NAP_US);
	}
	shim_session_say_absent(s);
}

/* Makes a session with the daemon at `socket`; NULL: without any daemon (launch/force.h). */
static struct shim_session *make(const char *socket, struct shim_force_plan force)
{
	struct gs_client_options options = {
		.socket = socket ? socket : "",
		.job_id = env_u32("GPUSHARE_JOB_ID", 0),
		.step_id = env_u32("GPUSHARE_STEP_ID", UINT32_MAX),
		.gpu = env_u32("GPUSHARE_GPU", 0),
		.program = program_invocation_short_name,
		.on_wait = on_wait,
	};
	struct shim_session *s = shim_lines(sizeof(*s));
	struct gs_error err = { 0 };

	if (!s)
		return NULL;
	s->client = gs_client_create(&options);
	if (!s->client)
		goto fail;
	pthread_mutex_init(&s->requesting, NULL);
	s->alone = !socket;
	s->variant_min_ns = s->alone ? 0 : VARIANT_MIN_NS; /* the daemon sends its value */
	/* Until the daemon has answered, the site may have forbidden it (MachineCode=no). */
	s->machine_code = s->alone ? GS_MACHINE_VERIFIED : GS_MACHINE_NO;
	s->force = force;
	if (socket) {
		s->absent = configured_absent();
		greet(s, &err);
	}
	if (!s->connected) {
		if (gs_client_own_page(s->client, &err) < 0)
			goto fail;
		s->page = gs_client_page(s->client);
		gs_page_store(s->page->grant, s->alone);
	}
	if (shim_upcalls->session_begins(s) < 0) {
		gs_fail(&err, "cannot start a thread; see ulimit -u");
		goto fail;
	}
	return s;
fail:
	shim_notice("this program runs unmanaged: %s", err.text);
	/* The page stays: driver calls are counted in it from the WELCOME on (base/counted.h). */
	if (s->client)
		gs_client_leave(s->client);
	free(s);
	return NULL;
}

int shim_in_vain(uint64_t since_ns)
{
	const struct shim_session *s = shim_session_peek();

	return s && s->stopping && gs_clock_ns() - since_ns > END_PATIENCE_NS;
}

struct shim_session *shim_session(void)
{
	/* whether they are registered; a forked child may have the first without the second */
	static int at_fork, at_exit;
	struct shim_session *s = shim_session_peek();
	const char *socket;
	struct shim_force_plan force = { 0 };
	int cancels;

	if (s || shim_session_is_none())
		return s;
	/* Who is cancelled while it waits for the daemon must not leave with the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	pthread_mutex_lock(&making);
	s = atomic_load(&shim_session_made);
	if (!s && !shim_session_none) {
		/* Register this first: making a session may wait for the daemon for long, and
		 * another thread may fork meanwhile. */
		if (!at_fork) {
			at_fork = 1;
			pthread_atfork(NULL, NULL, forget_in_child);
		}
		shim_place_find();
		socket = getenv("GPUSHARE_SOCKET");
		if (socket && *socket)
			s = make(socket, force);
		else
			s = shim_force_wanted(&force) ? make(NULL, force) : NULL;
		if (!at_exit) {
			at_exit = 1;
			atexit(stop_at_exit);
		}
		atomic_store(&shim_session_made, s);
		shim_session_none = !s;
	}
	pthread_mutex_unlock(&making);
	pthread_setcancelstate(cancels, NULL);
	return s;
}
