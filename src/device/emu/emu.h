/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The driver's objects.  One process has one device, one engine and one table
 * of device memory; contexts own streams, modules and allocations in it.
 */
#ifndef GPUSHARE_EMU_EMU_H
#define GPUSHARE_EMU_EMU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "device/emu/api.h"
#include "device/emu/channel.h"
#include "device/emu/device.h"
#include "device/emu/engine.h"
#include "device/emu/exec/ir.h"
#include "device/emu/handles.h"
#include "device/emu/log.h"
#include "device/emu/exec/mem.h"

struct emu_state {
	pthread_mutex_t mutex;
	int ready; /* cuInit succeeded */
	struct emu_device *dev;
	struct emu_engine *engine;
	struct emu_mem *mem;
	const struct emu_config *config;
	struct CUctx_st *primary;
	unsigned int primary_refs, primary_flags;
	struct CUctx_st *contexts;
	_Atomic uint64_t next_id;
};
extern struct emu_state emu;

/* What a stream does, in order. */
enum emu_task_kind { EMU_T_FN, EMU_T_KERNEL, EMU_T_WAIT_VALUE, EMU_T_WAIT_EVENT, EMU_T_RECORD };

struct emu_dep {
	struct CUstream_st *stream;
	uint64_t seq;
};

/* Tasks of other streams to wait for (legacy default stream). */
struct emu_deps {
	struct emu_dep *dep;
	uint32_t ndep;
};

struct emu_task {
	struct emu_task *next;
	enum emu_task_kind kind;
	uint64_t seq;
	uint64_t ticket; /* order of the context's tasks, whatever their streams */
	struct emu_deps after;
	CUresult (*fn)(struct CUctx_st *ctx, struct emu_task *task);
	uint8_t always;            /* runs after a sticky error too */
	uint8_t front;             /* FN: the front end's own, overtakes kernels of other streams */
	uint64_t a, b, c, d, e, f; /* the function's own */
	void *buffer;              /* freed with the task */
	uint64_t buffer_bytes;
	uint8_t node; /* CUgraphNodeType that it becomes when it is captured */
	struct CUevent_st *event;
	struct emu_grid *grid;
	struct emu_places in;
};

#define EMU_MAGIC_CTX 0x78746375u
#define EMU_MAGIC_STREAM 0x74736375u
#define EMU_MAGIC_EVENT 0x76656375u
#define EMU_MAGIC_MODULE 0x6f6d6375u
#define EMU_MAGIC_FUNC 0x6e666375u
#define EMU_MAGIC_LIB 0x62696c75u
#define EMU_MAGIC_ARRAY 0x79617275u
#define EMU_MAGIC_GRAPH 0x68707267u
#define EMU_MAGIC_NODE 0x65646f6eu
#define EMU_MAGIC_EXEC 0x63657867u

/* Nodes that the next one captured comes after. */
struct emu_node_list {
	struct CUgraphNode_st **v;
	size_t n, cap;
};

struct CUstream_st {
	uint32_t magic;
	int kept; /* from here up to ctx: as the object before it left them */
	pthread_cond_t work;
	struct CUctx_st *ctx;
	struct CUstream_st *next; /* in the context */
	unsigned int flags;
	int priority;
	uint64_t id;
	uint64_t enqueued, completed;
	struct emu_task *head, **tail;
	struct emu_task *running;
	uint32_t pending; /* tasks that go through channels and are not over */
	uint32_t channel; /* theirs; none if there are no such tasks */
	int started, closing;
	unsigned int refs;
	struct emu_capture
		*capture; /* under the context's mutex; the stream's work goes there instead */
	struct emu_node_list capture_deps;
};

struct CUevent_st {
	uint32_t magic;
	struct CUctx_st *ctx;
	struct CUevent_st *next; /* in the context */
	unsigned int flags;
	uint64_t recorded, done; /* record operations enqueued, executed */
	uint64_t when_ns;
	unsigned int refs;
	uint64_t capture_id; /* recorded in this capture, behind these nodes; 0: in none */
	struct emu_node_list capture_deps;
};

struct CUctx_st {
	uint32_t magic;
	int kept;               /* from here up to next: as the object before it left them */
	pthread_mutex_t mutex;  /* streams, events */
	pthread_cond_t changed; /* something completed, a stream is gone */
	struct CUctx_st *next;
	uint64_t id;
	unsigned int flags;
	int is_primary;
	struct CUstream_st *streams;
	struct CUevent_st *events;
	struct CUstream_st *legacy;
	struct CUmod_st *modules;
	struct emu_channels channels;
	_Atomic CUresult error; /* sticky */
	uint64_t tickets;
	size_t limit[CU_LIMIT_MAX];
	CUfunc_cache cache;
};

struct emu_variable {
	const struct ptx_var *var;
	uint64_t address, size;
	char *name;
};

struct CUmod_st {
	uint32_t magic;
	struct CUctx_st *ctx;
	struct CUmod_st *next;
	char *text;
	struct ptx_module *ptx;
	struct emu_variable *variable;
	uint32_t nvariable;
	struct CUfunc_st **function;
	uint32_t nfunction;
};

struct CUfunc_st { /* a kernel: a CUkernel is the same */
	uint32_t magic;
	struct CUmod_st *module;
	struct CUlib_st *library;
	const struct ptx_func *ast;
	char *name;
	struct emu_program *program; /* decoded at first use, under the module's lock */
	int dynamic_max;
	int carveout;
	pthread_mutex_t mutex;
};

struct CUarray_st {
	uint32_t magic;
	struct CUctx_st *ctx;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	uint64_t base, pitch, slice; /* bytes */
	uint64_t row_bytes, rows, layers;
};

struct CUlib_st {
	uint32_t magic;
	struct CUmod_st *module;
};

/* state.c, api_ctx.c */
CUresult emu_enter(struct CUctx_st **ctx); /* initialised, a context is current, no sticky error */
CUresult emu_enter_any(struct CUctx_st **ctx); /* the same, sticky errors allowed */
CUresult emu_enter_plain(void);                /* initialised */
extern __thread int emu_per_thread_stream;

/* alloc.c: device memory with its accounting; ctx: goes with that context, but for a module's;
 * NULL: with none */
CUresult emu_alloc(struct CUctx_st *ctx, uint64_t *ptr, uint64_t bytes, enum emu_mem_kind kind,
		   unsigned int flags);
CUresult emu_free(struct CUctx_st *ctx, uint64_t ptr, unsigned int kinds);
void emu_free_of(uint64_t ctx_id); /* all that goes with that context */
/* How much of the device's memory an allocation of that kind and size is. */
uint64_t emu_counted(enum emu_mem_kind kind, uint64_t bytes);

/* stream.c, task.c */
void emu_stream_release(struct CUstream_st *s); /* under the mutex of its context */
struct CUstream_st *emu_stream_create(struct CUctx_st *ctx, unsigned int flags, int priority);
void emu_stream_close(struct CUstream_st *s); /* what is queued still runs */
void emu_streams_end(
	struct CUctx_st *ctx); /* all of the context's, and its events: waits for what is queued */
CUresult emu_stream_resolve(struct CUctx_st *ctx, CUstream handle, struct CUstream_st **stream);
/* Append; the task is the stream's from here on.  The sequence number in *seq (may be NULL). */
CUresult emu_stream_enqueue(struct CUstream_st *s, struct emu_task *task, uint64_t *seq);
CUresult emu_stream_wait(struct CUstream_st *s, uint64_t seq);
CUresult emu_stream_query(struct CUstream_st *s);
CUresult emu_ctx_wait(struct CUctx_st *ctx);
int emu_ctx_busy(struct CUctx_st *ctx); /* something enqueued has not completed */
struct emu_task *emu_task_new(enum emu_task_kind kind);
struct CUevent_st *emu_event_create(struct CUctx_st *ctx, unsigned int flags);
void emu_event_release(struct CUevent_st *event); /* under the mutex of its context */
void emu_task_free(struct CUctx_st *ctx, struct emu_task *t);
/* In the stream's thread; an error becomes the context's. */
void emu_task_execute(struct CUstream_st *s, struct emu_task *t);
uint64_t emu_now_ns(void);

/* api_copy.c, api_box.c, api_launch.c, api_stream.c: what graphs build too */
enum emu_end { EMU_END_ANY, EMU_END_HOST, EMU_END_DEVICE }; /* how an end of a copy was named */
CUresult emu_copy_check(enum emu_end e, uint64_t ptr, uint64_t bytes);
/* copy_engine.c: a copy takes its time; addresses of its first bytes. */
void emu_copy_takes(uint64_t dst, uint64_t src, uint64_t bytes);
/* Enqueue; sync: and wait for it. */
CUresult emu_copy_enqueue(struct CUctx_st *ctx, CUstream stream, struct emu_task *t, int sync);
CUresult emu_set_task(const CUDA_MEMSET_NODE_PARAMS *p, struct emu_task **task);
/* None of the extents is 0. */
CUresult emu_box_task(const CUDA_MEMCPY3D *c, struct emu_task **task, int *pageable);
CUresult emu_launch_task(struct CUctx_st *ctx, const CUlaunchConfig *c, CUfunction f, void **params,
			 void **extra, int cooperative, struct emu_task **task);
CUresult emu_host_task(CUhostFn fn, void *data, struct emu_task **task);

/* api_pool.c: what was allocated from a pool is freed */
void emu_pool_freed(uint64_t ptr);

/* capture.c */
struct emu_capture;
/*
 * Called with every task on its way into a stream: 1 if a capture takes it
 * (the task is the capture's then, the result in *rc), 0 if it is to run.
 */
int emu_capture_take(struct CUstream_st *s, struct emu_task *t, CUresult *rc);
int emu_capturing(struct CUstream_st *s);
/* The context ends: its captures do. */
void emu_captures_end(struct CUctx_st *ctx);
/* An operation that a capture does not allow: CUDA_SUCCESS if the stream is in none. */
CUresult emu_capture_forbids(struct CUstream_st *s);

/* module.c */
CUresult emu_module_load(struct CUctx_st *ctx, const char *text, size_t len, struct CUmod_st **out,
			 struct gs_error *err);
void emu_module_free(struct CUmod_st *module);
CUresult emu_function_prepare(struct CUfunc_st *f, struct gs_error *err); /* decode */
struct emu_variable *emu_module_variable(struct CUmod_st *module, const char *name);
struct CUfunc_st *emu_module_function(struct CUmod_st *module, const char *name);

/* image.c: a module from what the program has in memory, or from a file's contents; the reason in
 * err */
CUresult emu_image_load(struct CUctx_st *ctx, const void *image, struct CUmod_st **out,
			struct gs_error *err);
CUresult emu_image_load_file(struct CUctx_st *ctx, const void *data, size_t len,
			     struct CUmod_st **out, struct gs_error *err);

/* fault.c */
CUresult emu_fault_result(const struct emu_grid *grid);

#define EMU_TRY(expr) \
	do { \
		CUresult rc_ = (expr); \
		if (rc_ != CUDA_SUCCESS) \
			return rc_; \
	} while (0)
/* Entry points that tell one value: checked first, and NULL for it is an error. */
#define EMU_GET(symbol, parameters, check, out, value) \
	CUresult CUDAAPI symbol parameters \
	{ \
		EMU_TRY(check); \
		if (!(out)) \
			return CUDA_ERROR_INVALID_VALUE; \
		*(out) = (value); \
		return CUDA_SUCCESS; \
	} \
	CUresult CUDAAPI symbol parameters
/* The same of the current context: ctx, entered by emu_enter or emu_enter_any. */
#define EMU_GET_OF_CTX(symbol, parameters, enter, out, value) \
	CUresult CUDAAPI symbol parameters \
	{ \
		struct CUctx_st *ctx; \
		EMU_TRY(enter(&ctx)); \
		if (!(out)) \
			return CUDA_ERROR_INVALID_VALUE; \
		*(out) = (value); \
		return CUDA_SUCCESS; \
	} \
	CUresult CUDAAPI symbol parameters
/* Another name of an entry point of the same file. */
#define EMU_ALIAS(symbol, of) \
	extern __typeof__(of) symbol __attribute__((alias(#of), visibility("default")))
#define EMU_KINDS_DEVICE (1u << EMU_MEM_DEVICE | 1u << EMU_MEM_MANAGED)
#define EMU_MAX_THREADS 1024
#define EMU_SM 90                  /* compute capability 9.0 */
#define EMU_SHARED_MAX (96u << 10) /* dynamic, opt-in, per block */
#define EMU_SHARED_DEFAULT (48u << 10)

#endif
