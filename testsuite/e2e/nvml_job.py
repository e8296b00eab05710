# SPDX-License-Identifier: GPL-2.0-or-later
"""What NVML says of the first device, by ctypes as pynvml asks: every function by its name, one that is missing is an error."""
import ctypes
import sys


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("bytes", ctypes.c_ulonglong), ("gpu", ctypes.c_uint), ("compute", ctypes.c_uint)]


def main():
    nvml = ctypes.CDLL(sys.argv[1])
    device = ctypes.c_void_p()
    memory = Memory()
    count = ctypes.c_uint(0)
    assert getattr(nvml, "nvmlInitWithFlags")(0) == 0
    assert getattr(nvml, "nvmlDeviceGetHandleByIndex_v2")(0, ctypes.byref(device)) == 0
    assert getattr(nvml, "nvmlDeviceGetMemoryInfo")(device, ctypes.byref(memory)) == 0
    running = getattr(nvml, "nvmlDeviceGetComputeRunningProcesses_v3")
    # As pynvml does: how many there are, and then room for some more.
    running(device, ctypes.byref(count), None)
    count.value = count.value * 2 + 5
    found = (Process * count.value)()
    assert running(device, ctypes.byref(count), found) == 0
    print(f"python total={memory.total >> 20} free={memory.free >> 20} used={memory.used >> 20} processes={[p.pid for p in found[:count.value]]}")


main()
