# SPDX-License-Identifier: GPL-2.0-or-later
"""Row A3: a program of many threads is killed while it sends; meanwhile and afterwards another connection is answered."""
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import raw_client  # noqa: E402
from trials import Daemon, Step, expect, expect_within, run  # noqa: E402

HOW = ["any", "header", "half", "hello"]
STALL_S = 1.0  # no round trip may take longer: on a busy machine a thread waits for its processor as long as many round trips
daemon = Daemon()
idle, beside = [], []
connection = raw_client.connect()


def trial(seed, rng):
    idle.extend(raw_client.round_trip(connection) for _ in range(20))
    times, over = [], threading.Event()

    def probe():
        while not over.is_set():
            times.append(raw_client.round_trip(connection))
            over.wait(0.0005)
    prober = threading.Thread(target=probe)
    prober.start()
    try:
        how = HOW[seed % len(HOW)]
        victim = Step([sys.executable, "-I", "-S", "-B", os.path.join(raw_client.HERE, "raw_client.py"), "flood", how, "%.4f" % rng.uniform(0, 0.05)])
        status = victim.end(20)
        expect(status == 137, "the victim ended with %d: %s" % (status, victim.words()))
        daemon.as_before()
    finally:
        over.set()
        prober.join()
    expect_within(times and max(times) < STALL_S, "a round trip took %.3f s" % max(times, default=-1))
    beside.extend(times)
    return max(times) * 1000


def p99(times):
    return sorted(times)[len(times) * 99 // 100] * 1000


if __name__ == "__main__":
    run("A3", os.environ["ROW_SCRIPT"], trial)
    if beside:
        print("A3: round trip, 99th percentile: %.2f ms while nobody sends, %.2f ms beside" % (p99(idle), p99(beside)), file=sys.stderr)
