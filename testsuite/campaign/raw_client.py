# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of gpushared without the shim, for what no shim does (doc/protocol.md). As a program of a job step:

usage: raw_client.py hold HOW          it gets the GPU, and does not give it back: see holds()
       raw_client.py flood HOW DELAY   many threads send; it ends by kill -9 in the middle of that: see floods()
"""
import mmap
import os
import signal
import socket
import sys
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
from connection import Connection, message  # noqa: E402

READY, TORUN, RUNNING = 1, 2, 3
GRANT, STATE, STARTED, KERNEL, FLAGS, TASKS, USED = 3, 32, 33, 36, 37, 38, 16  # words of the page; of its first slot
EVICTABLE = 1


def connect():
    return Connection(os.environ["GPUSHARE_SOCKET"])


def hello_of(job_id, step_id):
    return {"job_id": job_id, "step_id": step_id, "program": "raw_client"}


def hello(c):
    """The page, which may be written, as words."""
    answer = c.ask("HELLO", **hello_of(int(os.environ.get("GPUSHARE_JOB_ID", 0)), int(os.environ.get("GPUSHARE_STEP_ID", 0))))
    if answer.name != "WELCOME":
        raise OSError("no WELCOME: %r" % answer.fields)
    return memoryview(mmap.mmap(answer.fds[0], 8192)).cast("I")


def round_trip(c):
    """Seconds."""
    begun = time.perf_counter()
    answer = c.ask("WHERE")
    if answer.name != "HERE":
        raise OSError("WHERE was answered by %s" % answer.name)
    return time.perf_counter() - begun


def holds(how):
    """running: its launch never leaves; running_plain: nor could it; torun: it never launches; deaf: it does not read its socket either."""
    c = connect()
    page = hello(c)
    c.send("KERNEL", 0, number=0, transform=1 if how != "running_plain" else 0, registers=32, name="raw")
    page[KERNEL], page[FLAGS], page[TASKS] = 0, 0 if how == "running_plain" else EVICTABLE, 1000
    page[USED] = 1
    page[STATE] = READY
    c.send("DOORBELL", 0)
    until = time.monotonic() + 20
    while page[STATE] != TORUN and not page[GRANT]:
        if time.monotonic() > until:
            sys.exit("it was never given the GPU")
        time.sleep(0.001)
    if how != "torun":
        page[STARTED] = 1
        page[STATE] = RUNNING
    print("it has the GPU", flush=True)
    if how == "deaf":
        while True:  # what it asks for is answered, and it reads nothing
            try:
                c.sock.send(message("ALLOC", bytes=0), socket.MSG_DONTWAIT)
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:  # gpushared closes the connection of one that does not read
                break
    while True:
        time.sleep(1)


def floods(how, delay):
    """any: the signal comes at any moment; header, half: behind a header without its body, or half of one; hello: before WELCOME."""
    c = connect()
    if how == "hello":
        c.send("HELLO", **hello_of(0, 0))
        os.kill(os.getpid(), signal.SIGKILL)
    hello(c)
    alloc, free = message("ALLOC", 0, bytes=4096), message("FREE", 0, bytes=4096)

    def sends():
        while True:
            c.send_bytes(alloc)
            c.send_bytes(free)
    for _ in range(8):
        threading.Thread(target=sends, daemon=True).start()
    time.sleep(delay)
    if how == "header":
        c.send_bytes(alloc[:16])
    elif how == "half":
        c.send_bytes(alloc[:8])
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        holds(sys.argv[2])
    else:
        floods(sys.argv[2], float(sys.argv[3]))
