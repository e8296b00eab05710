#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two Slurm jobs of different users run beside each other on parts of a GPU (CoRun=smk), and their results are right. One that was
# submitted with --gpushare-corun=no takes turns.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared gpusharectl gpushare-demo-matmul testsuite/e2e/entries
# A driver of the emulated device's name has no MPS.
mkdir -p "$TMP/mps"
sed 's/gpushare emulated device/an emulated one with MPS/g' "$BUILD/src/device/emu/.libs/libcuda.so.1" >"$TMP/mps/libcuda.so.1"
chmod -R a+rX "$TMP/mps"
PATH=$(realpath "$SRC/testsuite/stubs"):$PATH
# On the emulated device one program computes at a time, so that the sum of their progress is about 1, which is enough here.
start_cluster main "DRIVER=$TMP/mps/libcuda.so.1" GPU_MEMORY=512M "SPANK_ARGS=timeout=10s" GPUSHARE_EXTRA="Isolation=mps
MpsDir=$TMP/mps
CoRun=smk
PolicyParameters=leave_within=1s,corun_epoch=100ms,corun_gain=0"
LOG=$D/log/gpushared.log

by_nobody() { as_nobody timeout 10 sbatch --parsable --output="$D/out/%j" "$@"; }
# as_long_as NAME: what a job does as long as $D/out/NAME is there.
as_long_as() { : >"$D/out/$1" && chmod 666 "$D/out/$1" && echo "exec '$BUILD/testsuite/e2e/entries' compute '$D/out/$1'"; }
ended_right() { # NAME JOB
	rm -f "$D/out/$1"
	reaches "$2" COMPLETED 60 && grep ', 0 words wrong' "$D/out/$2" || { cat "$D/out/$2"; return 1; }
}
says() { until_true 60 grep -- "$1" "$LOG" || { tail -n 20 "$LOG"; return 1; }; }
# beside COUNT: does status show so many beside each other?
beside() { t 5 gpusharectl status --json | python3 -c 'import json, sys
gpu = json.load(sys.stdin)["gpus"][0]
print(gpu["corun"], gpu["corun_progress"])
sys.exit(gpu["corun"] != int(sys.argv[1]))' "$1"; }

a=$(submit -p low --gres=gpushare:40 --wrap "$(as_long_as a)")
b=$(by_nobody -p low --gres=gpushare:40 --wrap "$(as_long_as b)")
check "two users' jobs run" eval "reaches $a RUNNING && reaches $b RUNNING"
check "they are tried on parts of the GPU" says 'are tried on parts'
check "status shows two beside each other" until_true 60 beside 2
# An urgent job has the whole GPU, and then the two go on.
high=$(submit -p high --gres=gpushare:20 --wrap 'gpushare-demo-matmul --tiles 8')
check "an urgent job completes meanwhile" reaches "$high" COMPLETED 60
check "its result is the CPU's" grep 'correct: ' "$D/out/$high"
check "the two go on beside each other" until_true 60 beside 2
check "the first job's result is right" ended_right a "$a"
check "the second user's job has the GPU alone" until_true 20 beside 0
check "its result is right" ended_right b "$b"

check "a word that is neither yes nor no is refused at submission" eval \
	"! submit -p low --gres=gpushare:40 --gpushare-corun=perhaps --wrap true 2>'$TMP/err' && grep -- \"--gpushare-corun: 'perhaps' is neither yes nor no\" '$TMP/err'"
check "so is the option without shares" eval \
	"! submit -p low --gpushare-corun=no --wrap true 2>'$TMP/err' && grep -- '--gpushare-corun without --gres=gpushare' '$TMP/err'"
tried() { grep -c 'are tried on parts' "$LOG"; }
before=$(tried)
c=$(submit -p low --gres=gpushare:40 --wrap "$(as_long_as c)")
d=$(by_nobody -p low --gres=gpushare:40 --gpushare-corun=no --wrap "$(as_long_as d)")
check "two more run, one with --gpushare-corun=no" eval "reaches $c RUNNING && reaches $d RUNNING"
# computed JOB...: has each had the GPU for a second, and never run beside others?
computed() { t 5 gpusharectl report --json | python3 -c 'import json, sys
of = {str(r["job"]): (r["active_ms"], r["corun_ms"]) for r in json.load(sys.stdin)}
print(of)
sys.exit(not all(of[job][0] > 1000 and of[job][1] == 0 for job in sys.argv[1:]))' "$@"; }
turns() { until_true 60 computed "$c" "$d" && [ "$(tried)" = "$before" ] || { tail -n 20 "$LOG"; return 1; }; }
check "they take turns" turns
check "the results are right" eval "ended_right c $c && ended_right d $d"
finish
