# SPDX-License-Identifier: GPL-2.0-or-later
"""What NVML, pynvml, nvidia-smi and PyTorch say of the GPU, in one line of JSON.

usage: nvml_says.py MIB
       nvml_says.py MIB keep FILE

Fills MIB of the GPU through PyTorch first, and computes in a second thread while it asks, so that there is something to be seen.
keep: it only does that, makes FILE, and goes on until FILE is gone.  `missing` has the functions of the
driver's NVML (NVML_FILE in the environment) that the library which this process loads does not export.
`dcgm` is what dcgm_says.py says where LIBDCGM in the environment names DCGM's library; of its processes, whether each is this one.
"""
import ctypes
import json
import os
import re
import subprocess
import sys
import threading
import time

import torch


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gi", ctypes.c_uint), ("ci", ctypes.c_uint)]


def exported(file):
    lines = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines() if " T nvml" in line}


def compute(goes_on, pause):
    factor = torch.ones(4096, 4096, device="cuda")
    while goes_on():
        torch.mm(factor, factor)
        torch.cuda.synchronize()
        time.sleep(pause)


def by_pynvml(uuid):
    """[total and used MiB, whether each process is this one, utilisation]; None: pynvml is not there."""
    try:
        import pynvml
    except ModuleNotFoundError:
        return None
    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
    memory = pynvml.nvmlDeviceGetMemoryInfo(device)
    processes = [p.pid == os.getpid() for p in pynvml.nvmlDeviceGetComputeRunningProcesses(device)]
    return [memory.total >> 20, memory.used >> 20, processes, pynvml.nvmlDeviceGetUtilizationRates(device).gpu]


def by_dcgm():
    """None: there is no DCGM."""
    if "LIBDCGM" not in os.environ:
        return None
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dcgm_says.py")
    said = json.loads(subprocess.run([sys.executable, script, os.environ["LIBDCGM"]], capture_output=True, text=True, check=True).stdout)
    said["processes"] = [[pid == os.getpid(), used] for pid, used in said["processes"]]
    return said


def by_smi(query):
    asked = subprocess.run(["nvidia-smi", query, "--format=csv,noheader,nounits"], capture_output=True, text=True)
    return [[int(word) if word.strip().isdigit() else word for word in line.split(",")] for line in asked.stdout.splitlines()]


def listed_by_smi(pattern, *arguments):
    """Of the processes that nvidia-smi prints: whether each is this one."""
    printed = subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True).stdout
    return [int(pid) == os.getpid() for pid in re.findall(pattern, printed, re.MULTILINE)]


def main():
    filled = torch.ones(int(sys.argv[1]) << 20, dtype=torch.uint8, device="cuda")
    if sys.argv[2:3] == ["keep"]:
        open(sys.argv[3], "w").close()
        compute(lambda: os.path.exists(sys.argv[3]), 0)
        return
    over = threading.Event()
    # A product takes 3 to 6 ms, so it uses a part of its share only.
    thread = threading.Thread(target=compute, args=(lambda: not over.is_set(), 0.04))
    thread.start()
    try:
        time.sleep(2)
        ask(filled)
    finally:
        over.set()
        thread.join()


def ask(filled):
    said = {"torch": [n >> 20 for n in torch.cuda.mem_get_info()], "filled": filled.numel() * filled[-1].item() >> 20}
    said["allocated"] = torch.cuda.memory_allocated() >> 20
    try:
        said["torch_used"] = torch.cuda.device_memory_used() >> 20
        said["torch_utilization"] = torch.cuda.utilization()
    except ModuleNotFoundError: # it asks pynvml
        said["torch_used"] = None
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    said["rc"] = nvml.nvmlInit_v2()
    count, device, memory = ctypes.c_uint(), ctypes.c_void_p(), Memory()
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    uuid = ctypes.create_string_buffer(96)
    properties = torch.cuda.get_device_properties(0)
    said["rc"] |= nvml.nvmlDeviceGetHandleByUUID(f"GPU-{properties.uuid}".encode(), ctypes.byref(device))
    said["rc"] |= nvml.nvmlDeviceGetUUID(device, uuid, 96)
    said["rc"] |= nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory))
    use = Utilization()
    said["rc"] |= nvml.nvmlDeviceGetUtilizationRates(device, ctypes.byref(use))
    n, processes = ctypes.c_uint(64), (Process * 64)()
    said["rc"] |= nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(n), processes)
    said.update(count=count.value, total=memory.total >> 20, used=memory.used >> 20, free=memory.free >> 20, gpu=use.gpu)
    said["processes"] = [[p.pid == os.getpid(), p.used >> 20] for p in processes[: n.value]]
    said["pynvml"] = by_pynvml(f"GPU-{properties.uuid}")
    said["smi"] = [[pid == os.getpid(), used] for pid, used in by_smi("--query-compute-apps=pid,used_gpu_memory")]
    said["smi_table"] = listed_by_smi(r"^\|\s+\d+\s+\S+\s+\S+\s+(\d+)\s+[CGM]")
    said["smi_pmon"] = listed_by_smi(r"^\s+\d+\s+(\d+)\s+[CGM]", "pmon", "-c", "1")
    said["smi_gpu"] = by_smi("--query-gpu=memory.total,memory.used,utilization.gpu")
    said["dcgm"] = by_dcgm()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = {line.split()[-1] for line in maps if "libnvidia-ml" in line}
    said["loaded"] = sorted(loaded)
    said["missing"] = sorted(exported(os.environ["NVML_FILE"]) - set().union(*map(exported, loaded)))
    print(json.dumps(said))


main()
