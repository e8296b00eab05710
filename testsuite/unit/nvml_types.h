/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structures and numbers of NVML's interface, for the tests that ask it and the one that answers.
 */
#ifndef GPUSHARE_TESTSUITE_NVML_TYPES_H
#define GPUSHARE_TESTSUITE_NVML_TYPES_H

#define NVML_SUCCESS 0
#define NVML_ERROR_NOT_SUPPORTED 3
#define NVML_ERROR_NOT_FOUND 6
#define NVML_ERROR_INSUFFICIENT_SIZE 7

/* The table's name, and where its functions are: what nvidia-smi of driver 580 asks for. */
#define NVML_TABLE_ID "\xc4\xfe\x3e\x6c\xc9\x8f\x6c\x4e\xa3\x27\xee\x69\x6e\x12\xf7\xc4"
#define NVML_TABLE_COMPUTE 0x6a8
#define NVML_TABLE_GRAPHICS 0x6b0
#define NVML_TABLE_MPS 0x6b8

struct process_v1 {
	unsigned int pid;
	unsigned long long bytes;
};
/* Of the second and the third version of the functions. */
struct process_info {
	unsigned int pid;
	unsigned long long bytes;
	unsigned int gpu_instance, compute_instance;
};
struct memory_info {
	unsigned long long total, free, used;
};
struct memory_info_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};
struct utilization {
	unsigned int gpu, memory;
};
struct accounting {
	unsigned int gpu, memory;
	unsigned long long most_bytes, ms, since;
	unsigned int running, reserved[5];
};
struct field_value {
	unsigned int field, scope;
	long long at_us, latency_us;
	unsigned int type;
	int rc;
	unsigned long long value;
};
/* Of the functions in the table that nvidia-smi uses; it is so long with the process's name. */
struct table_entry {
	unsigned int pid;
	unsigned long long bytes;
	char rest[4112];
};
struct sample {
	unsigned int pid;
	unsigned long long at_us;
	unsigned int sm, memory, encoder, decoder;
};

#endif
