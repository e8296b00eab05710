# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of `gpushare-bench mixes` that uses PyTorch.

usage: mixes_torch.py KIND BOARD DEVICE RANK MEETING PERIOD

  KIND     gpt            training steps of a transformer: 8 layers, width 1,024, batch 8 x 512, AdamW; fp32, its products
                          TF32; some 400 kernels of 20 to 300 us
           big            products of 9,216 x 9,216 in fp32, 31 ms each on an H200; four are queued, then waited for
           request-eager  a transformer encoder, 8 layers, fp16, 16 x 128 tokens, one request each period
           request-graph  the same as a CUDA graph
           request-busy   request-eager, each request as soon as the one before has ended
           decode         a transformer decoder, 12 layers, fp16, 8 sequences of 1,024 tokens whose keys and values are kept:
                          the next token of each, each period
           loader         six streams, in each of which pinned data of 16 MiB is copied to the GPU, multiplied and copied back
           ddp            training steps of two processes, each with a GPU, that average their gradients by NCCL
  BOARD    the file that it shares with the tool, see mixes_board.h
  DEVICE   cuda; cpu: tiny sizes, only to see that the program works
  RANK     of ddp's processes, 0 or 1: only the first one's records count
  MEETING  a file that is not there yet, by which ddp's processes find each other
  PERIOD   nanoseconds from when one request is due to when the next is

It says that it is ready once it has worked for a while, works in the windows that the tool opens, and records when each
step or request ended.
"""
import gc
import math
import mmap
import os
import sys
import time
import traceback

os.environ["NCCL_NVLS_ENABLE"] = "0"
os.environ.setdefault("TORCH_NCCL_ENABLE_MONITORING", "0")

import torch
from torch import nn
from torch.nn import functional

READY, RECORDS, WINDOW, BEGIN, STOPPED, CAPACITY, FIRST = 0, 1, 2, 3, 4, 5, 8
QUIT = 1000000
SPIN_NS = 300_000       # longer than a sleeper needs to wake up
WORDS = 8192
PRODUCTS = 4            # queued before they are waited for


class Board:
    """struct mixes_board: 64-bit words."""

    def __init__(self, path, period_ns):
        self.period_ns = period_ns
        with open(path, "r+b") as file:
            self.words = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
        self.parent = os.getppid()
        self.window = 0

    def next(self):
        """Until another window is wanted; False: none will be."""
        words = self.words
        words[READY] = self.window + 1
        while words[WINDOW] == self.window:
            time.sleep(0.001)
            if os.getppid() != self.parent:
                return False
        self.window = words[WINDOW]
        return self.window != QUIT

    def begin_ns(self):
        return self.words[BEGIN]

    def stopped(self):
        return self.words[STOPPED] >= self.window

    def record(self, value):
        words, end = self.words, time.monotonic_ns()
        n = words[RECORDS]
        if n < words[CAPACITY]:
            words[FIRST + 2 * n] = end
            words[FIRST + 2 * n + 1] = value
            words[RECORDS] = n + 1


def sleep_until(due):
    left = due - SPIN_NS - time.monotonic_ns()
    if left > 0:
        time.sleep(left / 1e9)
    while time.monotonic_ns() < due:
        pass


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        x = x + self.join(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.after(x))))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, length):
        super().__init__()
        self.word, self.place = nn.Embedding(WORDS, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads, True) for _ in range(layers)))
        self.last, self.head = nn.LayerNorm(width), nn.Linear(width, WORDS, bias=False)

    def forward(self, words):
        places = torch.arange(words.shape[1], device=words.device)
        return self.head(self.last(self.blocks(self.word(words) + self.place(places))))


class Program:
    """What the kinds have in common.  step() does some work, waits for it, and returns how many units that was."""

    warm_up = 5

    def __init__(self, device, rank, meeting):
        self.device, self.rank, self.meeting = torch.device(device), rank, meeting
        self.tiny = self.device.type == "cpu"
        torch.manual_seed(1)

    def wait(self):
        if not self.tiny:
            torch.cuda.current_stream().synchronize()

    def work(self, board):
        sleep_until(board.begin_ns())
        while not board.stopped():
            board.record(self.step())


class Training(Program):
    def __init__(self, *where):
        super().__init__(*where)
        torch.set_float32_matmul_precision("high")
        layers, width, heads, batch, length = (2, 64, 4, 2, 16) if self.tiny else (8, 1024, 16, 8, 512)
        self.model = Gpt(layers, width, heads, length).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        words = torch.randint(0, WORDS, (batch, length + 1), device=self.device)
        self.x, self.y = words[:, :-1].contiguous(), words[:, 1:].reshape(-1)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(self.model(self.x).view(-1, WORDS), self.y)
        loss.backward()
        self.optimizer.step()
        self.wait()
        self.loss = loss
        return 1

    def check(self):
        if not math.isfinite(self.loss.item()):
            raise RuntimeError("the loss is no number")


class Products(Program):
    warm_up = 1

    def __init__(self, *where):
        super().__init__(*where)
        torch.set_float32_matmul_precision("highest")
        n = 256 if self.tiny else 9216
        self.a, self.b = torch.randn(n, n, device=self.device), torch.randn(n, n, device=self.device)
        self.c = torch.empty(n, n, device=self.device)

    def step(self):
        for _ in range(PRODUCTS):
            torch.mm(self.a, self.b, out=self.c)
        self.wait()
        return PRODUCTS

    def check(self):
        row = self.a[0].double() @ self.b.double()
        if (self.c[0].double() - row).abs().max().item() > 0.1:
            raise RuntimeError("a wrong product")


class Requests(Program):
    warm_up = 20

    def __init__(self, *where, graph):
        super().__init__(*where)
        layers, width, heads, batch, length = (2, 64, 4, 2, 16) if self.tiny else (8, 1024, 16, 16, 128)
        self.model = nn.Sequential(*(Block(width, heads, False) for _ in range(layers))).to(self.device).eval()
        self.x = torch.randn(batch, length, width, device=self.device)
        self.graph = self.stream = None
        if self.tiny:
            return
        self.model.half()
        self.x = self.x.half()
        self.stream = torch.cuda.Stream()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.no_grad(), torch.cuda.stream(self.stream):
            for _ in range(3):
                self.y = self.model(self.x)
        torch.cuda.synchronize()
        if graph:
            captured = torch.cuda.CUDAGraph()
            with torch.no_grad(), torch.cuda.graph(captured, stream=self.stream, capture_error_mode="thread_local"):
                self.y = self.model(self.x)
            torch.cuda.synchronize()
            self.graph = captured

    def step(self):
        if self.tiny:
            with torch.no_grad():
                self.y = self.model(self.x)
            return 1
        with torch.no_grad(), torch.cuda.stream(self.stream):
            if self.graph:
                self.graph.replay()
            else:
                self.y = self.model(self.x)
        self.stream.synchronize()
        return 1

    def check(self):
        if not torch.isfinite(self.y).all().item():
            raise RuntimeError("a result is no number")

    def work(self, board):
        """One after another, late ones too: each is due at its own time, whatever became of those before."""
        due = board.begin_ns()
        while not board.stopped():
            sleep_until(due)
            self.step()
            board.record(due)
            due += board.period_ns


class Busy(Requests):
    work = Program.work


class Decode(Requests):
    """A token of every sequence, with what attention keeps of those before."""

    def __init__(self, *where):
        Program.__init__(self, *where)
        layers, width, self.heads, batch, length = (2, 64, 4, 2, 16) if self.tiny else (12, 1024, 16, 8, 1024)
        dtype = torch.float32 if self.tiny else torch.float16
        self.blocks = nn.ModuleList(Block(width, self.heads, False) for _ in range(layers)).to(self.device, dtype).eval()
        self.head = nn.Linear(width, WORDS, bias=False).to(self.device, dtype)
        self.word = nn.Embedding(WORDS, width).to(self.device, dtype)
        kept = (layers, batch, self.heads, length, width // self.heads)
        self.keys = torch.randn(kept, device=self.device, dtype=dtype)
        self.values = torch.randn(kept, device=self.device, dtype=dtype)
        self.tokens = torch.zeros(batch, dtype=torch.long, device=self.device)
        self.place, self.length = 0, length

    def attend(self, block, layer, x):
        batch, width = x.shape
        query, key, value = block.qkv(block.before(x)).view(batch, 3, self.heads, 1, width // self.heads).unbind(1)
        self.keys[layer, :, :, self.place] = key.squeeze(2)
        self.values[layer, :, :, self.place] = value.squeeze(2)
        seen = functional.scaled_dot_product_attention(query, self.keys[layer], self.values[layer])
        return block.join(seen.reshape(batch, width))

    def step(self):
        with torch.no_grad():
            x = self.word(self.tokens)
            for layer, block in enumerate(self.blocks):
                x = x + self.attend(block, layer, x)
                x = x + block.down(functional.gelu(block.up(block.after(x))))
            self.y = self.head(x)
            self.tokens = self.y.argmax(-1)
        self.place = (self.place + 1) % self.length
        self.wait()
        return 1


class Loader(Program):
    STREAMS = 6

    def __init__(self, *where):
        super().__init__(*where)
        torch.set_float32_matmul_precision("highest")
        n = 64 if self.tiny else 2048
        self.source = [torch.randn(n, n) for _ in range(self.STREAMS)]
        self.result = [torch.empty(n, n) for _ in range(self.STREAMS)]
        if not self.tiny:
            self.source = [x.pin_memory() for x in self.source]
            self.result = [x.pin_memory() for x in self.result]
            self.streams = [torch.cuda.Stream() for _ in range(self.STREAMS)]
        self.there = [torch.empty(n, n, device=self.device) for _ in range(self.STREAMS)]
        self.product = [torch.empty(n, n, device=self.device) for _ in range(self.STREAMS)]
        self.factor = torch.randn(n, n, device=self.device)
        if not self.tiny:
            torch.cuda.synchronize()

    def batch(self, i):
        self.there[i].copy_(self.source[i], non_blocking=True)
        torch.mm(self.there[i], self.factor, out=self.product[i])
        self.result[i].copy_(self.product[i], non_blocking=True)

    def step(self):
        for i in range(self.STREAMS):
            if self.tiny:
                self.batch(i)
                continue
            with torch.cuda.stream(self.streams[i]):
                self.batch(i)
        if not self.tiny:
            torch.cuda.synchronize()
        return self.STREAMS

    def check(self):
        for source, result in zip(self.source, self.result):
            row = source[0].double() @ self.factor.cpu().double()
            if (result[0].double() - row).abs().max().item() > 0.1:
                raise RuntimeError("a wrong product")


class Parallel(Program):
    def __init__(self, *where):
        from datetime import timedelta

        import torch.distributed as dist

        super().__init__(*where)
        torch.set_float32_matmul_precision("high")
        self.dist = dist
        dist.init_process_group("gloo" if self.tiny else "nccl", init_method="file://" + self.meeting, rank=self.rank,
                                world_size=2, timeout=timedelta(seconds=600))
        layers, width, heads, batch, length = (2, 64, 4, 2, 16) if self.tiny else (4, 512, 8, 8, 128)
        model = nn.Sequential(*(Block(width, heads, False) for _ in range(layers))).to(self.device)
        self.model = nn.parallel.DistributedDataParallel(model, device_ids=None if self.tiny else [0])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.shape = batch, length, width
        self.x, self.y = self.data(self.rank)
        self.flag = torch.zeros(1, device=self.device)
        self.steps, self.over = 0, False

    def data(self, rank):
        """Each process has data of its own: without the other's gradients its weights would differ."""
        random = torch.Generator(self.device).manual_seed(100 + rank)
        return [torch.randn(self.shape, generator=random, device=self.device) for _ in range(2)]

    def backward(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = functional.mse_loss(self.model(x), y)
        loss.backward()
        return loss

    def step(self, last=False):
        """Each step has a sum that is known; another 0.5 means that this step is the last."""
        self.loss = self.backward(self.x, self.y)
        self.optimizer.step()
        self.steps += 1
        self.flag.fill_(self.steps * (self.rank + 1) + (0.5 if last and self.rank == 0 else 0))
        self.dist.all_reduce(self.flag, op=self.dist.ReduceOp.SUM)
        more = self.flag.item() - 3 * self.steps
        if more not in (0, 0.5):
            raise RuntimeError("a wrong sum in step %d" % self.steps)
        self.over = more > 0
        return 1

    def both(self, value, op):
        """What the operation makes of both processes' tensors."""
        value = value.clone()
        self.dist.all_reduce(value, op=op)
        return value

    def gradients(self):
        return torch.cat([weight.grad.flatten() for weight in self.model.parameters()])

    def check(self):
        """The weights are the same, bit by bit; gradients are the mean of both processes' as each computes them alone; sums are exact."""
        if not math.isfinite(self.loss.item()):
            raise RuntimeError("the loss is no number")
        ops = self.dist.ReduceOp
        bits = torch.stack([weight.detach().view(torch.int32).sum(dtype=torch.int64) for weight in self.model.parameters()])
        if not torch.equal(self.both(bits, ops.MIN), self.both(bits, ops.MAX)):
            raise RuntimeError("the two processes' weights differ")
        self.backward(self.x, self.y)
        together, alone = self.gradients(), 0
        for rank in range(2):
            with self.model.no_sync():
                self.backward(*self.data(rank))
            alone = alone + self.gradients() / 2
        if not (together - alone).norm().item() < 1e-3 * alone.norm().item():
            raise RuntimeError("wrong gradients")
        ones = torch.arange(1 << 20, device=self.device)
        if not torch.equal(self.both(ones * (self.rank + 1), ops.SUM), 3 * ones):
            raise RuntimeError("a wrong sum")

    def work(self, board):
        sleep_until(board.begin_ns())
        self.over = False
        while not self.over:
            board.record(self.step(board.stopped()))
        self.check()


KINDS = {
    "gpt": Training,
    "big": Products,
    "request-eager": lambda *where: Requests(*where, graph=False),
    "request-graph": lambda *where: Requests(*where, graph=True),
    "request-busy": lambda *where: Busy(*where, graph=False),
    "decode": Decode,
    "loader": Loader,
    "ddp": Parallel,
}


def main():
    kind, path, device, rank, meeting, period = sys.argv[1:]
    board = Board(path, int(period))
    torch.set_num_threads(1)
    if device == "cuda":
        torch.cuda.set_device(0)
        torch.backends.cuda.enable_cudnn_sdp(False)  # its first use builds kernels for seconds
    program = KINDS[kind](device, int(rank), meeting)
    for _ in range(program.warm_up):
        program.step()
    program.check()
    gc.collect()
    gc.freeze()
    while board.next():
        program.work(board)
    program.check()
    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    try:
        main()
        status = 0
    except Exception as error:
        traceback.print_exc()
        words = str(error).strip().splitlines() or [""]
        print(f"mixes_torch: {sys.argv[1]}: {type(error).__name__}: {words[0]}", file=sys.stderr)
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    # Nothing is left to do, and the libraries' own ways out wait for other processes.
    os._exit(status)
