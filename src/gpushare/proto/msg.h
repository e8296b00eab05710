/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages on the daemon's socket (SOCK_SEQPACKET: one packet, one message).
 *
 * A packet is a header and a body of exactly the size of its type's struct.
 * Magic, version, direction and length are checked before the body is
 * looked at, and every string is checked for its NUL.
 */
#ifndef GPUSHARE_PROTO_MSG_H
#define GPUSHARE_PROTO_MSG_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define GS_MSG_MAGIC 0x4750u
#define GS_MSG_VERSION 2u

enum gs_msg_type {
	GS_MSG_NONE,
#define MSG(NAME, name, direction, fields) GS_MSG_##NAME,
#include "gpushare/proto/msg.def"
#undef MSG
	GS_MSG_COUNT
};

enum gs_msg_direction { GS_TO_DAEMON, GS_FROM_DAEMON, GS_IN_CREDENTIAL };

/* struct gs_msg_hello, struct gs_msg_welcome, ... */
#define U32(f) uint32_t f;
#define U64(f) uint64_t f;
#define STR(f, n) char f[n];
#define BLOB(f, n) char f[n];
#define MSG(NAME, name, direction, fields) \
	struct gs_msg_##name { \
		fields \
	};
#include "gpushare/proto/msg.def"
#undef MSG
#undef U32
#undef U64
#undef STR
#undef BLOB

struct gs_msg_header {
	uint16_t magic;
	uint16_t version;
	uint16_t type;
	uint16_t length; /* of the body */
	uint32_t tag;    /* chosen by the asker, echoed in the answer; 0: no answer wanted */
	uint32_t pad;
};

/* One message of any type, as it travels. */
struct gs_msg {
	struct gs_msg_header header;
	union {
#define MSG(NAME, name, direction, fields) struct gs_msg_##name name;
#include "gpushare/proto/msg.def"
#undef MSG
	};
};

/* Of GS_MSG_UNTRACKED: launches of the kernel that the client announced under that number. */
struct gs_untracked {
	uint32_t kernel;
	uint32_t launches;
};
#define GS_UNTRACKED_MAX \
	(sizeof(((struct gs_msg_untracked *)NULL)->kernel) / sizeof(struct gs_untracked))

/* Of GS_MSG_STEP_FIGURES. */
#define GS_FIGURES_PIDS_MAX (sizeof(((struct gs_msg_step_figures *)NULL)->pid) / sizeof(uint32_t))

/* WHERE.driver: which library's descriptor is asked for. */
enum gs_where { GS_WHERE_STEP, GS_WHERE_CUDA, GS_WHERE_NVML };

/* GS_MSG_QUERY.what */
enum gs_query {
	GS_QUERY_STATUS,
	GS_QUERY_REPORT,
	GS_QUERY_KERNELS,
	GS_QUERY_TRACE, /* the answer is an image of proto/trace.h */
	GS_QUERY_METRICS,
	GS_QUERY_MEMORY,
	GS_QUERY_COUNT
};

/* An answer of a line per step has at most so many of them, the latest: that is some 30 MB. */
#define GS_HISTORY_STEPS_MAX 20000

/* HISTORY.group: a line of the answer is of this. */
enum gs_group {
	GS_GROUP_STEP,
	GS_GROUP_JOB,
	GS_GROUP_USER,
	GS_GROUP_PARTITION,
	GS_GROUP_GPU,
	GS_GROUP_COUNT
};

/* REFUSED.code: why, for programs; the text is for people. */
enum gs_refusal {
	GS_REFUSED_UNKNOWN_STEP = 1, /* not registered, or not yet: trying again may help */
	GS_REFUSED_NOT_YOURS,        /* the process is in none of the job's steps */
	GS_REFUSED_NO_ROOM,          /* shares or memory beyond what is free, or too many steps */
	GS_REFUSED_NOT_ALLOWED,      /* the peer or the configuration does not permit it */
	GS_REFUSED_BAD_REQUEST,      /* the request contradicts itself or what came before */
};

/*
 * WELCOME.absent: what a client does while no daemon answers. A program that starts in that time
 * has it from its environment, where the answer REGISTERED has put it as a word.
 */
enum gs_absent { GS_ABSENT_RUN, GS_ABSENT_WAIT, GS_ABSENT_FAIL, GS_ABSENT_COUNT };
#define GS_ABSENT_WORDS \
	{ \
		"run", "wait", "fail" \
	} /* in that order */
#define GS_ABSENT_ENV "GPUSHARE_ABSENT"

/* HERE.key, in the environment of a step's processes: 16 hexadecimal digits. */
#define GS_KEY_ENV "GPUSHARE_KEY"

/*
 * WELCOME.machine_code: which kernels get variants made of their machine code. VERIFIED: those of
 * architectures on which such variants were run; ALL: also of others for which they can be made.
 */
enum gs_machine_code { GS_MACHINE_VERIFIED, GS_MACHINE_ALL, GS_MACHINE_NO, GS_MACHINE_COUNT };
#define GS_MACHINE_WORDS \
	{ \
		"verified", "all", "no" \
	} /* in that order */

/* VARIANT.made_of: what a kernel's variant was made of. */
enum gs_made_of {
	GS_MADE_OF_NOTHING, /* there is none */
	GS_MADE_OF_PTX,
	GS_MADE_OF_MACHINE_CODE,
	GS_MADE_OF_PROGRAM, /* it was in the program's own module (gpushare-nvcc) */
	GS_MADE_OF_COUNT
};

/* VARIANT.since is seconds of the epoch, and none is later. */
#define GS_SINCE_MAX (UINT64_C(1) << 40)

/*
 * WELCOME.signal: how a kernel's workers learn that they must leave. AUTO: by the proxy where it
 * costs nothing, otherwise by a memory operation.
 */
enum gs_signal {
	GS_SIGNAL_AUTO,
	GS_SIGNAL_PROXY, /* worker 0 reads the slot's state in host memory (EffiSha, section 6.3) */
	GS_SIGNAL_MEMOP, /* a stream memory operation writes the resident limit */
	GS_SIGNAL_DMA,   /* a copy writes it (FRS, section III-A) */
};

/* PRIORITY_REQUEST.kind */
enum gs_priority_request {
	GS_PRIORITY_REQUEST_NONE,  /* only a question */
	GS_PRIORITY_REQUEST_OWN,   /* this priority */
	GS_PRIORITY_REQUEST_STEPS, /* the step's again */
	GS_PRIORITY_REQUEST_COUNT
};

/* STEP.memory, LOCAL.memory: what earlier runs of the program took. */
#define GS_MEMORY_AUTO UINT64_MAX

/* LOCAL.force_ms: at most a day; 0: never. */
#define GS_FORCE_MS_MAX 86400000u

/* Job ids from here on are those of `gpusharectl run`; Slurm's are far below. */
#define GS_LOCAL_JOB_FIRST 0xF0000000u

/* "HELLO" for GS_MSG_HELLO; "?" for none. */
const char *gs_msg_name(unsigned type);

/* Zero the message and fill its header in. */
void gs_msg_init(struct gs_msg *msg, enum gs_msg_type type, uint32_t tag);

/*
 * Is what arrived (bytes long) a message of this direction?  Returns 0, or
 * -1 with the reason; only then may a body field be read.
 */
int gs_msg_check(const struct gs_msg *msg, size_t bytes, enum gs_msg_direction direction,
		 struct gs_error *err);

struct sockaddr_un;

/* Fill the address's path in as an abstract one; its size, or 0: too long. */
unsigned gs_msg_abstract(struct sockaddr_un *address, const char *path);

/*
 * Connect to the gpushared that listens at path, or at the abstract address of the same name where
 * the path leads nowhere, as in a container; gs_msg_limit() holds for
 * the socket from the start.  At an abstract address anybody might listen: what does so must be
 * root, the caller's own user, or know the number in GS_KEY_ENV.  Returns a close-on-exec socket,
 * or -1 with a reason that names the path.
 */
int gs_msg_connect(const char *path, uint64_t timeout_ns, struct gs_error *err);

/*
 * From now on a send or a receive on sock fails with EAGAIN after timeout_ns, which is rounded up
 * to microseconds, or after twice that where signals interrupt it; 0: no limit. Returns 0 or -1.
 */
int gs_msg_limit(int sock, uint64_t timeout_ns, struct gs_error *err);

/*
 * Send one message, with a descriptor when fd >= 0.  Never raises SIGPIPE.
 * Returns 0, or -1 with errno (EAGAIN when the peer does not read).
 */
int gs_msg_send(int sock, const struct gs_msg *msg, int fd);

/*
 * Receive one message and check it.  *fd (may be NULL) gets the descriptor
 * that came along or -1; the caller closes it.  Descriptors beyond the first
 * are closed.  Returns 1, 0 at the peer's end, or -1 with the reason in err
 * and errno (EAGAIN: nothing there yet; EBADMSG: malformed).
 */
int gs_msg_recv(int sock, struct gs_msg *msg, enum gs_msg_direction direction, int *fd,
		struct gs_error *err);

/*
 * Fill a fixed string field; 0, or -1 when the text does not fit (the field
 * then holds what did).
 */
int gs_msg_str(char *field, size_t size, const char *text);

#endif
