/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare.conf: what is read, and the words for what is not. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/config/config.h"
#include "gpushare/config/sched_options.h"
#include "gpushare/proto/msg.h"

#define GPU "Gpu=0 Memory=1G\n"

static struct gs_config *parse(const char *text, struct gs_error *err)
{
	return gs_config_parse("t.conf", text, strlen(text), err);
}

static int32_t priority_of(const struct gs_config *c, const char *partition, const char *qos,
			   uint32_t tier)
{
	return gs_config_priority(c, &(struct gs_config_who) { partition, qos, tier });
}

static uint32_t class_of(const struct gs_config *c, const char *partition, const char *qos,
			 uint32_t tier)
{
	return gs_config_class(c, &(struct gs_config_who) { partition, qos, tier });
}

/* The QOS's line, the partition's, the PriorityTier, 1: the first that says. */
static void qos_and_tiers(void **state)
{
	struct gs_error err;
	struct gs_config *c =
		parse("Gpu=0 Memory=1G\nClass=rush Priority=5\nClass=night Priority=-5\n"
		      "Partition=high Priority=10 Class=night\nPartition=mid MaxShares=50\n"
		      "qos=urgent Priority=100\nQOS=bulk Class=rush\n"
		      "QOS=idle Priority=0 Class=night\n",
		      &err);

	(void)state;
	assert_non_null(c);
	assert_int_equal(c->nqos, 3);
	assert_int_equal(priority_of(c, "high", "urgent", 8), 100);
	assert_int_equal(priority_of(c, "high", "idle", 8), 0);
	assert_int_equal(priority_of(c, "high", "bulk", 8), 10);
	assert_int_equal(priority_of(c, "high", "", 8), 10);
	assert_int_equal(priority_of(c, "mid", "bulk", 8), 7);
	assert_int_equal(priority_of(c, "other", "normal", 8), 7);
	assert_int_equal(priority_of(c, "other", "normal", 1), 0);
	assert_int_equal(priority_of(c, "other", "", 65534), 1000);
	assert_int_equal(priority_of(c, "other", "", 0), 1);
	assert_int_equal(class_of(c, "high", "urgent", 8), 2);
	assert_int_equal(class_of(c, "high", "bulk", 8), 1);
	assert_int_equal(class_of(c, "mid", "idle", 8), 2);
	assert_int_equal(class_of(c, "mid", "urgent", 8), 0);
	gs_config_free(c);
}

static void classes(void **state)
{
	struct gs_error err;
	struct gs_config *c =
		parse("Gpu=0 Memory=1G Policy=FRS\nGpu=1 Memory=1G\n"
		      "Class=interactive Priority=10 Policy=rr\n"
		      "Class=night Priority=-10\n"
		      "Partition=debug Class=interactive\nPartition=low Priority=3 Class=night\n"
		      "Partition=normal Priority=7\n",
		      &err);

	(void)state;
	assert_non_null(c);
	assert_string_equal(c->gpu[0].policy, "frs");
	assert_null(c->gpu[1].policy);
	assert_int_equal(c->nclass, 2);
	assert_string_equal(c->class[0].policy, "rr");
	assert_int_equal(c->class[0].priority, 10);
	assert_null(c->class[1].policy);
	assert_int_equal(c->class[1].priority, -10);
	assert_int_equal(class_of(c, "debug", "", 0), 1);
	assert_int_equal(class_of(c, "low", "", 0), 2);
	assert_int_equal(priority_of(c, "low", "", 0), 3);
	assert_int_equal(class_of(c, "normal", "", 0), 0);
	assert_int_equal(class_of(c, "nosuch", "", 0), 0);
	gs_config_free(c);
}

static void copies(void **state)
{
	struct gs_error err;
	struct gs_config *c = parse(GPU, &err);

	(void)state;
	assert_int_equal(c->copy_policy, 0);
	assert_true(c->copy_chunk == UINT64_MAX);
	gs_config_free(c);
	c = parse(GPU "CopyPolicy=Fair\nCopyChunk=512K\n", &err);
	assert_int_equal(c->copy_policy, 2);
	assert_int_equal(c->copy_chunk, 512 << 10);
	gs_config_free(c);
	c = parse(GPU "CopyPolicy=priority\nCopyChunk=no\n", &err);
	assert_int_equal(c->copy_policy, 1);
	assert_int_equal(c->copy_chunk, 0);
	gs_config_free(c);
}

static void isolation(void **state)
{
	struct gs_error err;
	struct gs_config *c = parse(GPU, &err);

	(void)state;
	assert_int_equal(c->isolation, GS_ISOLATION_CONTEXTS);
	assert_int_equal(c->handover_ns, 135000);
	assert_int_equal(c->overlap_ns, 8000);
	gs_config_free(c);
	/* What a hand-over costs follows, wherever the line stands. */
	c = parse(GPU "Isolation=MPS\n", &err);
	assert_int_equal(c->isolation, GS_ISOLATION_MPS);
	assert_string_equal(gs_isolation_name(c->isolation), "mps");
	assert_int_equal(c->handover_ns, 5000);
	assert_true(c->overlap_ns >= 1000000000);
	assert_string_equal(c->mps_dir, "/run/gpushare/mps");
	assert_int_equal(c->mps_terminate, 1);
	gs_config_free(c);
	c = parse("PolicyParameters=handover=7us,handover_lead=0\n" GPU
		  "Isolation=mps\nMpsTerminate=no\n",
		  &err);
	assert_int_equal(c->handover_ns, 7000);
	assert_int_equal(c->overlap_ns, 0);
	assert_int_equal(c->mps_terminate, 0);
	gs_config_free(c);
	assert_null(parse(GPU "Isolation=mig\n", &err));
	assert_string_equal(err.text, "t.conf:2: Isolation: 'mig' is none of contexts mps");
	assert_null(parse(GPU "MpsDir=mps\n", &err));
}

static void defaults(void **state)
{
	struct gs_error err;
	struct gs_config *c = parse(GPU, &err);

	(void)state;
	assert_non_null(c);
	assert_string_equal(c->socket, "/run/gpushare/gpushared.sock");
	assert_string_equal(c->pid_file, "");
	assert_string_equal(c->policy, "frs");
	assert_false(c->policy_given);
	assert_int_equal(c->log_level, GS_LOG_INFO);
	assert_int_equal(c->absent, GS_ABSENT_RUN);
	assert_int_equal(c->report_to_slurm, 1);
	assert_int_equal(c->min_quantum_ns, 1000000);
	assert_int_equal(c->handover_ns, 135000);
	assert_int_equal(c->starvation_ns, 0);
	assert_int_equal(c->evict_deadline_ns, 10000000000);
	assert_int_equal(c->ngpu, 1);
	assert_int_equal(c->gpu[0].shares, 100);
	assert_int_equal(c->gpu[0].memory, 1 << 30);
	assert_null(c->gpu[0].file);
	assert_string_equal(c->job_env, "");
	assert_int_equal(priority_of(c, "nobody", "", 0), 1);
	gs_config_free(c);
	gs_config_free(NULL);
}

/* The example that gpushare came with until 2026-11-26, but for Handover=; test_config_lists.c has
 * that. */
static void a_file_of_an_older_gpushare(void **state)
{
	static const char text[] =
		"Gpu=0 Memory=78G Shares=100 File=/dev/nvidia0\nGpu=1 Memory=78G Shares=100 File=/dev/nvidia1\n"
		"ContextMemory=600M\nPartition=low Priority=1\nPartition=high Priority=10\nPolicy=piv\n"
		"MemoryAdmission=rbdm\nEvictDeadline=10s\nEvictOverdue=kill\nDaemonAbsent=run\n";
	struct gs_error err;
	struct gs_config *c = parse(text, &err);

	(void)state;
	assert_non_null(c);
	/* It keeps the policy that it names, and what that makes of priorities. */
	assert_string_equal(c->policy, "piv");
	assert_false(gs_config_sched_options(c).by_priority);
	assert_int_equal(c->leave_most_ns, 300000);
	assert_false(gs_config_has_above(c, 0, 10));
	assert_true(gs_config_has_above(c, 0, 1));
	gs_config_free(c);
	c = parse(GPU "Partition=low Priority=1\n", &err);
	assert_true(gs_config_sched_options(c).by_priority);
	gs_config_free(c);
	c = parse(GPU "Class=night Priority=-5\n", &err);
	assert_false(gs_config_sched_options(c).by_priority);
	gs_config_free(c);
}

static void everything(void **state)
{
	static const char text[] =
		"# a comment\n\n"
		"  POLICY = FRS   # behind white space\r\n"
		"logfile=/var/log/a#b.log\n"
		"gpu=1 shares=50 memory=512M FILE=/dev/nvidia1\n"
		"Gpu=0\tMemory=2G\n"
		"Partition=high Priority=10\n"
		"Partition=low Priority=0 # last\n"
		"Partition=mid maxshares=50 DefaultShares=25\n"
		"Partition=cpu AllowGpushare=no\n"
		"NodeType=h200 Nodes=gpu[01-04,07] Memory=141G\n"
		"nodetype=a10 shares=50 memory=24G nodes=old1,old2\n"
		"JobEnv=A_1=x y=z\n"
		"JobEnv=B=\n"
		"DaemonAbsent=wait\nLogLevel=debug\nStarvationBound=2s\nAllowLocal=on";
	struct gs_error err;
	struct gs_config *c = parse(text, &err);

	(void)state;
	assert_non_null(c);
	assert_string_equal(c->policy, "frs");
	assert_string_equal(c->log_file, "/var/log/a#b.log");
	assert_int_equal(c->ngpu, 2);
	assert_ptr_equal(gs_config_gpu(c, 1), &c->gpu[0]);
	assert_string_equal(gs_config_gpu(c, 1)->file, "/dev/nvidia1");
	assert_int_equal(gs_config_gpu(c, 1)->shares, 50);
	assert_int_equal(gs_config_gpu(c, 0)->memory, UINT64_C(2) << 30);
	assert_null(gs_config_gpu(c, 2));
	assert_int_equal(priority_of(c, "high", "", 0), 10);
	assert_int_equal(priority_of(c, "low", "", 0), 0);
	assert_int_equal(priority_of(c, "mid", "", 0), 1);
	assert_int_equal(gs_config_partition(c, "mid")->max_shares, 50);
	assert_int_equal(gs_config_partition(c, "mid")->default_shares, 25);
	assert_int_equal(gs_config_partition(c, "mid")->allow, 1);
	assert_int_equal(gs_config_partition(c, "high")->max_shares, 0);
	assert_int_equal(gs_config_partition(c, "cpu")->allow, 0);
	assert_null(gs_config_partition(c, "nobody"));
	assert_int_equal(c->nnode_type, 2);
	assert_string_equal(c->node_type[0].name, "h200");
	assert_string_equal(c->node_type[0].nodes, "gpu[01-04,07]");
	assert_int_equal(c->node_type[0].memory, UINT64_C(141) << 30);
	assert_int_equal(c->node_type[0].shares, 100);
	assert_string_equal(c->node_type[1].nodes, "old1,old2");
	assert_int_equal(c->node_type[1].shares, 50);
	assert_string_equal(c->job_env, "A_1=x y=z\nB=\n");
	assert_int_equal(c->absent, GS_ABSENT_WAIT);
	assert_int_equal(c->log_level, GS_LOG_DEBUG);
	assert_int_equal(c->starvation_ns, 2000000000);
	assert_int_equal(c->allow_local, 1);
	gs_config_free(c);
}

static void bad_lines_are_named(void **state)
{
	static const struct {
		const char *text, *want;
	} bad[] = {
		{ "", "t.conf:1: no Gpu= line and no NodeType= line" },
		{ GPU "Polices=frs\n", "t.conf:2: unknown key 'Polices'" },
		{ GPU "Policy=frs\npolicy=piv\n", "t.conf:3: Policy is given twice" },
		{ GPU "Policy=fast\n",
		  "t.conf:2: Policy: 'fast' is not a policy: choose one of fifo" },
		{ GPU "Policy=frs#x\n", "t.conf:2: Policy: 'frs#x' is not a policy" },
		{ GPU "Socket=run/x\n", "t.conf:2: Socket: 'run/x' is not an absolute path" },
		{ GPU "Socket=\n", "t.conf:2: Socket: '' is not an absolute path" },
		{ GPU "MemoryAdmission=lifo\n",
		  "t.conf:2: MemoryAdmission: 'lifo' is none of rbdm rbdm-strict fcfs" },
		{ GPU "MeasureHandover=start\n",
		  "t.conf:2: the key MeasureHandover is gone; write instead: nothing: what a hand-over costs is learned from PolicyParameters=handover=... on, while jobs run" },
		{ GPU "PolicyParameters=handover=5 parsecs\n",
		  "t.conf:2: PolicyParameters: handover: " },
		{ GPU "PolicyParameters=rr_quantum=2ms,min_quantum=0\n",
		  "t.conf:2: PolicyParameters: min_quantum: '0': must be longer than zero" },
		{ GPU "PolicyParameters=quantum=1ms\n",
		  "t.conf:2: PolicyParameters: unknown parameter 'quantum'" },
		{ GPU "PolicyParameters=wake=fifo\n",
		  "t.conf:2: PolicyParameters: unknown parameter 'wake'" },
		{ GPU "PolicyParameters=policy=rr\n",
		  "t.conf:2: PolicyParameters: unknown parameter 'policy'" },
		{ GPU "PolicyParameters=rr_quantum\n",
		  "t.conf:2: PolicyParameters: 'rr_quantum' is not parameter=value" },
		{ GPU "PolicyParameters=rr_quantum=1ms,\n",
		  "t.conf:2: PolicyParameters: '' is not parameter=value" },
		{ GPU "PolicyParameters=rr_quantum=1ms,,cfs_epoch=2ms\n",
		  "t.conf:2: PolicyParameters: '' is not parameter=value" },
		{ GPU "PolicyParameters=rr_quantum=1ms,RR_quantum=2ms\n",
		  "t.conf:2: PolicyParameters: rr_quantum is given twice" },
		{ GPU "PolicyParameters=\nPolicyParameters=\n",
		  "t.conf:3: PolicyParameters is given twice" },
		{ GPU "PolicyParameters=eviction_signal=smoke\n",
		  "t.conf:2: PolicyParameters: eviction_signal: 'smoke' is none of auto proxy memop dma" },
		{ GPU "MemoryParameters=cycle=0\n",
		  "t.conf:2: MemoryParameters: cycle: '0': must be longer than zero" },
		{ GPU "MemoryParameters=rr_quantum=1ms\n",
		  "t.conf:2: MemoryParameters: unknown parameter 'rr_quantum'" },
		{ GPU "MemoryParameters=margin=1001\n",
		  "t.conf:2: MemoryParameters: margin: 1001 is not between" },
		{ GPU "rr_quantum=1ms\n", "t.conf:2: unknown key 'rr_quantum'" },
		{ GPU "ReportToSlurm=maybe\n", "t.conf:2: ReportToSlurm: 'maybe' is neither" },
		{ GPU "DaemonAbsent=panic\n",
		  "t.conf:2: DaemonAbsent: 'panic' is none of run wait fail" },
		{ GPU "LogLevel=loud\n", "t.conf:2: LogLevel: 'loud' is neither" },
		{ GPU "nonsense\n", "t.conf:2: 'nonsense' is not Key=Value" },
		{ GPU GPU, "t.conf:2: GPU 0 is described twice" },
		{ "Gpu=0\n", "t.conf:1: GPU 0 has no Memory=" },
		{ "Gpu=x Memory=1G\n", "t.conf:1: 'x' is not a whole number" },
		{ "Gpu=-1 Memory=1G\n", "t.conf:1: -1 is not between 0 and 1023" },
		{ "Gpu=0 Memory=1Q\n", "t.conf:1: '1Q': unknown unit" },
		{ "Gpu=0 Memory=1G Memory=1G\n", "t.conf:1: Memory is given twice" },
		{ "Gpu=0 Memory=1G Shares=0\n", "t.conf:1: 0 is not between 1" },
		{ "Gpu=0 Memory=1G Cores=1\n", "t.conf:1: a Gpu line has no 'Cores'" },
		{ "Gpu=0 Memory=1G File=x\n", "t.conf:1: File: 'x' is not an absolute path" },
		{ "Gpu=0 Memory=1G quick\n", "t.conf:1: 'quick' is not Name=Value" },
		{ GPU "Partition=a\n", "t.conf:2: the line says nothing about partition 'a'" },
		{ GPU "Partition=a MaxShares=0\n", "t.conf:2: 0 is not between 1 and 1000000" },
		{ GPU "Partition=a MaxShares=5 maxshares=6\n",
		  "t.conf:2: MaxShares is given twice" },
		{ GPU "Partition=a AllowGpushare=no AllowGpushare=no\n",
		  "t.conf:2: AllowGpushare is given twice" },
		{ GPU "Partition=a AllowGpushare=maybe\n", "t.conf:2: " },
		{ GPU "Partition=a MaxShares=5 DefaultShares=6\n",
		  "t.conf:2: DefaultShares=6 is more than MaxShares=5" },
		{ GPU "Partition=a DefaultShares=6 AllowGpushare=no\n",
		  "t.conf:2: AllowGpushare=no beside" },
		{ "NodeType=a Memory=1G\n", "t.conf:1: node type 'a' has no Nodes=" },
		{ "NodeType=a Nodes=n1\n", "t.conf:1: node type 'a' has no Memory=" },
		{ "NodeType= Nodes=n1 Memory=1G\n", "t.conf:1: '' is not a node type's name" },
		{ "NodeType=a Nodes= Memory=1G\n", "t.conf:1: Nodes names no node" },
		{ "NodeType=a Nodes=n1 Nodes=n2 Memory=1G\n", "t.conf:1: Nodes is given twice" },
		{ "NodeType=a Nodes=n1 Memory=1G Memory=1G\n", "t.conf:1: Memory is given twice" },
		{ "NodeType=a Nodes=n1 Memory=1G File=/dev/null\n",
		  "t.conf:1: a NodeType line has no 'File'" },
		{ "NodeType=a Nodes=n1 Memory=1G\nNodeType=a Nodes=n2 Memory=1G\n",
		  "t.conf:2: node type 'a' is described twice" },
		{ GPU "Partition= Priority=1\n", "t.conf:2: '' is not a partition's name" },
		{ GPU "Partition=a Priority=1001\n", "t.conf:2: 1001 is not between 0 and 1000" },
		{ GPU "Partition=a Class=x\n", "t.conf:2: class 'x' has no Class= line above" },
		{ GPU "Class=x Priority=1\nPartition=a Class=x Class=x\n",
		  "t.conf:3: Class is given twice" },
		{ GPU "Class=x\n", "t.conf:2: class 'x' has no Priority=" },
		{ GPU "Class= Priority=1\n", "t.conf:2: '' is not a class's name" },
		{ GPU "Class=x Priority=1001\n", "t.conf:2: 1001 is not between -1000 and 1000" },
		{ GPU "Class=x Priority=1 Policy=nosuch\n", "t.conf:2: 'nosuch' is not a policy" },
		{ GPU "Class=x Priority=1 Policy=rr Policy=rr\n",
		  "t.conf:2: a Class line has one Priority" },
		{ GPU "Class=x Priority=1 Shares=3\n", "t.conf:2: a Class line has one Priority" },
		{ GPU "Class=x Priority=1\nClass=x Priority=1\n",
		  "t.conf:3: class 'x' is described twice" },
		{ "Gpu=0 Memory=1G Policy=nosuch\n", "t.conf:1: 'nosuch' is not a policy" },
		{ "Gpu=0 Memory=1G Policy=rr Policy=rr\n", "t.conf:1: Policy is given twice" },
		{ GPU "PolicyParameters=quantum_handovers=1001\n",
		  "t.conf:2: PolicyParameters: quantum_handovers: 1001 is not between" },
		{ GPU "Partition=a Priority=1 Priority=2\n", "t.conf:2: Priority is given twice" },
		{ GPU "QOS=a\n", "t.conf:2: the line says nothing about QOS 'a'" },
		{ GPU "CopyPolicy=edf\n",
		  "t.conf:2: CopyPolicy: 'edf' is none of no priority fair" },
		{ GPU "CopyChunk=32K\n", "t.conf:2: CopyChunk: '32K' is not between 64K and 1G" },
		{ GPU "CopyChunk=2G\n", "t.conf:2: CopyChunk: '2G' is not between 64K and 1G" },
		{ GPU "QOS= Priority=1\n", "t.conf:2: '' is not a QOS's name" },
		{ GPU "QOS=a Priority=-1\n", "t.conf:2: -1 is not between 0 and 1000" },
		{ GPU "QOS=a Priority=1 Priority=2\n", "t.conf:2: Priority is given twice" },
		{ GPU "QOS=a Priority=1\nqos=a Priority=2\n",
		  "t.conf:3: QOS 'a' is described twice" },
		{ GPU "QOS=a Class=x\n", "t.conf:2: class 'x' has no Class= line above" },
		{ GPU "QOS=a Policy=frs\n",
		  "t.conf:2: a policy is a class's: Class=... Policy=frs" },
		{ GPU "QOS=a MaxShares=5\n", "t.conf:2: a QOS line has no 'MaxShares'" },
		{ GPU "Partition=a Weight=1\n", "t.conf:2: a Partition line has no 'Weight'" },
		{ GPU "Partition=a Priority=1\nPartition=a Priority=2\n",
		  "t.conf:3: partition 'a' is described twice" },
		{ GPU "JobEnv=NOVALUE\n", "t.conf:2: 'NOVALUE' is not NAME=VALUE" },
		{ GPU "JobEnv=1A=x\n", "t.conf:2: '1A=x' is not NAME=VALUE" },
		{ GPU "JobEnv=A-B=x\n", "t.conf:2: 'A-B=x': a name has letters" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct gs_error err;

		if (parse(bad[i].text, &err))
			fail_msg("accepted: %s", bad[i].text);
		if (strncmp(err.text, bad[i].want, strlen(bad[i].want)) != 0)
			fail_msg("'%s' instead of '%s'", err.text, bad[i].want);
	}
}

static void sizes_are_bounded(void **state)
{
	char text[8192], value[300];
	struct gs_error err;
	int n;

	(void)state;
	memset(value, 'v', sizeof(value));
	value[299] = '\0';
	snprintf(text, sizeof(text), GPU "LogFile=%s\n", value);
	assert_null(parse(text, &err));
	assert_non_null(strstr(err.text, "t.conf:2: LogFile: the value is longer than 255"));
	n = snprintf(text, sizeof(text), GPU);
	memset(text + n, ' ', 2000);
	text[n + 2000] = '\0';
	assert_null(parse(text, &err));
	assert_non_null(strstr(err.text, "t.conf:2: a line of more than"));
	assert_null(gs_config_parse("t.conf", "Gpu=0\0 Memory=1G", 16, &err));
	assert_non_null(strstr(err.text, "NUL"));
	n = snprintf(text, sizeof(text), GPU);
	for (int i = 1; i < 17; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "Gpu=%d Memory=1G\n", i);
	assert_null(parse(text, &err));
	assert_string_equal(err.text, "t.conf:17: more than 16 GPUs");
	value[250] = '\0';
	n = snprintf(text, sizeof(text), GPU);
	for (int i = 0; i < 5; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "JobEnv=A%d=%s\n", i, value);
	assert_null(parse(text, &err));
	assert_non_null(strstr(err.text, "t.conf:5: the JobEnv lines together exceed 895"));
}

static void files(void **state)
{
	char path[] = "conf-XXXXXX";
	int fd = mkstemp(path);
	struct gs_config *c;
	struct gs_error err;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, GPU, strlen(GPU)), strlen(GPU));
	c = gs_config_load(path, &err);
	assert_non_null(c);
	gs_config_free(c);
	assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
	assert_null(gs_config_load(path, &err));
	assert_non_null(strstr(err.text, "larger than"));
	close(fd);
	unlink(path);
	assert_null(gs_config_load(path, &err));
	assert_non_null(strstr(err.text, "cannot open: No such file"));
}

/* An instance is refused as a whole, or by a name that nobody takes for a GPU's. */
static void instances(void **state)
{
	struct gs_error err;
	struct gs_config *c;

	(void)state;
	assert_null(parse("Gpu=0 Memory=1G Uuid=MIG-1\n", &err));
	assert_non_null(
		strstr(err.text, "GPU 0 is a MIG instance, and gpushare shares whole GPUs"));
	assert_null(parse("Gpu=0 Memory=1G File=/dev/nvidia-caps/nvidia-cap21\n", &err));
	assert_non_null(strstr(err.text, "GPU 0 is a MIG instance"));
	assert_null(parse("Mig=unverified\nGpu=0 Memory=1G File=/dev/nvidia-caps/nvidia-cap21\n",
			  &err));
	assert_non_null(strstr(err.text, "its line needs Uuid=MIG-..."));
	assert_null(parse("Mig=unverified\nGpu=0 Memory=1G Uuid=GPU-1 "
			  "File=/dev/nvidia-caps/nvidia-cap21\n",
			  &err));
	assert_non_null(strstr(err.text, "its line needs Uuid=MIG-..."));
	assert_null(parse("Gpu=0 Memory=1G Uuid=0\n", &err));
	assert_non_null(strstr(err.text, "t.conf:1: Uuid: '0' is none"));
	assert_null(parse("Gpu=0 Memory=1G Uuid=GPU-1 Uuid=GPU-1\n", &err));
	assert_null(parse(GPU "Mig=yes\n", &err));
	/* The key may come behind the line. */
	c = parse("Gpu=0 Memory=1G Uuid=MIG-1\nMig=unverified\n", &err);
	assert_non_null(c);
	assert_string_equal(c->gpu[0].uuid, "MIG-1");
	assert_true(gs_config_is_instance(&c->gpu[0]));
	gs_config_free(c);
	c = parse("Gpu=0 Memory=1G File=/dev/nvidia0 Uuid=GPU-1\n", &err);
	assert_non_null(c);
	assert_false(gs_config_is_instance(&c->gpu[0]));
	gs_config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instances),
		cmocka_unit_test(classes),
		cmocka_unit_test(qos_and_tiers),
		cmocka_unit_test(copies),
		cmocka_unit_test(isolation),
		cmocka_unit_test(defaults),
		cmocka_unit_test(a_file_of_an_older_gpushare),
		cmocka_unit_test(everything),
		cmocka_unit_test(bad_lines_are_named),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
