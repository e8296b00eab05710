# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels of libraries that take long, run again and again, and their results compared bit by bit.

usage: library_kernels.py reference FILE RUNS
       library_kernels.py compare FILE RUNS LABEL [KERNELS]

reference: natively; FILE gets each one's result, as a sum over its bits, and time.
compare: again, perhaps under gpushare and evicted; KERNELS gets `gpusharectl kernels --json` before the program ends.
environment: ONLY="norm 2^30,argmax 2^30", only these (reference)
Prints a line for each: label, what, runs, wrong results, ms of one, ms natively.
"""
import json
import os
import subprocess
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import torch  # noqa: E402

WARM, BUILD = 4, 6  # launches before it counts; and until its variant is ready
F = torch.nn.functional
made = {}


def what(name):
    def add(make):
        made[name] = make
        return make
    return add


def rand(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda").to(dtype)


def product(n, dtype, tf32=False, turned=""):
    a, b = rand(n, n, dtype=dtype), rand(n, n, dtype=dtype)
    a, b = a.T if "a" in turned else a, b.T if "b" in turned else b

    def run():
        torch.backends.cuda.matmul.allow_tf32 = tf32
        return a @ b
    return run


what("cuBLAS fp32 6144")(lambda: product(6144, torch.float32))
what("cuBLAS fp32 6144 a turned")(lambda: product(6144, torch.float32, turned="a"))
what("cuBLAS fp32 6144 b turned")(lambda: product(6144, torch.float32, turned="b"))
what("cuBLAS fp64 4096")(lambda: product(4096, torch.float64))
what("cuBLAS fp64 4096 a turned")(lambda: product(4096, torch.float64, turned="a"))
what("cuBLAS fp64 4096 b turned")(lambda: product(4096, torch.float64, turned="b"))
what("cuBLAS complex64 4096")(lambda: product(4096, torch.complex64))
what("cuBLAS complex128 2048")(lambda: product(2048, torch.complex128))
what("cuBLAS tf32 8192")(lambda: product(8192, torch.float32, True))
what("cuBLAS bf16 8192")(lambda: product(8192, torch.bfloat16))


@what("cuDNN convolution fp32")
def _():
    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic = False, True
    x, w = rand(64, 128, 96, 96), rand(256, 128, 3, 3)
    return lambda: F.conv2d(x, w, padding=1)


@what("cuDNN convolution fp32 backward")
def _():
    x, w = rand(32, 128, 64, 64).requires_grad_(), rand(128, 128, 3, 3).requires_grad_()
    y = F.conv2d(x, w, padding=1)
    g = rand(*y.shape)
    return lambda: torch.autograd.grad(y, (x, w), g, retain_graph=True)


@what("cuDNN convolution fp32 5 x 5")
def _():
    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic = False, True
    x, w = rand(32, 64, 96, 96), rand(128, 64, 5, 5)
    return lambda: F.conv2d(x, w, padding=2)


@what("cuDNN convolution fp32 3D")
def _():
    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic = False, True
    x, w = rand(8, 32, 32, 64, 64), rand(64, 32, 3, 3, 3)
    return lambda: F.conv3d(x, w, padding=1)


@what("attention bf16")
def _():
    q = rand(8, 16, 4096, 64, dtype=torch.bfloat16)
    return lambda: F.scaled_dot_product_attention(q, q, q)


@what("attention fp32")
def _():
    q = rand(4, 8, 4096, 64)

    def run():
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION):
            return F.scaled_dot_product_attention(q, q, q)
    return run


@what("CUB sort 2^28")
def _():
    x = torch.randint(0, 1 << 30, (1 << 28,), device="cuda", dtype=torch.int32)
    return lambda: torch.sort(x)[0]


@what("CUB scan 2^30")
def _():
    x = torch.randint(0, 9, (1 << 30,), device="cuda", dtype=torch.int32)
    return lambda: torch.cumsum(x, 0, dtype=torch.int32)


@what("cuFFT 2^28")
def _():
    x = rand(1 << 28)
    return lambda: torch.fft.rfft(x)


@what("softmax 65536 x 8192")
def _():
    x = rand(65536, 8192)
    return lambda: torch.softmax(x, 1)


@what("layer norm 262144 x 2048")
def _():
    x = rand(262144, 2048)
    return lambda: F.layer_norm(x, (2048,))


@what("cumsum 65536 x 8192")
def _():
    x = torch.randint(0, 9, (65536, 8192), device="cuda", dtype=torch.int32)
    return lambda: torch.cumsum(x, 1, dtype=torch.int32)


@what("standard deviation 2^30")
def _():
    x = rand(1 << 30)
    return lambda: torch.std(x)


@what("norm 2^30")
def _():
    x = rand(1 << 30)
    return lambda: torch.linalg.vector_norm(x)


@what("argmax 2^30")
def _():
    x = rand(1 << 30)
    return lambda: torch.argmax(x)


@what("distances 4096 x 64")
def _():
    x = rand(4096, 64)
    return lambda: torch.cdist(x, x, p=1)


@what("bicubic 64 x 16 to 1024 x 1024")
def _():
    x = rand(64, 16, 256, 256)
    return lambda: F.interpolate(x, size=(1024, 1024), mode="bicubic")


@what("tanh 2^29")
def _():
    x = rand(1 << 29)
    return lambda: torch.tanh(x)


@what("embedding 262144 x 1024")
def _():
    t, i = rand(50000, 1024), torch.randint(0, 50000, (1 << 18,), device="cuda")
    return lambda: F.embedding(i, t)


# These call assert for an index that is out of bounds.
@what("gather 2^27")
def _():
    x, i = rand(1 << 27), torch.randint(0, 1 << 27, (1 << 27,), device="cuda")
    return lambda: torch.gather(x, 0, i)


@what("index 2^27 of two")
def _():
    x = rand(8192, 8192)
    i, j = (torch.randint(0, 8192, (1 << 27,), device="cuda") for _ in range(2))
    return lambda: x[i, j]


@what("index_select 131072 x 2048")
def _():
    x, i = rand(65536, 2048), torch.randint(0, 65536, (1 << 17,), device="cuda")
    return lambda: torch.index_select(x, 0, i)


@what("scatter 2^27")
def _():
    x, i = rand(1 << 27), torch.randperm(1 << 27, device="cuda")
    return lambda: torch.zeros_like(x).scatter_(0, i, x)


try:
    import triton
    import triton.language as tl

    @triton.jit
    def multiply(a, b, c, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        o = tl.program_id(1) * BN + tl.arange(0, BN)
        p = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for i in range(0, k, BK):
            acc += tl.dot(tl.load(a + m[:, None] * k + (i + p)[None, :]), tl.load(b + (i + p)[:, None] * n + o[None, :]))
        tl.store(c + m[:, None] * n + o[None, :], acc)

    @what("Triton product fp16 8192")
    def _():
        n = 8192
        a, b = rand(n, n, dtype=torch.float16), rand(n, n, dtype=torch.float16)
        c = torch.empty(n, n, device="cuda")

        def run():
            multiply[(n // 128, n // 128)](a, b, c, n, n, BM=128, BN=128, BK=32)
            return c
        return run
except ImportError:
    print("no Triton: its product is left out", file=sys.stderr)

try:
    import cupy

    @what("CuPy n-body 262144 x 16384")
    def _():
        kernel = cupy.RawKernel(r"""
            extern "C" __global__ void nbody(const float4 *p, float4 *f, int n)
            {
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                float4 a = p[i];
                float x = 0, y = 0, z = 0;

                for (int j = 0; j < n; j++) {
                    float4 b = p[j];
                    float dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
                    float r = dx * dx + dy * dy + dz * dz + 1e-3f, s = b.w * rsqrtf(r) / r;

                    x += dx * s;
                    y += dy * s;
                    z += dz * s;
                }
                f[i] = make_float4(x, y, z, 0);
            }""", "nbody")
        n = 1 << 18
        p, f = torch.rand(n, 4, device="cuda"), torch.zeros(n, 4, device="cuda")

        def run():
            torch.cuda.synchronize()
            kernel((n // 128,), (128,), (cupy.from_dlpack(p), cupy.from_dlpack(f), cupy.int32(1 << 14)))
            cupy.cuda.Device().synchronize()
            return f
        return run

    @what("CuPy diffusion of 65536 rods")
    def _():
        kernel = cupy.RawKernel(r"""
            extern "C" __global__ void rods(const float *from, float *to, int steps)
            {
                __shared__ float t[2][258];
                int i = threadIdx.x + 1, at = 0;

                t[0][i] = t[1][i] = from[blockIdx.x * blockDim.x + threadIdx.x];
                if (threadIdx.x < 2)
                    t[0][threadIdx.x * 257] = t[1][threadIdx.x * 257] = threadIdx.x;
                for (int s = 0; s < steps; s++, at ^= 1) {
                    __syncthreads();
                    t[at ^ 1][i] = t[at][i] + 0.2f * (t[at][i - 1] - 2 * t[at][i] + t[at][i + 1]);
                }
                to[blockIdx.x * blockDim.x + threadIdx.x] = t[at][i];
            }""", "rods")
        n = 1 << 24
        a, b = torch.rand(n, device="cuda"), torch.zeros(n, device="cuda")

        def run():
            torch.cuda.synchronize()
            kernel((n // 256,), (256,), (cupy.from_dlpack(a), cupy.from_dlpack(b), cupy.int32(200)))
            cupy.cuda.Device().synchronize()
            return b
        return run
except ImportError:
    print("no CuPy: its n-body and its diffusion are left out", file=sys.stderr)


@what("Inductor fusion 2^28")
def _():
    x = rand(1 << 28)
    return lambda compiled=torch.compile(lambda x: F.gelu(x) * torch.sigmoid(x) + x): compiled(x)


try:
    import jax
    import jax.numpy as jnp

    @what("JAX fusion 65536 x 8192")
    def _():
        x = jax.random.normal(jax.random.PRNGKey(1), (65536, 8192))
        fused = jax.jit(lambda x: jnp.sum(jnp.tanh(x) * jnp.exp(-x * x), axis=1))
        return lambda: torch.from_dlpack(fused(x).block_until_ready())
except ImportError:
    print("no JAX: its fusion is left out", file=sys.stderr)


def bits(result):
    """A number that another bit anywhere would make another."""
    if isinstance(result, (tuple, list)):
        return sum(bits(x) * (3 + i) for i, x in enumerate(result)) % (1 << 62)
    t = result.detach().contiguous()
    t = torch.view_as_real(t) if t.is_complex() else t
    v = t.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[t.element_size()]).flatten()
    v = F.pad(v, (0, -v.numel() % 1024))
    rows = v.view(-1, 1024).sum(1, dtype=torch.int64)
    return int((rows * torch.arange(1, rows.numel() + 1, device=v.device)).sum().item()) % (1 << 62)


def measure(name, runs, known, label):
    run = made[name]()
    for _ in range(WARM):
        run()
        torch.cuda.synchronize()
    for _ in range(BUILD if known else 0):
        run()
        torch.cuda.synchronize()
        time.sleep(0.02)
    wrong, spent, first = 0, 0.0, known and known["bits"]
    for _ in range(runs):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        out = run()
        torch.cuda.synchronize()
        spent += time.perf_counter() - begin
        is_now = bits(out)
        first = is_now if first is None else first
        wrong += is_now != first
    ms = spent / runs * 1e3
    print(f"{label},{name},{runs},{wrong},{ms:.3f},{known['ms'] if known else ms:.3f}", flush=True)
    return {"bits": first, "ms": ms}


def main():
    mode, file, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.manual_seed(1)
    if mode == "reference":
        only = [name for name in os.environ.get("ONLY", "").split(",") if name]
        unknown = [name for name in only if name not in made]
        if unknown:
            print("no such kernel here: " + ", ".join(unknown), file=sys.stderr)
        for name in [name for name in made if only and name not in only]:
            del made[name]
        known = {name: measure(name, runs, None, "native") for name in made}
        with open(file, "w") as f:
            json.dump(known, f)
        return
    with open(file) as f:
        known = json.load(f)
    for name in known:
        measure(name, runs, known[name], sys.argv[4])
        torch.cuda.empty_cache()
    if len(sys.argv) > 5:
        time.sleep(0.5)
        with open(sys.argv[5], "w") as f:
            subprocess.run(["gpusharectl", "kernels", "--json"], stdout=f, check=True)


main()
