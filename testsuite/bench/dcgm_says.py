# SPDX-License-Identifier: GPL-2.0-or-later
"""What DCGM, started in this process, says of the first GPU, in one line of JSON.

usage: dcgm_says.py LIBDCGM
  LIBDCGM  DCGM's libdcgm.so.3, with its modules beside it (tried with DCGM 3.3.9)

`processes` has the number and the MiB of each compute process (field 221), `graphics` those of the graphics processes (220); `total`, `free`
and `used` are the frame buffer's MiB (250 to 252), `gpu` is the utilisation in percent (203), the largest of some samples.
Nothing is set: the watches of dcgmWatchPidFields would switch the driver's accounting mode on.
"""
import ctypes
import json
import sys
import time

ALL_GPUS = 0x7FFFFFFF
MANUAL = 2 # fields are read when dcgmUpdateAllFields is called
GRAPHICS, COMPUTE = 220, 221
NUMBERS = {203: "gpu", 250: "total", 251: "free", 252: "used"}
BLANK = 0x7FFFFFFFFFFFFFF0 # DCGM_INT64_BLANK: this and more is no value
SAMPLES, PAUSE = 8, 0.25


class RunningProcess(ctypes.Structure): # dcgmRunningProcess_v1
    _fields_ = [("version", ctypes.c_uint), ("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong)]


class Value(ctypes.Union):
    _fields_ = [("i64", ctypes.c_int64), ("process", RunningProcess), ("blob", ctypes.c_char * 4096)]


class FieldValue(ctypes.Structure): # dcgmFieldValue_v1
    _fields_ = [
        ("version", ctypes.c_uint),
        ("field", ctypes.c_ushort),
        ("type", ctypes.c_ushort),
        ("status", ctypes.c_int),
        ("time", ctypes.c_int64),
        ("value", Value),
    ]


Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(FieldValue), ctypes.c_int, ctypes.c_void_p
)


def must(what, rc):
    if rc:
        sys.exit(f"dcgm_says.py: {what}: {rc}")


def main():
    dcgm = ctypes.CDLL(sys.argv[1])
    handle, group = ctypes.c_size_t(), ctypes.c_size_t()
    everything = ctypes.c_size_t(ALL_GPUS)
    must("dcgmInit", dcgm.dcgmInit())
    must("dcgmStartEmbedded", dcgm.dcgmStartEmbedded(MANUAL, ctypes.byref(handle)))
    fields = [COMPUTE, GRAPHICS, *NUMBERS]
    list_of_fields = (ctypes.c_ushort * len(fields))(*fields)
    must("dcgmFieldGroupCreate", dcgm.dcgmFieldGroupCreate(handle, len(fields), list_of_fields, b"dcgm_says", ctypes.byref(group)))
    must("dcgmWatchFields", dcgm.dcgmWatchFields(handle, everything, group, ctypes.c_int64(100000), ctypes.c_double(60), 0))
    said = {"processes": {}, "graphics": {}}

    @Callback
    def take(_kind, entity, values, count, _user):
        for value in values[:count]:
            if entity != 0 or value.status:
                continue
            if value.field in NUMBERS and value.value.i64 < BLANK:
                name = NUMBERS[value.field]
                said[name] = max(said.get(name, 0), value.value.i64) if name == "gpu" else value.value.i64
            elif value.field in (COMPUTE, GRAPHICS):
                process = value.value.process
                said["processes" if value.field == COMPUTE else "graphics"][process.pid] = process.used >> 20
        return 0

    since = ctypes.c_int64(0)
    for _ in range(SAMPLES):
        must("dcgmUpdateAllFields", dcgm.dcgmUpdateAllFields(handle, 1))
        must("dcgmGetValuesSince_v2", dcgm.dcgmGetValuesSince_v2(handle, everything, group, since, ctypes.byref(since), take, None))
        time.sleep(PAUSE)
    dcgm.dcgmStopEmbedded(handle)
    print(json.dumps({name: list(what.items()) if isinstance(what, dict) else what for name, what in said.items()}))


main()
