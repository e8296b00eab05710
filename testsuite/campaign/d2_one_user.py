# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials of row D2: d2_one_user.py SOCKET N SEED. In each one user does one thing without end for some seconds, and another one's questions are timed."""
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
from peer import Closed, Peer, as_user, message, percentile

PATH, N, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ABUSER, OTHER, SECONDS = 70001, 70002, 4
AT_LEAST_S = 0.05  # on a machine whose processors others use as well, less is no delay


def opens_connections():
    kept = []
    while True:
        try:
            kept.append(Peer(PATH))
        except OSError:
            pass
        if len(kept) > 400:
            kept.clear()


def sends_bytes():  # a byte now and then: no packet of it is a message
    peers = []
    while True:
        while len(peers) < 100:
            peers.append(Peer(PATH))
        for peer in peers:
            try:
                peer.send_bytes(b"\x50")
            except (Closed, OSError):
                peer.close()
        peers = [peer for peer in peers if peer.sock.fileno() >= 0]
        time.sleep(0.1)


def never_reads():
    peers = []
    while True:
        for what in range(6):
            peers.append(Peer(PATH))
            peers[-1].sock.setblocking(False)
            try:
                for _ in range(200):
                    peers[-1].send("QUERY", what=what, json=1)
            except (Closed, OSError):
                pass
        if len(peers) > 100:
            peers.clear()


def asks_without_end():
    peer, question = Peer(PATH), message("QUERY", what=1, json=1)
    while True:
        try:
            peer.send_bytes(question)
            peer.sock.recv(16384)
        except (Closed, OSError):
            peer = Peer(PATH)


def comes_and_goes():
    while True:
        peer = Peer(PATH)
        peer.send("HELLO", job_id=random.randrange(2 ** 32))
        peer.close()


WAYS = [opens_connections, sends_bytes, never_reads, asks_without_end, comes_and_goes]


def times_of(seconds):
    """What another user's questions take, each on a connection of its own."""
    took, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        begun = time.monotonic()
        peer = Peer(PATH)
        peer.query()
        peer.close()
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


def main():
    made, until = 0, int(os.environ.get("CAMPAIGN_UNTIL", 2 ** 40))
    for number in range(SEED - 1, SEED - 1 + N):
        if time.time() >= until:
            break
        made += 1
        try:
            wrong = trial(number)
        except Exception as error:  # the other user is refused, or the daemon is gone
            wrong = "%s: %s" % (type(error).__name__, error)
        if wrong:
            print("trial %d: %s" % (number - SEED + 2, wrong), flush=True)
    print(made, flush=True)


main()
