/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The facts of the Runtime API's binary interface that our header must get right; see emu_abi.h. */
#ifndef GPUSHARE_TEST_CUDART_ABI_H
#define GPUSHARE_TEST_CUDART_ABI_H

#include <stddef.h>

struct abi_fact {
	const char *name;
	long long value;
};

#define V(x) { #x, (long long)(x) },
#define SIZE(t) { "sizeof " #t, (long long)sizeof(t) },
#define AT(t, m) { #t "." #m, (long long)offsetof(t, m) },
#define PROP(m) AT(struct cudaDeviceProp, m)
#define ABI_FACTS \
	SIZE(dim3) \
	SIZE(struct cudaChannelFormatDesc) \
	AT(struct cudaChannelFormatDesc, f) \
	SIZE(struct cudaPitchedPtr) \
	AT(struct cudaPitchedPtr, ysize) SIZE(struct cudaExtent) SIZE(struct cudaMemcpy3DParms) AT( \
		struct cudaMemcpy3DParms, \
		dstArray) AT(struct cudaMemcpy3DParms, \
			     extent) AT(struct cudaMemcpy3DParms, \
					kind) SIZE(struct \
						   cudaMemsetParams) AT(struct cudaMemsetParams, \
									width) SIZE(struct \
										    cudaKernelNodeParams) \
		AT(struct cudaKernelNodeParams, extra) SIZE(struct cudaHostNodeParams) SIZE( \
			struct \
			cudaPointerAttributes) AT(struct cudaPointerAttributes, \
						  hostPointer) SIZE(struct cudaFuncAttributes) \
			AT(struct cudaFuncAttributes, nonPortableClusterSizeAllowed) SIZE( \
				struct \
				cudaResourceDesc) AT(struct cudaResourceDesc, \
						     res.pitch2D \
							     .pitchInBytes) AT(struct \
									       cudaResourceDesc, \
									       res.linear \
										       .sizeInBytes) \
				SIZE(struct cudaTextureDesc) AT(struct cudaTextureDesc, borderColor) AT( \
					struct cudaTextureDesc, \
					normalizedCoords) AT(struct cudaTextureDesc, \
							     seamlessCubemap) SIZE(cudaLaunchConfig_t) \
					AT(cudaLaunchConfig_t, attrs) SIZE(struct cudaDeviceProp) PROP( \
						totalGlobalMem) PROP(warpSize) PROP(maxGridSize) \
						PROP(minor) PROP(multiProcessorCount) PROP( \
							surfaceAlignment) PROP(concurrentKernels) \
							PROP(sharedMemPerMultiprocessor) PROP( \
								cooperativeLaunch) PROP(sharedMemPerBlockOptin) \
								PROP(reservedSharedMemPerBlock) PROP( \
									memoryPoolsSupported) PROP(clusterLaunch) \
									PROP(hostNumaId) PROP( \
										hostNumaMultinodeIpcSupported) \
										V(cudaMemcpyHostToDevice) V( \
											cudaMemcpyDefault) \
											V(cudaMemoryTypeManaged) \
												V(cudaChannelFormatKindFloat)

extern const struct abi_fact abi_ours[], abi_vendors[];

#endif
