/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of the driver API's binary interface that our header must get
 * right, as one table; compiled once with our header and once with the vendor's.
 */
#ifndef GPUSHARE_TEST_EMU_ABI_H
#define GPUSHARE_TEST_EMU_ABI_H

#include <stddef.h>

struct abi_fact {
	const char *name;
	long long value;
};

#define V(x) { #x, (long long)(x) },
#define SIZE(t) { "sizeof " #t, (long long)sizeof(t) },
#define AT(t, m) { #t "." #m, (long long)offsetof(t, m) },
#define ABI_FACTS \
	SIZE(CUdeviceptr) \
	SIZE(CUdevice) \
	SIZE(CUuuid) \
	SIZE(CUresult) \
	SIZE(CUlaunchConfig) AT(CUlaunchConfig, sharedMemBytes) AT(CUlaunchConfig, hStream) AT( \
		CUlaunchConfig, attrs) AT(CUlaunchConfig, \
					  numAttrs) SIZE(CUlaunchAttribute) AT(CUlaunchAttribute, \
									       value) \
		SIZE(CUlaunchAttributeValue) AT(CUlaunchAttribute, value.clusterDim.z) AT( \
			CUlaunchAttribute, \
			value.cooperative) AT(CUlaunchAttribute, \
					      value.priority) SIZE(CUstreamBatchMemOpParams) \
			AT(CUstreamBatchMemOpParams, waitValue.address) AT( \
				CUstreamBatchMemOpParams, \
				waitValue.value) AT(CUstreamBatchMemOpParams, waitValue.value64) \
				AT(CUstreamBatchMemOpParams, waitValue.flags) AT( \
					CUstreamBatchMemOpParams, \
					writeValue.alias) AT(CUstreamBatchMemOpParams, \
							     memoryBarrier.flags) \
					SIZE(CUDA_MEMCPY2D) AT(CUDA_MEMCPY2D, srcMemoryType) AT( \
						CUDA_MEMCPY2D, srcDevice) AT(CUDA_MEMCPY2D, \
									     srcPitch) \
						AT(CUDA_MEMCPY2D, dstMemoryType) AT( \
							CUDA_MEMCPY2D, \
							dstHost) AT(CUDA_MEMCPY2D, \
								    dstDevice) AT(CUDA_MEMCPY2D, \
										  dstPitch) \
							AT(CUDA_MEMCPY2D, \
							   WidthInBytes) AT(CUDA_MEMCPY2D, Height) \
								V(CU_STREAM_WAIT_VALUE_GEQ) V( \
									CU_STREAM_WAIT_VALUE_EQ) \
									V(CU_STREAM_WAIT_VALUE_AND) \
										V(CU_STREAM_WAIT_VALUE_NOR) \
											V(CU_STREAM_WAIT_VALUE_FLUSH) \
												V(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) \
													V(CU_STREAM_MEM_OP_WAIT_VALUE_32) \
														V(CU_STREAM_MEM_OP_WRITE_VALUE_32) \
															V(CU_STREAM_MEM_OP_WAIT_VALUE_64) \
																V(CU_STREAM_MEM_OP_WRITE_VALUE_64) \
																	V( \
																		CU_STREAM_MEM_OP_BARRIER) V(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES) V(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) V(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) V(CU_FUNC_ATTRIBUTE_NUM_REGS) V(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) V(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) V(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE) V(CU_JIT_ERROR_LOG_BUFFER) V(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) V(CU_JIT_INFO_LOG_BUFFER) V(CU_JIT_TARGET) V(CU_JIT_NUM_OPTIONS) V(CU_LIMIT_STACK_SIZE) V(CU_LIMIT_PRINTF_FIFO_SIZE) V(CU_LIMIT_MALLOC_HEAP_SIZE) V(CU_LIMIT_MAX) V(CU_POINTER_ATTRIBUTE_CONTEXT) V(CU_POINTER_ATTRIBUTE_MEMORY_TYPE) V(CU_POINTER_ATTRIBUTE_IS_MANAGED) V(CU_POINTER_ATTRIBUTE_RANGE_SIZE) V(CU_POINTER_ATTRIBUTE_MAPPED) V(CU_LAUNCH_ATTRIBUTE_COOPERATIVE) V(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) V(CU_LAUNCH_ATTRIBUTE_PRIORITY) V(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) V(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) V(CU_CTX_SCHED_BLOCKING_SYNC) V(CU_CTX_MAP_HOST) V(CU_CTX_FLAGS_MASK) V(CU_STREAM_NON_BLOCKING) V(CU_EVENT_DISABLE_TIMING) \
																		V(CU_EVENT_INTERPROCESS) V(CU_MEM_ATTACH_GLOBAL) V(CU_MEMORYTYPE_HOST) V( \
																			CU_MEMORYTYPE_UNIFIED) V(CU_FUNC_CACHE_PREFER_EQUAL) \
																			V(CU_MODULE_LAZY_LOADING) V(CU_FUNCTION_LOADING_STATE_LOADED) V(CU_LIBRARY_BINARY_IS_PRESERVED) V(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) \
																				V(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT) \
																					V( \
																						CU_STREAM_CAPTURE_STATUS_ACTIVE) V(CU_MEMHOSTALLOC_DEVICEMAP) V(CU_MEMHOSTREGISTER_READ_ONLY) V(CU_LAUNCH_PARAM_END) V(CU_LAUNCH_PARAM_BUFFER_POINTER) SIZE(CUDA_MEMCPY3D) AT(CUDA_MEMCPY3D, \
																																											      srcArray) AT(CUDA_MEMCPY3D, \
																																													   srcHeight) AT(CUDA_MEMCPY3D, \
																																															 dstDevice) AT(CUDA_MEMCPY3D, Depth) SIZE(CUDA_ARRAY_DESCRIPTOR) SIZE(CUDA_ARRAY3D_DESCRIPTOR) AT(CUDA_ARRAY3D_DESCRIPTOR, Flags) SIZE(CUDA_RESOURCE_DESC) AT(CUDA_RESOURCE_DESC, \
																																																																		      res.pitch2D \
																																																																			      .pitchInBytes) AT(CUDA_RESOURCE_DESC, flags) SIZE(CUDA_TEXTURE_DESC) AT(CUDA_TEXTURE_DESC, flags) AT(CUDA_TEXTURE_DESC, borderColor) V(CU_AD_FORMAT_HALF) V(CU_AD_FORMAT_FLOAT) V(CU_TR_ADDRESS_MODE_BORDER) V(CU_TRSF_NORMALIZED_COORDINATES) V(CU_TRSF_SRGB) V(CUDA_ARRAY3D_LAYERED) V(CUDA_ARRAY3D_SURFACE_LDST) V(CU_RESOURCE_TYPE_PITCH2D) SIZE(CUDA_KERNEL_NODE_PARAMS) AT(CUDA_KERNEL_NODE_PARAMS, \
																																																																																																																	       kern) SIZE(CUDA_MEMSET_NODE_PARAMS) AT(CUDA_MEMSET_NODE_PARAMS, \
																																																																																																																						      width) SIZE(CUDA_HOST_NODE_PARAMS) SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS) SIZE(CUgraphEdgeData) SIZE(CUgraphExecUpdateResultInfo) V(CU_GRAPH_NODE_TYPE_EVENT_RECORD) \
																						V(CU_GRAPH_NODE_TYPE_CONDITIONAL) V(CU_STREAM_CAPTURE_MODE_RELAXED) SIZE(CUmemAllocationProp) AT(CUmemAllocationProp, location) AT(CUmemAllocationProp, \
																																						   allocFlags) SIZE(CUmemAccessDesc) SIZE(CUmemPoolProps) AT(CUmemPoolProps, \
																																													     maxSize) V(CU_MEMPOOL_ATTR_USED_MEM_HIGH) SIZE(CUipcMemHandle) V(CU_JIT_INPUT_LIBRARY) SIZE(CUcheckpointLockArgs) SIZE(CUcheckpointRestoreArgs) AT(CUcheckpointRestoreArgs, \
																																																																reserved1) \
																							V(CU_PROCESS_STATE_FAILED) V(CU_LAUNCH_PARAM_BUFFER_SIZE) V(CU_STREAM_LEGACY) V( \
																								CU_STREAM_PER_THREAD) \
																								V(CU_DEVICE_INVALID)

extern const struct abi_fact abi_ours[], abi_vendors[];

#endif
