#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A node with two GPUs of different types; and nodes whose configuration does not hold together.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
start_cluster main WITH_DAEMON=0 GPUS=2 GPU_TYPES="a100 h100" "SPANK_ARGS=timeout=100ms absent=run"

sleeper() { submit -p high --time=5 "$@" --wrap 'exec sleep 120'; }
runs() { reaches "$1" RUNNING; }
# IDX of the shares or GPUs that the job really has.
index_of() { t 10 scontrol show job -d "$1" | index_form | grep -oE 'gpu(share)?:[a-z0-9]+:[1-9][0-9]*\(IDX:[0-9]+\)'; }
has() { index_of "$1" | tee -a /dev/stderr | grep -xF -- "$2" >/dev/null; }
in_place() { has "$1" 'gpushare:h100:60(IDX:1)' && has "$2" 'gpushare:a100:60(IDX:0)'; }

h=$(sleeper --gres=gpushare:h100:60)
check "shares of a type run" runs "$h"
check "on the GPU of that type" has "$h" 'gpushare:h100:60(IDX:1)'
any=$(sleeper --gres=gpushare:60)
check "shares of any type run" runs "$any"
check "on the one GPU that has room" has "$any" 'gpushare:a100:60(IDX:0)'
b=$(sleeper --gres=gpushare:h100:50)
check "more of a type than its GPU has left wait, whatever the other has" pends_for "$b" Resources
t 10 scancel "$b"
check "scontrol reconfigure" t 15 scontrol reconfigure
check "leaves both where they are" in_place "$h" "$any"
pid=$(pid_in "$D/run/slurmctld.pid")
kill "$pid"
until_true 15 test ! -e "$D/run/slurmctld.pid" && until_true 15 has_ended "$pid"
check "slurmctld restarts" t 20 slurmctld -f "$D/etc/slurm.conf"
until_true 10 t 3 scontrol ping
# Until the node has registered again slurmctld does not know which share is of which GPU.
check "so does that" until_true 15 in_place "$h" "$any"
g=$(sleeper --gres=gpu:h100:1)
check "a whole GPU of a type waits for its shares" until_true 10 has_reason "$g" Resources
t 10 scancel "$h"
check "and runs when they are free" reaches "$g" RUNNING 15
check "there" has "$g" 'gpu:h100:1(IDX:1)'
check "whole GPUs and shares in one job are refused" refused 'Invalid generic resource' submit --gres=gpu:1,gpushare:10 --wrap true
check "a type that no node has is refused with those that there are" refused "'l40' is neither a number of shares nor a type of GPU .* there are: a100, h100" submit --gres=gpushare:l40:10 --wrap true
check "shares of two types in one job are refused" refused 'asked for twice' \
	submit --gres=gpushare:a100:20,gpushare:h100:20 --wrap true
t 10 scancel "$any" "$g"
wait_over "$any" && wait_over "$g"

# --- configurations that do not hold together; slurmd says why ---

listed() { # slurm.conf as changed by the sed command: what slurmd makes of it
	mkdir -p "$TMP/odd"
	cp "$D/etc/gres.conf" "$D/etc/cgroup.conf" "$TMP/odd/"
	sed "$1" "$D/etc/slurm.conf" >"$TMP/odd/slurm.conf"
	[ -z "${2:-}" ] || sed -i "$2" "$TMP/odd/gres.conf"
	t 10 slurmd -G -f "$TMP/odd/slurm.conf" 2>&1 | tee -a /dev/stderr
}
# A grep that has seen enough would end slurmd before it has said everything.
says() { local pattern=$1 text; shift; text=$(listed "$@"); grep -qE -- "$pattern" <<<"$text"; }
without() { ! says "$@"; }
check "slurmd -G lists a record of 100 shares per GPU" test "$(listed '' 2>/dev/null | grep -c 'Name=gpushare.*Count=100')" = 2
check "shares without GPUs in gres/gpu: named" says 'needs its GPUs in gres/gpu' 's/Gres=gpu:[^ ]*/Gres=gpushare:100/'
check "and not reported" without 'Gres Name=gpushare' 's/Gres=gpu:[^ ]*/Gres=gpushare:100/'
check "shares for one GPU of two: named" says 'every GPU of a node has some' 's/,gpushare:h100:100//'
check "shares of a type that no GPU has: named" says 'no GPU of type l40' 's/gpushare:h100/gpushare:l40/'
# A GPU in MIG mode, as AutoDetect=nvml and as a gres.conf by hand list its instances.
mkdir -p "$D/dev/nvidia-caps" && ln -sf /dev/null "$D/dev/nvidia-caps/nvidia-cap21"
INSTANCE="s#^Name=gpu Type=h100 .*#Name=gpu Type=h100 MultipleFiles=$D/dev/gpu1,$D/dev/nvidia-caps/nvidia-cap21#"
check "a MIG instance among the GPUs: named" says 'is a MIG instance, and shares are of whole GPUs' '' "$INSTANCE"
check "and not reported" without 'Gres Name=gpushare' '' "$INSTANCE"
printf 'Mig=unverified\nNodeType=any Nodes=n1 Memory=1G\n' >"$TMP/odd/gpushare.conf"
check "with Mig=unverified in gpushare.conf it is taken" says 'Gres Name=gpushare Type=h100 Count=100' '' "$INSTANCE"
rm "$TMP/odd/gpushare.conf"
# starts_with SED-COMMAND: another slurmctld, of a changed slurm.conf and a state of its own.
starts_with() {
	local rc
	sed -e "$1" -e 's/^SlurmctldPort=.*/SlurmctldPort=1/' -e "s#$D/\(state\|log\|run\)#$TMP/odd#" "$D/etc/slurm.conf" >"$TMP/odd/slurm.conf"
	rm -f "$TMP/odd/slurmctld.log"
	timeout 10 slurmctld -D -f "$TMP/odd/slurm.conf" 2>&1
	rc=$?
	cat "$TMP/odd/slurmctld.log"
	return $rc
}
check "gpushare before gpu in GresTypes: slurmctld does not start" refused 'must name gpu before gpushare|failed to initialize prep plugin' \
	starts_with 's/^GresTypes=.*/GresTypes=gpushare,gpu/'
several() { starts_with 's/^SelectTypeParameters=.*/&,MULTIPLE_SHARING_GRES_PJ/'; }
if grep 'Bad SelectTypeParameter' <<<"$(several | grep -v gpushare:)" >/dev/null; then
	note "MULTIPLE_SHARING_GRES_PJ was not tried: before 24.05 Slurm does not know it"
else
	check "MULTIPLE_SHARING_GRES_PJ: slurmctld does not start" refused 'has MULTIPLE_SHARING_GRES_PJ: Slurm would start jobs with shares of several GPUs' several
fi
check "slurmctld had nothing to complain of" lacks 'gres.*(mismatch|overalloc|underflow)' "$D/log/slurmctld.log"
check "the node is in service" until_true 10 node_is idle
finish
