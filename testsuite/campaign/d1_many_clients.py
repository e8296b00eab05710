# SPDX-License-Identifier: GPL-2.0-or-later
"""One trial of row D1: d1_many_clients.py SOCKET DAEMON-PID SEED. Prints the 99th percentile of what a registration took, or what went wrong."""
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
from connection import Closed, Connection, as_user, descriptors, percentile, resident_kib, step, until_true

PATH, DAEMON, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
USERS, FIRST_UID, EACH = 8, 70001, 124  # and each user's step has a connection: 125 of 128, 1,000 of 1,024
random.seed(SEED)


def one_client(job, begin, result, end):
    """In a process of its own: a client that is there until the end."""
    os.read(begin, 1)
    begun = time.monotonic()
    try:
        connection = Connection(PATH, 60)
        answer = connection.ask("HELLO", job_id=job, program="campaign")
        text = "%.6f\n" % (time.monotonic() - begun) if answer.name == "WELCOME" else "%s %s\n" % (answer.name, answer.fields.get("reason"))
    except (Closed, OSError) as error:
        text = "%s %s\n" % (type(error).__name__, error)
    os.write(result, text.encode())
    os.read(end, 1)
    os._exit(0)


def one_user(begin, result, end):
    """Its clients, and who comes beyond the limit."""
    owner, job = step(PATH, shares=10, memory=200 << 20, partition="main")
    if not owner:
        return "no step: %s" % job
    for _ in range(EACH):
        if os.fork() == 0:
            owner.sock.close()
            one_client(job, begin, result, end)
    os.read(end, 1)
    for _ in range(EACH):
        os.wait()
    return ""


def start_users(begin, result, end):
    pids = []
    for user in range(USERS):
        pid = os.fork()
        if pid == 0:
            os.close(begin[1])
            os.close(end[1])
            text = as_user(FIRST_UID + user, one_user, begin[0], result[1], end[0])
            if text:
                os.write(result[1], (text + "\n").encode())
            os._exit(0)
        pids.append(pid)
    return pids


def read_lines(fd, n):
    text = b""
    while text.count(b"\n") < n:
        more = os.read(fd, 65536)
        if not more:
            break
        text += more
    return text.decode().splitlines()


def beyond():
    """Of this user 125 connections are there: three more are served, and who comes then is closed, and says so."""
    more = [Connection(PATH) for _ in range(20)]
    served = 0
    for connection in more:
        try:
            connection.query()
            served += 1
        except (Closed, ConnectionError):
            pass
    if served != 3:
        return "of 20 connections beyond 125 of a user %d were served, not 3" % served
    return ""


def fill_up(ready, go):
    """Whoever comes until nobody more is served but who has few: 16 of each user."""
    more = []
    try:
        while len(more) < 100:
            more.append(Connection(PATH))
            more[-1].query()
        return "one user more had 100 connections beside %d" % (USERS * EACH)
    except (Closed, ConnectionError):
        pass
    os.write(ready, b"x")
    os.read(go, 1)
    return ""


def few():
    connections = [Connection(PATH) for _ in range(16)]
    for connection in connections:
        connection.query()


def a_full_house():
    """Where eight users have all connections, a ninth one fills what is left, and a tenth one is served all the same."""
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go[1])
        wrong = as_user(FIRST_UID + USERS + 1, fill_up, ready[1], go[0])
        if wrong:
            os.write(ready[1], wrong.encode())
        os._exit(0)
    os.close(ready[1]), os.close(go[0])
    said = os.read(ready[0], 1000).decode()
    if said == "x":
        try:
            said = as_user(FIRST_UID + USERS + 2, few)
        except RuntimeError as error:
            said = "a user without connections is not served: %s" % error
    os.close(go[1]), os.close(ready[0])
    os.waitpid(pid, 0)
    return said


def connect_and_close():
    for i in range(100):
        connection = Connection(PATH)
        if i % 3 == 1:
            connection.send("QUERY", what=0, json=1)
        elif i % 3 == 2:
            connection.query()
        connection.close()


def trial():
    base_fds, base_kib = descriptors(DAEMON), resident_kib(DAEMON)
    begin, result, end = os.pipe(), os.pipe(), os.pipe()
    pids = start_users(begin, result, end)
    os.close(begin[0]), os.close(end[0]), os.close(result[1])
    time.sleep(random.uniform(0.3, 0.8))  # most of them stand at the line
    os.close(begin[1])
    said = read_lines(result[0], USERS * EACH)
    bad = [line for line in said if not line[0].isdigit()]
    clients_kib = resident_kib(DAEMON)
    wrong = "%d of %d: %s" % (len(bad), len(said), bad[0]) if bad or len(said) != USERS * EACH else as_user(FIRST_UID, beyond)
    wrong = wrong or a_full_house()
    as_user(FIRST_UID + USERS, connect_and_close)
    os.close(end[1])
    for pid in pids:
        os.waitpid(pid, 0)
    if wrong:
        return wrong
    if clients_kib - base_kib > 24 * (USERS * EACH + USERS) + 1024:
        return "%d KiB for %d clients" % (clients_kib - base_kib, USERS * EACH)
    if not until_true(20, lambda: descriptors(DAEMON) <= base_fds):
        return "%d descriptors are left, there were %d" % (descriptors(DAEMON), base_fds)
    print("%.3f %d" % (percentile([float(line) for line in said], 0.99), resident_kib(DAEMON)))
    return ""


wrong = trial()
if wrong:
    print(wrong)
    sys.exit(1)
