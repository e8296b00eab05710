#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# JobNvml=yes on a real GPU: what nvidia-smi, NVML, pynvml and PyTorch say in a step and outside of it, beside a neighbour that computes, and
# whether NCCL works with our NVML where there are two GPUs.
#
# usage: nvml_gpu.sh BUILD OUT-FOLDER   (as root; PyTorch and nvidia-smi)
#   BUILD   the build tree (make all)
# environment: LIBDCGM (DCGM's libdcgm.so.3, with its modules beside it: DCGM's process view is asked, too)
# Writes nvml.csv (what must be so, and whether it is), outside.json, inside.json, smi-*.txt and ranks-*.txt into OUT-FOLDER; 150 s at most.
# Exit status 1: something was not as it must be.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '3,11s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(dirname "$(realpath "$0")") build=$(realpath "$1")
mkdir -p "$2" && out=$(realpath "$2") || exit 2
tmp=$(mktemp -d)
chmod 755 "$tmp"
PATH=$build:$PATH
end=$((SECONDS + 150))
bad=0 daemon=
trap '[ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null; rm -rf "$tmp"' EXIT

library() { # NAME: the file of the driver's that the loader finds, or that in one of the usual places
	local found place
	found=$(ldconfig -p | sed -n "s/.*$1 (libc6,x86-64.* => //p" | head -1)
	for place in /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/local/nvidia/lib64; do
		[ -n "$found" ] || [ ! -e "$place/$1" ] || found=$place/$1
	done
	echo "$found"
}
bounded() { # SECONDS COMMAND...
	local left=$((end - SECONDS))
	timeout -k 5 $(($1 < left ? $1 : left > 1 ? left : 1)) "${@:2}"
}
step() { bounded "$1" gpusharectl run --shares 20 --mem 8G --gpu "$2" -- "${@:3}"; }
must() { # LABEL COMMAND...
	local is=ok
	"${@:2}" || { is=FAIL bad=1; }
	echo "$is: $1"
	echo "\"$1\",$is" >>"$out/nvml.csv"
}
not_tried() { # LABEL
	echo "not tried: $1"
	echo "\"$1\",not tried" >>"$out/nvml.csv"
}

driver=$(library libcuda.so.1)
NVML_FILE=$(library libnvidia-ml.so.1)
[ -n "$driver" ] && [ -n "$NVML_FILE" ] || { echo "nvml_gpu.sh: there is no driver here"; exit 1; }
export NVML_FILE GPUSHARE_SOCKET=$tmp/sock NCCL_NVLS_ENABLE=0 CUDA_DEVICE_ORDER=PCI_BUS_ID
gpus=$(nvidia-smi -L | grep -c '^GPU')
echo "# nvml_gpu.sh, $(date -u +%F), $gpus GPUs: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)
check,verdict" >"$out/nvml.csv"
mapfile -t lines < <(for ((i = 0; i < gpus; i++)); do echo "Gpu=$i Memory=60G File=/dev/nvidia$i"; done)
printf '%s\n' "Socket=$tmp/sock" "PidFile=$tmp/pid" "LogFile=$out/gpushared.log" ReportToSlurm=no AllowLocal=yes JobNvml=yes \
	"MemoryParameters=nvml=$NVML_FILE" "ShimDir=$build/src/device/shim/.libs" "Driver=$driver" "${lines[@]}" >"$tmp/conf"
cp "$NVML_FILE" "$tmp/libnvidia-ml.so.1" # that of the driver, whatever is mounted
export NVML_FILE=$tmp/libnvidia-ml.so.1
gpushared --foreground --config "$tmp/conf" &
daemon=$!
for ((i = 0; i < 100; i++)); do
	[ -e "$tmp/pid" ] && break
	sleep 0.1
done

# The neighbour, whom the step must not see and the other program must.
step 140 0 python3 "$here/nvml_says.py" 2048 keep "$tmp/neighbour" >"$out/neighbour.txt" 2>&1 &
neighbour=$!
for ((i = 0; i < 300; i++)); do
	[ ! -e "$tmp/neighbour" ] || break
	sleep 0.1
done
must "a neighbour computes" test -e "$tmp/neighbour"
bounded 60 python3 "$here/nvml_says.py" 1024 >"$out/outside.json" 2>"$out/outside.err" || bad=1
step 60 0 python3 "$here/nvml_says.py" 1024 >"$out/inside.json" 2>"$out/inside.err" || bad=1
tail -n 3 "$out"/outside.err "$out"/inside.err
cat "$out/outside.json" "$out/inside.json"
holds() { # EXPRESSION of o (outside) and i (inside)
	python3 -c 'import json, sys
o, i = (json.load(open(f"{sys.argv[1]}/{n}.json")) for n in ("outside", "inside"))
sys.exit(not eval(sys.argv[2]))' "$out" "$1"
}
must "a step's memory is its reservation, outside it is the GPU's" holds 'i["total"] == 8192 and o["total"] > 60000'
must "what the step uses is counted" holds '1024 <= i["used"] <= 4096 and 0 <= i["total"] - i["used"] - i["free"] <= 1'
must "the step's own process is listed, and not the neighbour" holds 'len(i["processes"]) == 1 and i["processes"][0][0]'
must "outside both are" holds 'len(o["processes"]) >= 2'
must "PyTorch says the same as NVML" holds 'i["torch"][1] == 8192 and i["filled"] == o["filled"] == 1024'
must "the step's utilisation is its own, and less than the GPU's" holds '0 < i["gpu"] < o["gpu"] <= 100'
if holds 'i["pynvml"] is None'; then
	not_tried "pynvml and what PyTorch asks it, which are not here"
else
	must "pynvml says the same" holds 'i["pynvml"][0] == 8192 and 1024 <= i["pynvml"][1] <= 4096 and i["pynvml"][2] == [True] and len(o["pynvml"][2]) >= 2 and 0 < i["pynvml"][3] < o["pynvml"][3]'
	must "so do torch.cuda.device_memory_used and utilization" holds '1024 <= i["torch_used"] <= 4096 and 0 < i["torch_utilization"] < o["torch_utilization"]'
fi
if holds 'i["dcgm"] is None'; then
	not_tried "DCGM, whose library LIBDCGM does not name"
else
	must "DCGM lists the step's process, and not the neighbour" holds 'i["dcgm"]["processes"][0][0] and len(i["dcgm"]["processes"]) == 1 and 1024 <= i["dcgm"]["processes"][0][1] <= 4096 and len(o["dcgm"]["processes"]) >= 2'
	must "DCGM's memory and utilisation are the step's" holds 'i["dcgm"]["total"] == 8192 and 1024 <= i["dcgm"]["used"] <= 4096 and o["dcgm"]["total"] > 60000 and 0 < i["dcgm"]["gpu"] < o["dcgm"]["gpu"] <= 100'
fi
must "nvidia-smi lists the step's process, and not the neighbour" holds 'len(i["smi"]) == 1 and i["smi"][0][0] and 1024 <= i["smi"][0][1] <= 4096 and len(o["smi"]) >= 2'
must "so do its table and its pmon" holds 'all(i[k] == [True] and len(o[k]) >= 2 for k in ("smi_table", "smi_pmon"))'
must "nvidia-smi's memory and utilisation are the step's" holds 'any(g[0] == 8192 and 1024 <= g[1] <= 4096 and 0 < g[2] < o["gpu"] for g in i["smi_gpu"])'
must "every call succeeds" holds 'i["rc"] == 0 and o["rc"] == 0'
must "no function of the driver's NVML is missing" holds 'not i["missing"]'

smi() { # NAME ARGUMENT...
	step 20 0 nvidia-smi "${@:2}" >"$out/smi-$1.txt" 2>&1
}
must "nvidia-smi" smi plain
must "nvidia-smi shows the step's memory" grep -q '8192MiB' "$out/smi-plain.txt"
must "and no process, as it uses none itself" grep -q 'No running processes found' "$out/smi-plain.txt"
must "nvidia-smi -q" smi query -q
must "it shows the step's memory, too" grep -qE 'Total +: 8192 MiB' "$out/smi-query.txt"
must "and no process" eval "grep -qE 'Processes +: None' '$out/smi-query.txt' && ! grep -q 'Process ID' '$out/smi-query.txt'"
must "nvidia-smi topo -m" smi topo topo -m
must "nvidia-smi pmon" smi pmon pmon -c 1
must "nvidia-smi dmon" smi dmon dmon -c 1
must "nvidia-smi -L" smi list -L
rm -f "$tmp/neighbour"
must "the neighbour ends well" wait $neighbour
cat "$out/smi-plain.txt" "$out/smi-list.txt"

ranks() {
	step 60 0 python3 "$here/nvml_ranks.py" 0 "$tmp/meeting" >"$out/ranks-0.txt" 2>&1 &
	local first=$!
	step 60 1 python3 "$here/nvml_ranks.py" 1 "$tmp/meeting" >"$out/ranks-1.txt" 2>&1
	local rc=$?
	wait "$first" || rc=1
	tail -n 2 "$out/ranks-0.txt" "$out/ranks-1.txt"
	return $rc
}
if [ "$gpus" -ge 2 ]; then
	must "NCCL's sums on two GPUs, a step on each" ranks
else
	not_tried "NCCL's sums, for which there must be two GPUs"
fi
exit $bad
