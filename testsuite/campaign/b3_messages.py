# SPDX-License-Identifier: GPL-2.0-or-later
"""Row B3: a message of each type, or what no message is, in each state of a client.

The client is a user's process, which brings itself into the state and then sends the message. What the daemon does then is what
doc/protocol.md says for that state: it answers, or says nothing, or refuses and closes that connection. Nobody else's figures change
while the client is still there, and all is as before once it has gone. A neighbour computes all the time, and is right. The seed says
which state and type; as many seeds as there are pairs have all of them.
"""
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
from connection import FIELDS, HEADER, MAGIC, NAMES, VERSION, Closed, Connection, as_user, body, step  # noqa: E402
from raw_client import EVICTABLE, FLAGS, GRANT, KERNEL, READY, RUNNING, STARTED, STATE, TASKS, TORUN, USED, mmap  # noqa: E402
from trials import TMP, Daemon, Failure, Step, expect, program, run, wait_for  # noqa: E402

PATH = os.path.join(TMP, "sock")
USER = 70001
TOEVICT, DONE, FINISHED = 4, 5, 34  # the last: word of the first slot, how many block-tasks are finished
STATES = ["stranger", "owner", "in a step", "waiting for memory", "connected", "READY", "TORUN", "RUNNING", "TOEVICT", "evicted", "DONE"]
KINDS = [*NAMES[1:], "no type", "half a message", "too long", "empty", "the page"]
PAIRS = len(STATES) * len(KINDS)
STRIDE = 163  # has no factor in common with PAIRS: the short form has all states and types
NEIGHBOUR_TRIALS = 60
MOST_PRIORITY, QUERIES, GROUPS, REQUESTS, MADE_OF, SINCE_MOST = 1000, 6, 5, 3, 4, 1 << 40  # proto/msg.h, daemon/base/step.h
CLIENTS_ONLY = {"ALLOC": "ALLOCATED", "FREE": None, "KERNEL": None, "TIME": "TIMED", "UNTRACKED": None, "VARIANT": None, "DOORBELL": None}
ANSWERED = {"WHERE": "HERE", "FIGURES": "STEP_FIGURES", "QUERY": "TEXT", "HISTORY": "TEXT"}
ADMINISTRATORS = ["REGISTER", "UNREGISTER", "POLICY", "PRIORITY", "SUSPEND", "CLASS_POLICY"]
daemon = Daemon()


# --- the client, in the user's process ---

def until(condition, words):
    end = time.monotonic() + 20
    while not condition():
        if time.monotonic() > end:
            raise Failure("the client does not come to " + words)
        time.sleep(0.0005)


def launches(c, page, state):
    """Brings the launch in its first slot into that state."""
    c.send("KERNEL", 0, number=0, transform=1, registers=32, name="raw")
    page[KERNEL], page[FLAGS], page[TASKS], page[USED] = 0, EVICTABLE, 1000, 1
    page[STATE] = READY
    c.send("DOORBELL", 0)
    if state == "READY":
        return
    until(lambda: page[STATE] == TORUN or page[GRANT], "TORUN")
    if state == "TORUN":
        return
    page[STARTED] = 1
    page[STATE] = RUNNING
    if state in ("TOEVICT", "evicted"):
        c.send("PRIORITY_REQUEST", 0, kind=1, priority=0)
        until(lambda: page[STATE] == TOEVICT, "TOEVICT")
    if state == "evicted":
        page[FINISHED] = 500
        page[STATE] = READY
    elif state == "DONE":
        page[FINISHED] = 1000
        page[STATE] = DONE


def client_in(state):
    """(whatever must live on, the connection that is to say it, its page)."""
    if state == "stranger":
        return None, Connection(PATH), None
    partition = "below" if state == "READY" else "above"
    owner, job = step(PATH, shares=10, memory=(240 if state == "waiting for memory" else 20) << 20, partition=partition)
    expect(owner, "no step: %s" % job)
    if state == "owner":
        return None, owner, None
    c = Connection(PATH)
    if state == "in a step":
        return owner, c, None
    c.send("HELLO", 7, job_id=job, program="raw")
    answer = c.receive()
    expect(answer.name == ("WAIT" if state == "waiting for memory" else "WELCOME"), "%s came for HELLO" % answer.name)
    if answer.name == "WAIT":
        return owner, c, None
    page = memoryview(mmap.mmap(answer.fds[0], 8192)).cast("I")
    if state != "connected":
        launches(c, page, state)
    return owner, c, page


def answers_until_closed(c):
    """The names of what the daemon answers, and whether it closes the connection: a question behind the message shows that it does not."""
    names, ends = [], 0
    try:
        c.send("WHERE", 77)
    except Closed:
        ends = 1
    while ends < 2:  # the first one may be of the question, which nobody reads any more: an answer can be behind it
        try:
            answer = c.receive()
        except Closed:
            ends += 1
            continue
        for fd in answer.fds:
            os.close(fd)
        if answer.name == "HERE" and answer.tag == 77:
            return names, False
        names.append(answer.name)
    return names, True


# --- what is sent ---

def plausible(name, rng):
    """Values of which many fit."""
    few = {"gpu": [0, 0, 0, 1], "what": range(QUERIES + 1), "group": range(GROUPS + 1), "kind": range(REQUESTS + 1), "made_of": range(MADE_OF + 1),
           "priority": [0, 1, 9, 1000, 1001], "job_id": [0, 0xf0000000, 0xf0000001], "bytes": [0, 4096, 1 << 20, 1 << 40], "number": [0, 1, 4095, 4096],
           "shares": [0, 1, 10, 101], "memory": [0, 1 << 20, 1 << 40], "used_bytes": [0, 1 << 20, 1 << 40], "count": [0, 1, 256, 257],
           "partition": ["", "middle", "nowhere"], "policy": ["fifo", "rr", "none such"], "class": ["middle", ""], "cred": ["MUNGE:AwQD:", ""],
           "period_ns": [0, 10 ** 6, 2 ** 63], "deadline_ns": [0, 10 ** 6], "force_ms": [0, 1, 86400001], "since": [0, 1, 2 ** 63], "driver": [0, 1, 2, 3]}
    some = {"STR": ["", "x"], "BLOB": [b"\1", b""]}
    values = {}
    for field, (kind, _, _) in FIELDS[name][1].items():
        of_kind = some.get(kind, [0, 1, 2 ** 32 - 1])
        choices = few.get(field, of_kind)
        values[field] = rng.choice(choices if isinstance(choices[0], type(of_kind[0])) else of_kind)
    return values


def values_of(name, data):
    return {field: int.from_bytes(data[at:at + length], sys.byteorder) if kind in ("U32", "U64") else data[at:at + length]
            for field, (kind, at, length) in FIELDS[name][1].items()}


def content(name, rng):
    """The body: plausible, or anything at all."""
    if rng.random() < 0.7:
        return body(name, plausible(name, rng))
    data = bytearray(rng.randbytes(FIELDS[name][2]))
    for kind, at, length in FIELDS[name][1].values():
        if kind == "STR" and rng.random() < 0.8:
            data[at + length - 1] = 0
    return bytes(data)


def packet(kind, rng):
    """(the bytes, the type's name and its values, or None: they are no message)."""
    name = kind if kind in FIELDS else rng.choice(NAMES[1:])
    data, number = content(name, rng), NAMES.index(name)
    if kind in FIELDS:
        return HEADER.pack(MAGIC, VERSION, number, len(data), 1, 0) + data, name, values_of(name, data)
    length = len(data)
    magic, version = MAGIC, VERSION
    if kind == "no type":
        number = rng.choice([0, len(NAMES), 255, 65535])
    elif kind == "half a message":
        length = rng.choice([length, length - 1])
        data = data[:rng.randrange(len(data))]
    elif kind == "too long":
        data += rng.randbytes(rng.choice([1, 4, 10000]))
    if rng.random() < 0.2:
        magic, version = rng.choice([(0, VERSION), (MAGIC, VERSION + 1), (MAGIC, 0)])
    whole = HEADER.pack(magic, version, number, max(length, 0), rng.choice([0, 1]), 0) + data
    return b"" if kind == "empty" else whole[:rng.choice([8, len(whole)])] if kind == "half a message" else whole, None, None


# --- what is to come of it ---

CLOSED, REFUSED = ((), True), (("REFUSED",), True)


def silent(answer):
    return ((answer,) if answer else (), False)


def terminated(name, values):
    return all(b"\0" in values[field] for field, (kind, _, _) in FIELDS[name][1].items() if kind == "STR")


def of_hello(state, v):
    if state == "in a step":
        return [silent("WELCOME")] if v["gpu"] == 0 else [REFUSED]
    return [REFUSED]


def of_request(state, v):
    fits = v["kind"] < REQUESTS and not (v["kind"] == 1 and v["priority"] > MOST_PRIORITY)
    return [silent("USAGE")] if fits and STATES.index(state) >= STATES.index("waiting for memory") else [CLOSED]


def of_step(name, state, v):
    if state not in ("stranger", "in a step"):
        return [REFUSED]
    if name == "PERIODIC":
        return [silent("OK"), REFUSED]
    fits = v["gpu"] == 0 and 0 < v["shares"] <= 100 and v["memory"] <= 1 << 20 and v["force_ms"] <= 86400000
    return [silent("REGISTERED")] if fits else [REFUSED, silent("REGISTERED")]


def expected(state, name, v):
    """The outcomes of a message that the protocol allows: (names of the answers, is the connection closed?)."""
    if FIELDS[name][0] != "TO_DAEMON" or not terminated(name, v):
        return [CLOSED]
    if name in ADMINISTRATORS:
        return [REFUSED]
    if name in ("LOCAL", "PERIODIC"):
        return of_step(name, state, v)
    if name == "HELLO":
        return of_hello(state, v)
    if name == "PRIORITY_REQUEST":
        return of_request(state, v)
    if name in CLIENTS_ONLY:
        wrong = name == "VARIANT" and (v["made_of"] >= MADE_OF or v["since"] > SINCE_MOST)
        return [CLOSED] if wrong or STATES.index(state) < STATES.index("connected") else [silent(CLIENTS_ONLY[name])]
    wrong = name == "QUERY" and v["what"] >= QUERIES or name == "HISTORY" and (v["group"] >= GROUPS or v["since"] >= 2 ** 63)
    return [REFUSED] if wrong else [silent(ANSWERED[name])]


# --- a trial ---

def status():
    try:
        return json.loads(Connection(PATH).query())
    except Closed:
        raise Failure("gpushared does not answer root") from None


def others(own):
    """What must not change, of all steps but the client's."""
    now = status()
    gpu = now["gpus"][0]
    rows = [tuple(row[k] for k in ("job", "step", "user", "partition", "priority", "priority_requested", "start", "gpu", "shares", "memory_mb",
                                   "reserved_mb", "period_ms", "deadline_ms")) for row in now["steps"] if row["user"] not in own]
    return rows, [gpu[k] for k in ("policy", "isolation", "signal", "shares", "memory_mb", "classes", "policy_faults", "fell_back")]


def totals():
    gpu = status()["gpus"][0]
    return [gpu[k] for k in ("shares_taken", "reserved_mb", "clients")]


def disturbs(page, rng):
    """Words that fit no state: running without the time slice, done twice, a launch that nobody asked for."""
    for _ in range(rng.randrange(1, 6)):
        page[STATE + 16 * rng.choice([0, 0, 0, 1, 125])] = rng.choice([READY, TORUN, RUNNING, TOEVICT, DONE, DONE, 6, 2 ** 32 - 1])
        page[USED] = rng.choice([1, 2, 126, 127])


def says(state, kind, seed, reached, go_on, said):
    """In the user's process: what went wrong, or ''."""
    rng = random.Random(seed)
    owner, c, page = client_in(state)
    os.write(reached, b"1")
    os.read(go_on, 1)
    name = None
    if kind == "the page" and page:
        disturbs(page, rng)
        outcomes = [silent(None), CLOSED]  # what no client may write ends its connection, when it is noticed
    else:
        data, name, values = packet(kind if kind != "the page" else "too long", rng)
        outcomes = expected(state, name, values) if name else [CLOSED]
        c.send_bytes(data)
    names, closed = answers_until_closed(c)
    got = tuple(sorted(set(names))), closed
    os.write(said, b"1")
    os.read(go_on, 1)
    del owner
    if got in outcomes:
        return ""
    return "%s was answered by %s and %s, not %s" % (
        name or kind, names or "nothing", "closed" if closed else "kept", " or ".join("%s and %s" % (n or "nothing", "closed" if e else "kept") for n, e in outcomes))


def with_client(state, kind, seed):
    """What the user's process says. Its moments are looked at from here, by a child that asks as root: (before, after) of the others."""
    reached, go_on, said, seen = os.pipe(), os.pipe(), os.pipe(), os.pipe()
    watcher = os.fork()
    if watcher == 0:
        try:
            found = []
            for ready in (reached[0], said[0]):
                os.close(reached[1]) if ready == reached[0] else os.close(said[1])
                if os.read(ready, 1):
                    found.append(others([str(USER)]))
                os.write(go_on[1], b"1")
            os.write(seen[1], json.dumps(found).encode())
        finally:
            os._exit(0)
    try:
        wrong = as_user(USER, says, state, kind, seed, reached[1], go_on[0], said[1])
    finally:
        for fd in (*reached, *go_on, *said, seen[1]):
            os.close(fd)
        text = b"".join(iter(lambda: os.read(seen[0], 65536), b""))
        os.close(seen[0])
        os.waitpid(watcher, 0)
    return wrong, json.loads(text or b"[]")


class Neighbour:
    """Computes all the time; a new one every so often."""
    step, trials, more = None, 0, os.path.join(TMP, "more")

    def here(self):
        if self.step:
            return
        with open(self.more, "w"):
            one = Step([program("until"), self.more], "middle", 20)
        page = one.connected()
        wait_for(20, "the neighbour's kernel was not launched", lambda: page.has("RUNNING"))
        time.sleep(0.1)
        Step.every.remove(one)  # it is not a trial's
        self.step = one

    def ends(self):
        one, self.step = self.step, None
        Step.every.append(one)
        os.unlink(self.more)
        one.right("until: right")


neighbour = Neighbour()


def trial(seed, rng):
    pair = seed * STRIDE % PAIRS
    state, kind = STATES[pair % len(STATES)], KINDS[pair // len(STATES)]
    neighbour.here()
    start = others([]), totals()
    try:
        wrong, seen = with_client(state, kind, seed)
    except RuntimeError as why:
        raise Failure("in '%s', %s: %s" % (state, kind, why)) from None
    expect(not wrong, "in '%s': %s" % (state, wrong))
    expect(len(seen) == 2 and seen[0] == seen[1], "in '%s', %s changes others: %s" % (state, kind, seen))
    wait_for(5, "in '%s', %s: it is not as before: %s" % (state, kind, start), lambda: (others([]), totals()) == start, 0.005)
    expect(neighbour.step.process.poll() is None, "in '%s', %s: the neighbour has ended: %s" % (state, kind, neighbour.step.words()))
    neighbour.trials += 1
    if neighbour.trials % NEIGHBOUR_TRIALS == 0 or neighbour.trials == int(sys.argv[1]):
        neighbour.ends()


if __name__ == "__main__":
    try:
        run("B3", os.environ["ROW_SCRIPT"], trial)
    finally:
        if neighbour.step:
            Step.every.append(neighbour.step)
            neighbour.step.close()
