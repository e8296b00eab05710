/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both ends of a registration, for tests of either alone.
 *
 * standin serve SOCKET MUNGE_SOCKET LOG grant|refuse|mute
 *	in gpushared's place: opens credentials for real, logs one line per
 *	request, and grants, refuses or never answers.  Ready when SOCKET is there.
 * standin seal MUNGE_SOCKET JOB SHARES
 *	prints a credential for a step, made by whoever runs this.
 * standin present SOCKET
 *	in slurmstepd's place: registers with the credential on standard input
 *	and prints the answer; exit status 0 if granted, 1 if refused, 2 if none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "gpushare/proto/auth.h"
#include "gpushare/proto/msg.h"

static int unix_socket(const char *path, struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path)) {
		fprintf(stderr, "standin: %s is too long\n", path);
		return -1;
	}
	strcpy(address->sun_path, path);
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

static void refuse(struct gs_msg *answer, uint32_t tag, const char *why)
{
	gs_msg_init(answer, GS_MSG_REFUSED, tag);
	gs_msg_str(answer->refused.reason, sizeof(answer->refused.reason), why);
}

static void grant(struct gs_msg *answer, uint32_t tag, const struct gs_msg_step *step)
{
	gs_msg_init(answer, GS_MSG_REGISTERED, tag);
	answer->registered.job_id = step->job_id;
	answer->registered.step_id = step->step_id;
	answer->registered.reservation = step->memory ? step->memory : step->shares << 20;
	gs_msg_str(answer->registered.shim_dir, sizeof(answer->registered.shim_dir),
		   "/standin/shim");
	gs_msg_str(answer->registered.driver, sizeof(answer->registered.driver),
		   "/standin/libcuda.so.1");
	gs_msg_str(answer->registered.env, sizeof(answer->registered.env),
		   "STANDIN_A=one\nSTANDIN_B=two words\n");
}

static void log_step(FILE *log, const char *what, pid_t pid, uid_t sealer,
		     const struct gs_msg_step *s)
{
	fprintf(log,
		"%s pid=%d sealer=%u job=%u step=%u uid=%u shares=%u gpu=%u memory=%llu "
		"priority=%s%u partition=%s qos=%s tier=%u account=%s "
		"period=%llu deadline=%llu\n",
		what, (int)pid, (unsigned)sealer, s->job_id, s->step_id, s->uid, s->shares, s->gpu,
		(unsigned long long)s->memory, s->priority_set ? "" : "unset:", s->priority,
		s->partition, s->qos, s->tier, s->account, (unsigned long long)s->period_ns,
		(unsigned long long)s->deadline_ns);
	fflush(log);
}

static int answer_one(int client, const char *munge_socket, FILE *log, const char *mode)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);
	struct gs_msg request, answer;
	struct gs_msg_step step;
	struct gs_error err;
	uid_t sealer;
	int begins;

	getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length);
	if (gs_msg_recv(client, &request, GS_TO_DAEMON, NULL, &err) <= 0) {
		fprintf(log, "MALFORMED %s\n", err.text);
		return fflush(log);
	}
	begins = request.header.type == GS_MSG_REGISTER;
	if (gs_auth_open(begins ? request.registration.cred : request.unregister.cred, munge_socket,
			 &step, &sealer, &err) < 0) {
		fprintf(log, "FORGED %s\n", err.text);
		fflush(log);
		refuse(&answer, request.header.tag, err.text);
		return gs_msg_send(client, &answer, -1);
	}
	log_step(log, gs_msg_name(request.header.type), peer.pid, sealer, &step);
	if (strcmp(mode, "mute") == 0)
		return 1;
	if (strcmp(mode, "refuse") == 0)
		refuse(&answer, request.header.tag, "the stand-in refuses everything");
	else if (begins)
		grant(&answer, request.header.tag, &step);
	else
		gs_msg_init(&answer, GS_MSG_OK, request.header.tag);
	return gs_msg_send(client, &answer, -1);
}

static int serve(char **argv)
{
	struct sockaddr_un address;
	int sock = unix_socket(argv[2], &address);
	FILE *log = fopen(argv[4], "a");

	if (sock < 0 || !log)
		return 2;
	unlink(argv[2]);
	if (bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(sock, 16) < 0) {
		perror("standin: bind");
		return 2;
	}
	chmod(argv[2], 0666);
	for (;;) {
		int client = accept4(sock, NULL, NULL, SOCK_CLOEXEC);

		/* A mute one keeps its connections open, as a daemon that hangs does. */
		if (client >= 0 && answer_one(client, argv[3], log, argv[5]) != 1)
			close(client);
	}
}

static int print_answer(const struct gs_msg *answer)
{
	if (answer->header.type == GS_MSG_REFUSED) {
		printf("REFUSED %s\n", answer->refused.reason);
		return 1;
	}
	if (answer->header.type != GS_MSG_REGISTERED) {
		printf("%s\n", gs_msg_name(answer->header.type));
		return 2;
	}
	printf("REGISTERED job=%u step=%u reservation=%llu\n", answer->registered.job_id,
	       answer->registered.step_id, (unsigned long long)answer->registered.reservation);
	return 0;
}

static int seal(char **argv)
{
	struct gs_msg_step step = { .uid = getuid(), .partition = "high" };
	char cred[sizeof(((struct gs_msg_registration *)0)->cred)];
	struct gs_error err;

	step.job_id = (uint32_t)strtoul(argv[3], NULL, 10);
	step.shares = (uint32_t)strtoul(argv[4], NULL, 10);
	if (gs_auth_seal(&step, 0, argv[2], cred, sizeof(cred), &err) < 0) {
		fprintf(stderr, "standin: %s\n", err.text);
		return 2;
	}
	puts(cred);
	return 0;
}

static int present(char **argv)
{
	struct timeval limit = { .tv_sec = 5 };
	struct sockaddr_un address;
	struct gs_msg request, answer;
	struct gs_error err;
	int sock = unix_socket(argv[2], &address);

	gs_msg_init(&request, GS_MSG_REGISTER, 7);
	if (!fgets(request.registration.cred, sizeof(request.registration.cred), stdin))
		return 2;
	request.registration.cred[strcspn(request.registration.cred, "\n")] = 0;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    gs_msg_send(sock, &request, -1) < 0) {
		printf("NONE %s\n", strerror(errno));
		return 2;
	}
	switch (gs_msg_recv(sock, &answer, GS_FROM_DAEMON, NULL, &err)) {
	case 1:
		return print_answer(&answer);
	case 0:
		printf("CLOSED\n");
		return 1;
	default:
		printf("NONE %s\n", err.text);
		return 2;
	}
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "serve") == 0)
		return serve(argv);
	if (argc == 5 && strcmp(argv[1], "seal") == 0)
		return seal(argv);
	if (argc == 3 && strcmp(argv[1], "present") == 0)
		return present(argv);
	fprintf(stderr, "usage: standin serve SOCKET MUNGE_SOCKET LOG grant|refuse|mute\n"
			"       standin seal MUNGE_SOCKET JOB SHARES\n"
			"       standin present SOCKET\n");
	return 2;
}
