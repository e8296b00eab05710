# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials of row D2: d2_one_user.py SOCKET N SEED. In each one user does one thing without end for some seconds, and another one's questions are timed."""
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
from connection import Closed, Connection, as_user, message, percentile
from loop import make_trials

PATH, N, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ABUSER, OTHER, SECONDS = 70001, 70002, 4
AT_LEAST_S = 0.05  # on a machine whose processors others use as well, less is no delay


def opens_connections():
    kept = []
    while True:
        try:
            kept.append(Connection(PATH))
        except OSError:
            pass
        if len(kept) > 400:
            kept.clear()


def sends_bytes():  # a byte now and then: no packet of it is a message
    connections = []
    while True:
        while len(connections) < 100:
            connections.append(Connection(PATH))
        for connection in connections:
            try:
                connection.send_bytes(b"\x50")
            except (Closed, OSError):
                connection.close()
        connections = [connection for connection in connections if connection.sock.fileno() >= 0]
        time.sleep(0.1)


def never_reads():
    connections = []
    while True:
        for what in range(6):
            connections.append(Connection(PATH))
            connections[-1].sock.setblocking(False)
            try:
                for _ in range(200):
                    connections[-1].send("QUERY", what=what, json=1)
            except (Closed, OSError):
                pass
        if len(connections) > 100:
            connections.clear()


def asks_without_end():
    connection, question = Connection(PATH), message("QUERY", what=1, json=1)
    while True:
        try:
            connection.send_bytes(question)
            connection.sock.recv(16384)
        except (Closed, OSError):
            connection = Connection(PATH)


def comes_and_goes():
    while True:
        connection = Connection(PATH)
        connection.send("HELLO", job_id=random.randrange(2 ** 32))
        connection.close()


WAYS = [opens_connections, sends_bytes, never_reads, asks_without_end, comes_and_goes]


def times_of(seconds):
    """What another user's questions take, each on a connection of its own."""
    took, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        begun = time.monotonic()
        connection = Connection(PATH)
        connection.query()
        connection.close()
        took.append(time.monotonic() - begun)
        time.sleep(0.005)
    return " ".join("%.6f" % s for s in took)


def p99(seconds):
    return percentile([float(s) for s in as_user(OTHER, times_of, seconds).split()], 0.99)


def trial(number):
    idle = p99(1)
    way = WAYS[number % len(WAYS)]
    pid = os.fork()
    if pid == 0:
        os.setsid()

        def abuse():
            signal.alarm(60)
            while True:
                try:
                    way()
                except (Closed, OSError):
                    pass
        as_user(ABUSER, abuse)
        os._exit(0)
    time.sleep(0.5)
    busy = p99(SECONDS)
    ended = os.waitpid(pid, os.WNOHANG)[0]
    os.killpg(pid, signal.SIGKILL)
    if ended:
        return "the user who %s has ended" % way.__name__
    os.waitpid(pid, 0)
    print("worst %.4f" % busy, flush=True)
    if busy > max(2 * idle, AT_LEAST_S):
        return "beside a user who %s the 99th percentile of another's questions is %.1f ms, alone it was %.1f" % (
            way.__name__.replace("_", " "), busy * 1e3, idle * 1e3)
    return ""


make_trials(trial, N, SEED)
