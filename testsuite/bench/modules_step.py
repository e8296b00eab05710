#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs whose modules come from libraries, for modules_gpu.sh: modules_step.py torch|cupy|jax, or modules_step.py alloc SECONDS
Prints lines "what,seconds of its first call,right|wrong"; alloc, for each line that it reads: "alloc,steps in a second,right|wrong",
which it measures for SECONDS."""
import statistics
import sys
import time


def say(what, value, right):
    print(f"{what},{value:.4f},{'right' if right else 'wrong'}", flush=True)


def with_torch():
    import torch
    torch.manual_seed(1)
    x, image = torch.randn(64, 4096), torch.randn(8, 256, 256)
    window = torch.hann_window(256)
    half = torch.fft.rfft(x)
    cases = (
        ("torch rfft", torch.fft.rfft, (x,)),
        ("torch irfft", torch.fft.irfft, (half,)),
        ("torch rfft2", torch.fft.rfft2, (image,)),
        ("torch fft of real", torch.fft.fft, (x,)),
        ("torch rfft float64", torch.fft.rfft, (x.double(),)),
        ("torch stft", lambda a, w: torch.stft(a, 256, window=w, return_complex=True), (x, window)),
    )
    torch.ones(1, device="cuda").add_(1)
    for what, call, arguments in cases:
        there = [a.cuda() for a in arguments]
        torch.cuda.synchronize()
        begin = time.monotonic()
        try:
            got = call(*there)
            torch.cuda.synchronize()
        except RuntimeError as error:
            print(f"{what}: {error}", file=sys.stderr)
            say(what, time.monotonic() - begin, False)
            continue
        took = time.monotonic() - begin
        want = call(*arguments)
        say(what, took, bool((got.cpu() - want).abs().max() <= 1e-4 * want.abs().max()))


def with_cupy():
    import cupy
    import numpy
    x = numpy.random.default_rng(1).standard_normal((64, 4096)).astype(numpy.float32)
    there = cupy.asarray(x)
    cupy.cuda.Device().synchronize()
    begin = time.monotonic()
    try:
        got = cupy.fft.rfft(there)
        cupy.cuda.Device().synchronize()
    except Exception as error:  # cuFFT's own class, by whatever name
        print(f"cupy rfft: {error}", file=sys.stderr)
        say("cupy rfft", time.monotonic() - begin, False)
        return
    took = time.monotonic() - begin
    want = numpy.fft.rfft(x)
    say("cupy rfft", took, bool(numpy.abs(cupy.asnumpy(got) - want).max() <= 1e-4 * numpy.abs(want).max()))


def with_jax():
    import jax
    import jax.numpy as jnp
    import numpy
    a = numpy.random.default_rng(1).standard_normal((512, 512)).astype(numpy.float32)
    a = a @ a.T + 512 * numpy.eye(512, dtype=numpy.float32)
    there = jax.device_put(a)
    jnp.add(there, 1).block_until_ready()
    begin = time.monotonic()
    got = jnp.linalg.cholesky(there).block_until_ready()
    took = time.monotonic() - begin
    want = numpy.linalg.cholesky(a.astype(numpy.float64))
    say("jax cholesky", took, bool(numpy.abs(numpy.asarray(got) - want).max() <= 1e-3 * numpy.abs(want).max()))


def allocations():
    """A training step whose kernels are short, so that what the host does between them counts.
    Says "ready", then measures for SECONDS for each line that it reads."""
    seconds = float(sys.argv[2])
    import torch
    from torch import nn
    torch.manual_seed(1)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True), 6).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x, y = torch.randn(8, 128, 256, device="cuda"), torch.randn(8, 128, 256, device="cuda")

    def step():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    first = step().item()
    for _ in range(30):
        step()
    torch.cuda.synchronize()
    print("ready", flush=True)
    for _ in sys.stdin:
        ends = [time.monotonic()]
        while ends[-1] - ends[0] < seconds:
            for _ in range(5):
                last = step()
            torch.cuda.synchronize()
            ends.append(time.monotonic())
        # The usual five steps: a pause of the host in some of them says nothing of allocations.
        rate = 5 / statistics.median(b - a for a, b in zip(ends, ends[1:]))
        say("alloc", rate, torch.cuda.get_allocator_backend() == "cudaMallocAsync" and last.item() < first)


if __name__ == "__main__":
    {"torch": with_torch, "cupy": with_cupy, "jax": with_jax, "alloc": allocations}[sys.argv[1]]()
