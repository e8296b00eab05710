# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of gpushared without the shim, for what no shim does (doc/protocol.md). As a program of a job step:

usage: raw_client.py hold HOW          it gets the GPU, and does not give it back: see holds()
       raw_client.py flood HOW DELAY   many threads send; it ends by kill -9 in the middle of that: see floods()
"""
import mmap
import os
import re
import signal
import socket
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
MAGIC, VERSION = 0x4750, 2
READY, TORUN, RUNNING = 1, 2, 3
GRANT, STATE, STARTED, KERNEL, FLAGS, TASKS, USED = 3, 32, 33, 36, 37, 38, 16  # words of the page; of its first slot
EVICTABLE = 1


def message_types():
    with open(os.path.join(HERE, "../../src/gpushare/proto/msg.def")) as file:
        names = re.findall(r"^MSG\((\w+)", file.read(), re.M)
    return {name: number for number, name in enumerate(names, 1)}


TYPES = message_types()


def packet(name, body=b"", tag=1, length=None):
    return struct.pack("<HHHHII", MAGIC, VERSION, TYPES[name], len(body) if length is None else length, tag, 0) + body


def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    s.connect(os.environ["GPUSHARE_SOCKET"])
    return s


def ask(s, name, body):
    """(type, body) of the answer."""
    s.send(packet(name, body))
    answer = s.recv(8192)
    if len(answer) < 16:
        raise OSError("gpushared closed the connection")
    return struct.unpack_from("<H", answer, 4)[0], answer[16:]


def hello(s):
    """The page, which may be written, as words."""
    s.send(packet("HELLO", struct.pack("<IIIIQ64s", int(os.environ.get("GPUSHARE_JOB_ID", 0)), int(os.environ.get("GPUSHARE_STEP_ID", 0)),
                                       0, 0, 0, b"raw_client")))
    answer, descriptors, _, _ = socket.recv_fds(s, 8192, 1)
    if struct.unpack_from("<H", answer, 4)[0] != TYPES["WELCOME"]:
        raise OSError("no WELCOME: %r" % answer[16:])
    return memoryview(mmap.mmap(descriptors[0], 8192)).cast("I")


def round_trip(s):
    """Seconds."""
    begun = time.perf_counter()
    kind, _ = ask(s, "WHERE", struct.pack("<II", 0, 0))
    if kind != TYPES["HERE"]:
        raise OSError("WHERE was answered by type %d" % kind)
    return time.perf_counter() - begun


def holds(how):
    """running: its launch never leaves; running_plain: nor could it; torun: it never launches; deaf: it does not read its socket either."""
    s = connect()
    page = hello(s)
    s.send(packet("KERNEL", struct.pack("<IIIIQ128s", 0, 1 if how != "running_plain" else 0, 0, 32, 0, b"raw"), 0))
    page[KERNEL], page[FLAGS], page[TASKS] = 0, 0 if how == "running_plain" else EVICTABLE, 1000
    page[USED] = 1
    page[STATE] = READY
    s.send(packet("DOORBELL", struct.pack("<I", 0), 0))
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
                s.send(packet("ALLOC", struct.pack("<Q", 0)), socket.MSG_DONTWAIT)
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:  # gpushared closes the connection of one that does not read
                break
    while True:
        time.sleep(1)


def floods(how, delay):
    """any: the signal comes at any moment; header, half: behind a header without its body, or half of one; hello: before WELCOME."""
    s = connect()
    if how == "hello":
        s.send(packet("HELLO", struct.pack("<IIIIQ64s", 0, 0, 0, 0, 0, b"raw_client")))
        os.kill(os.getpid(), signal.SIGKILL)
    hello(s)
    alloc, free = packet("ALLOC", struct.pack("<Q", 4096), 0), packet("FREE", struct.pack("<Q", 4096), 0)

    def sends():
        while True:
            s.send(alloc)
            s.send(free)
    for _ in range(8):
        threading.Thread(target=sends, daemon=True).start()
    time.sleep(delay)
    if how == "header":
        s.send(packet("ALLOC", b"", 1, 8))
    elif how == "half":
        s.send(alloc[:8])
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        holds(sys.argv[2])
    else:
        floods(sys.argv[2], float(sys.argv[3]))
