# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that speaks with gpushared, as the rows of the campaign need one: it says what it likes. The messages are those of
src/gpushare/proto/msg.def, read there."""
import array
import collections
import os
import re
import select
import socket
import struct
import sys
import time

MSG_DEF = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../src/gpushare/proto/msg.def")
MAGIC, VERSION = 0x4750, 2
HEADER = struct.Struct("=HHHHII")
NAMES, FIELDS = [None], {}


def read_messages():
    with open(MSG_DEF) as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    for name, _, direction, fields in re.findall(r"MSG\((\w+), (\w+), (\w+),((?:\s*\w+\([^)]*\))+)\)", text):
        at, layout = 0, {}
        for kind, field, size in re.findall(r"(\w+)\((\w+)(?:, (\d+))?\)", fields):
            length = {"U32": 4, "U64": 8}.get(kind) or int(size)
            align = {"U32": 4, "U64": 8}.get(kind, 1)
            at = -(-at // align) * align
            layout[field] = (kind, at, length)
            at += length
        whole = 8 if any(k == "U64" for k, _, _ in layout.values()) else 4 if any(k == "U32" for k, _, _ in layout.values()) else 1
        NAMES.append(name)
        FIELDS[name] = (direction, layout, -(-at // whole) * whole)


read_messages()
Answer = collections.namedtuple("Answer", "name tag fields fds")


def body(name, values):
    _, layout, size = FIELDS[name]
    data = bytearray(size)
    for field, value in values.items():
        kind, at, length = layout[field]
        if kind == "U32":
            value = struct.pack("=I", value & 0xffffffff)
        elif kind == "U64":
            value = struct.pack("=Q", value & 0xffffffffffffffff)
        elif isinstance(value, str):
            value = value.encode()
        data[at:at + length] = value[:length].ljust(length, b"\0")
    return bytes(data)


def message(name, /, tag=1, **values):
    data = body(name, values)
    return HEADER.pack(MAGIC, VERSION, NAMES.index(name), len(data), tag, 0) + data


def parse(data, fds):
    _, _, kind, _, tag, _ = HEADER.unpack_from(data)
    name, fields = NAMES[kind], {}
    for field, (what, at, length) in FIELDS[name][1].items():
        raw = data[HEADER.size + at:HEADER.size + at + length]
        fields[field] = int.from_bytes(raw, sys.byteorder) if what in ("U32", "U64") else \
            raw if what == "BLOB" else raw.split(b"\0")[0].decode(errors="replace")
    return Answer(name, tag, fields, fds)


class Closed(Exception):
    """The daemon has closed the connection."""


class Connection:
    def __init__(self, path, timeout=20):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        # Not settimeout(): a connect() that does not wait for its turn fails where others connect as well.
        for way in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            self.sock.setsockopt(socket.SOL_SOCKET, way, struct.pack("@ll", timeout, 0))
        self.sock.connect(path)

    def send(self, name, /, tag=1, fd=None, **values):
        self.send_bytes(message(name, tag, **values), fd)

    def send_bytes(self, data, fd=None):
        ride = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
        try:
            self.sock.sendmsg([data], ride, socket.MSG_NOSIGNAL)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed() from None

    def receive(self):
        try:
            data, rides, _, _ = self.sock.recvmsg(16384, socket.CMSG_SPACE(16))
        except ConnectionResetError:
            raise Closed() from None
        if not data:
            raise Closed()
        fds = []
        for level, kind, what in rides:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds += array.array("i", what[:len(what) - len(what) % 4])
        return parse(data, fds)

    def ask(self, name, /, fd=None, **values):
        """The answer; WAIT is none yet."""
        self.send(name, 1, fd, **values)
        while True:
            answer = self.receive()
            if answer.name != "WAIT":
                return answer

    def query(self, what=0):
        """The whole text. 0: status."""
        self.send("QUERY", what=what, json=1)
        text = b""
        while True:
            answer = self.receive()
            if answer.name != "TEXT":
                raise ValueError("%s came for QUERY" % answer.name)
            text += answer.fields["text"][:answer.fields["length"]]
            if not answer.fields["more"]:
                return text.decode()

    def is_closed(self, within=10):
        """Does the daemon close it in time? What it says before that does not count."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            if select.select([self.sock], [], [], max(0, until - time.monotonic()))[0]:
                try:
                    for fd in self.receive().fds:
                        os.close(fd)
                except Closed:
                    return True
        return False

    def close(self):
        self.sock.close()


def step(path, **values):
    """A step as `gpusharectl run` makes one, of this process. The connection that has it, and its number; or None and the refusal's words."""
    connection = Connection(path)
    answer = connection.ask("LOCAL", **values)
    if answer.name != "REGISTERED":
        connection.close()
        return None, answer.fields["reason"]
    return connection, answer.fields["job_id"]


def become(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def as_user(uid, function, *arguments):
    """Calls the function in a child that has the user's rights; what it returns is text, which comes back. None: it died."""
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ends[0])
        text, status = "", 1
        try:
            become(uid)
            text, status = function(*arguments) or "", 0
        except Exception as error:  # whatever it is, the parent is to know
            text = "%s: %s" % (type(error).__name__, error)
        finally:
            os.write(ends[1], text.encode()[:60000])
            os._exit(status)
    os.close(ends[1])
    text = b""
    while True:
        more = os.read(ends[0], 65536)
        if not more:
            break
        text += more
    os.close(ends[0])
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        raise RuntimeError(text.decode() or "it ended with %d" % status)
    return text.decode()


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def resident_kib(pid):
    with open("/proc/%d/status" % pid) as file:
        return int(re.search(r"VmRSS:\s*(\d+)", file.read()).group(1))


def until_true(seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]
