// SPDX-License-Identifier: GPL-2.0-or-later
// Two processes on one GPU, in contexts of their own: how long a graph of short kernels takes beside a process whose streams wait for a
// word between their kernels, when that word stops them and when it does not. Without gpushare. stream_waits_gpu.sh runs it.
//
// usage: stream_waits low FILE plain|waits US AHEAD   kernels of US us on all multiprocessors, AHEAD of them queued, until FILE says stop
//        stream_waits high FILE 0|1 COUNT             1: closes the word while the graph runs
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MUST(call) \
	do { \
		int rc_ = (int)(call); \
		if (rc_) { \
			fprintf(stderr, "stream_waits.cu:%d: %s: error %d\n", __LINE__, #call, rc_); \
			exit(1); \
		} \
	} while (0)

struct page { // FILE, in /dev/shm: the driver registers no other files
	volatile unsigned open, stop, ready;
};

enum { THREADS = 256, LOW_BLOCKS = 1056, HIGH_BLOCKS = 132, GRAPH_KERNELS = 20, GRAPH_US = 60 };
static const double PERIOD_MS = 8;

__global__ void spin(long long ns)
{
	long long from, now;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(from));
	do
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	while (now - from < ns);
}

static double now_ms()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static page *map_page(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);

	MUST(fd < 0 || ftruncate(fd, 4096));
	page *p = (page *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p == MAP_FAILED);
	return p;
}

static void low(page *p, bool waits, long us, size_t ahead)
{
	std::vector<cudaEvent_t> ended(ahead);
	cudaStream_t stream;
	CUdeviceptr word;
	size_t n = 0;

	MUST(cudaFree(0));
	MUST(cuMemHostRegister((void *)p, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
	MUST(cuMemHostGetDevicePointer(&word, (void *)p, 0));
	MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (auto &e : ended)
		MUST(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	spin<<<LOW_BLOCKS, THREADS, 0, stream>>>(1000);
	MUST(cudaStreamSynchronize(stream));
	p->ready = 1;
	double from = now_ms();
	for (; !p->stop; n++) {
		if (n >= ahead)
			MUST(cudaEventSynchronize(ended[n % ahead]));
		if (waits)
			MUST(cuStreamWaitValue32((CUstream)stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
		spin<<<LOW_BLOCKS, THREADS, 0, stream>>>(us * 1000);
		MUST(cudaEventRecord(ended[n % ahead], stream));
	}
	MUST(cudaStreamSynchronize(stream));
	printf("low computes %.3f of the time\n", (double)n * (double)us / 1e3 / (now_ms() - from));
}

static void high(page *p, bool closes, size_t count)
{
	std::vector<double> took;
	cudaGraphExec_t run;
	cudaStream_t stream;
	cudaGraph_t graph;

	MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < GRAPH_KERNELS; i++)
		spin<<<HIGH_BLOCKS, THREADS, 0, stream>>>(GRAPH_US * 1000);
	MUST(cudaStreamEndCapture(stream, &graph));
	MUST(cudaGraphInstantiate(&run, graph, 0));
	MUST(cudaGraphLaunch(run, stream));
	MUST(cudaStreamSynchronize(stream));
	for (double next = now_ms() + PERIOD_MS; took.size() < count; next += PERIOD_MS) {
		while (now_ms() < next)
			usleep(50);
		double from = now_ms();
		if (closes)
			p->open = 0;
		MUST(cudaGraphLaunch(run, stream));
		MUST(cudaStreamSynchronize(stream));
		if (closes)
			p->open = 1;
		took.push_back(now_ms() - from);
	}
	std::sort(took.begin(), took.end());
	printf("%.3f,%.3f,%.3f\n", took[count / 2], took[count * 99 / 100], took[count - 1]);
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "low"))
		low(map_page(argv[2]), !strcmp(argv[3], "waits"), atol(argv[4]), (size_t)atol(argv[5]));
	else if (argc == 5 && !strcmp(argv[1], "high"))
		high(map_page(argv[2]), atoi(argv[3]) != 0, (size_t)atol(argv[4]));
	else
		return fprintf(stderr, "usage: see the head of stream_waits.cu\n"), 2;
	return 0;
}
