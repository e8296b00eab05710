/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sealing and opening step registrations with libmunge; see auth.h. */
#define _GNU_SOURCE
#include "gpushare/proto/auth.h"

#include <munge.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CREDENTIAL_LIFE_S 60

static int context(const char *munge_socket, munge_ctx_t *ctx, struct gs_error *err)
{
	*ctx = munge_ctx_create();
	if (!*ctx)
		return gs_fail(err, "munge: no memory");
	if (munge_socket && *munge_socket &&
	    munge_ctx_set(*ctx, MUNGE_OPT_SOCKET, munge_socket) != EMUNGE_SUCCESS) {
		gs_fail(err, "munge: %s", munge_ctx_strerror(*ctx));
		munge_ctx_destroy(*ctx);
		return -1;
	}
	return 0;
}

/* A slurmstepd that was there before an upgrade still seals what it knows, for UNREGISTER. */
#define STEP_WITHOUT_ACCOUNT ((int)offsetof(struct gs_msg_step, account))
#define STEP_WITHOUT_JOB_SHARES ((int)offsetof(struct gs_msg_step, job_shares))
#define STEP_WITHOUT_PERIOD ((int)offsetof(struct gs_msg_step, period_ns))
_Static_assert(STEP_WITHOUT_ACCOUNT == 176 && STEP_WITHOUT_JOB_SHARES == 240 &&
		       STEP_WITHOUT_PERIOD == 248,
	       "what earlier versions seal");

/* A step that is not periodic is sealed as before there were periods, so that a gpushared of before
 * takes it, too. */
static int sealed_size(const struct gs_msg_step *step)
{
	return step->period_ns || step->deadline_ns ? (int)sizeof(*step) : STEP_WITHOUT_PERIOD;
}

int gs_auth_seal(const struct gs_msg_step *step, uid_t decoder, const char *munge_socket,
		 char *cred, size_t size, struct gs_error *err)
{
	munge_ctx_t ctx;
	munge_err_t rc;
	char *text = NULL;
	int ret = -1;

	if (context(munge_socket, &ctx, err) < 0)
		return -1;
	munge_ctx_set(ctx, MUNGE_OPT_TTL, CREDENTIAL_LIFE_S);
	munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, decoder);
	rc = munge_encode(&text, ctx, step, sealed_size(step));
	if (rc != EMUNGE_SUCCESS) {
		gs_fail(err, "munge: %s", munge_ctx_strerror(ctx));
	} else if (strlen(text) >= size) {
		gs_fail(err, "munge: a credential of %zu bytes is too long", strlen(text));
	} else {
		memcpy(cred, text, strlen(text) + 1);
		ret = 0;
	}
	free(text);
	munge_ctx_destroy(ctx);
	return ret;
}

int gs_auth_open(const char *cred, const char *munge_socket, struct gs_msg_step *step, uid_t *uid,
		 struct gs_error *err)
{
	munge_ctx_t ctx;
	munge_err_t rc;
	void *payload = NULL;
	gid_t gid;
	int len = 0, ret = -1;

	if (context(munge_socket, &ctx, err) < 0)
		return -1;
	rc = munge_decode(cred, ctx, &payload, &len, uid, &gid);
	if (rc != EMUNGE_SUCCESS) {
		gs_fail(err, "munge: %s", munge_ctx_strerror(ctx));
	} else if (len != (int)sizeof(*step) && len != STEP_WITHOUT_PERIOD &&
		   len != STEP_WITHOUT_JOB_SHARES && len != STEP_WITHOUT_ACCOUNT) {
		gs_fail(err, "a credential with %d bytes of payload", len);
	} else {
		memset(step, 0, sizeof(*step));
		memcpy(step, payload, (size_t)len);
		if (memchr(step->partition, 0, sizeof(step->partition)) &&
		    memchr(step->qos, 0, sizeof(step->qos)))
			ret = 0;
		else
			gs_fail(err, "a credential with an unterminated partition or QOS");
	}
	free(payload);
	munge_ctx_destroy(ctx);
	return ret;
}
