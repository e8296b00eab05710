# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials of row E4: e4_page.py SOCKET DAEMON-PID FLIPPER N SEED. In each a client's page is filled with anything for half a second, while it sends what clients
send; another user's step is looked at. N is the number of words, and so is the last line; a trial's number is that of its half second."""
import json
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
from connection import Closed, Connection, as_user, step, until_true

PATH, DAEMON, FLIPPER, N, SEED = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
HOSTILE = 70001
SECONDS = 0.5


def client(job):
    connection = Connection(PATH)
    answer = connection.ask("HELLO", job_id=job, program="hostile")
    if answer.name != "WELCOME":
        raise RuntimeError("HELLO: %s %s" % (answer.name, answer.fields))
    for number in range(4):
        connection.send("KERNEL", 0, number=number, name="kernel%d" % number)
    return connection, answer.fds[0]


def hostile(number):
    """How many words, and the number of the step."""
    random.seed(number)
    owner, job = step(PATH, shares=20, memory=100 << 20, partition="main")
    if not owner:
        raise RuntimeError(job)
    words, until = 0, time.monotonic() + SECONDS
    while time.monotonic() < until:
        connection, page = client(job)
        os.set_inheritable(page, True)
        process = subprocess.Popen([FLIPPER, str(page), "%.3f" % (SECONDS / 5), str(random.randrange(2 ** 32))], pass_fds=[page], stdout=subprocess.PIPE)
        try:
            while process.poll() is None:
                connection.send("DOORBELL", 0)
                connection.send("ALLOC", 0, bytes=random.choice([1 << 20, 1 << 40, 0]))
                connection.send("UNTRACKED", 0, launched=random.randrange(2 ** 64), count=random.randrange(300))
                time.sleep(0.002)
        except Closed:
            pass
        words += int(process.communicate()[0] or 0)
        os.close(page)
        connection.close()
    return "%d %d" % (words, job)


def is_over(job):
    """Asked by root, who is answered at once."""
    said = json.loads(Connection(PATH, 2).query())
    return not any(row["job"] == job for row in said["steps"])


def main():
    words, trial, failed, until = 0, 0, 0, int(os.environ.get("CAMPAIGN_UNTIL", 2 ** 40))
    while words < N and failed < 20 and time.time() < until:
        trial += 1
        try:
            did, job = (int(word) for word in as_user(HOSTILE, hostile, SEED + trial - 1).split())
            words += did
            wrong = "" if until_true(10, lambda: is_over(job)) else "its step is still there"
        except Exception as error:
            wrong = "%s: %s" % (type(error).__name__, error)
        if wrong:
            failed += 1
            print("trial %d: %s" % (trial, wrong), flush=True)
    print(words, flush=True)


main()
