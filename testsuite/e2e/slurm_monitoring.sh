#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What monitoring gets of Slurm's jobs: metrics with labels to join on, the files for dcgm-exporter, energy, and who is idle.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared .libs/fake_nvml.so gpushare-demo-triad
export FAKE_NVML=$TMP/nvml FAKE_NVML_WATTS=300
: >"$FAKE_NVML"
start_cluster main GPU_MEMORY=512M GPUSHARE_EXTRA="JobEnv=GPUSHARE_EMU_MEMORY=512M
DcgmJobDir=$TMP/dcgm
MemoryParameters=check=200ms,nvml=$BUILD/.libs/fake_nvml.so"

EXPOSITION=$SRC/testsuite/e2e/exposition
DASHBOARD=$SRC/contrib/grafana/gpushare-grafana.json
figure() { # METRIC JOB: its value
	t 5 gpusharectl metrics | sed -n "s/^$1{.*job=\"$2\".*} //p" | head -n 1
}
over() { # METRIC JOB LEAST
	local v
	v=$(figure "$1" "$2")
	echo "$1 of job $2: ${v:-nothing}"
	[ -n "$v" ] && awk -v v="$v" -v least="$3" 'BEGIN { exit !(v >= least) }'
}
submit_as_nobody() { (cd / && setpriv --reuid=nobody --regid=nogroup --clear-groups timeout 10 sbatch --parsable --output="$D/out/%j" "$@"); }
busy=$(submit_as_nobody -p high --gres=gpushare:30 --gpushare-mem=64M --wrap "gpushare-demo-triad --elements 262144 --passes 40000")
# A notebook: a shell that has memory and shares and does nothing for a while.
sleeper=$(submit_as_nobody -p low --account=physics --gres=gpushare:20 --gpushare-mem=64M --wrap "sleep 300")
check "a job that computes and one that sleeps run" reaches "$busy" RUNNING
check "the other one" reaches "$sleeper" RUNNING
check "the first computes" until_true 20 over gpushare_step_active_seconds_total "$busy" 0.5

labels() {
	t 5 gpusharectl metrics >"$TMP/metrics" && cat "$TMP/metrics" &&
		grep -E "^gpushare_step_shares\{job=\"$busy\",step=\"batch\",user=\"nobody\",account=\"[^\"]*\",partition=\"high\",gpu=\"0\",UUID=\"\"\} 30$" "$TMP/metrics" &&
		grep -E "^gpushare_step_shares\{job=\"$sleeper\",.*account=\"physics\"," "$TMP/metrics" && grep -xF 'gpushare_gpu_shares{gpu="0",UUID=""} 100' "$TMP/metrics"
}
check "the metrics have job, step, user, account, partition, GPU and its UUID" labels
exposed() { t 5 gpusharectl metrics | "$EXPOSITION" "$DASHBOARD"; }
check "Prometheus reads them, and the dashboard asks for no others" exposed
if command -v promtool >/dev/null; then
	linted() { t 5 gpusharectl metrics | timeout 20 promtool check metrics; }
	check "promtool has nothing to say" linted
else
	note "promtool was not asked: it is not installed"
fi

mapped() { [ "$(sort -n "$TMP/dcgm/0")" = "$(printf "%s\n" "$@" | sort -n)" ]; } # in the order in which they came
check "dcgm-exporter finds both jobs on GPU 0" until_true 5 mapped "$busy" "$sleeper"
check "each GPU has one file, and nothing else is in the folder" test "$(ls "$TMP/dcgm")" = 0

check "the job that computes uses energy" until_true 20 over gpushare_step_energy_joules_total "$busy" 100
none() { [ "$(figure gpushare_step_energy_joules_total "$sleeper")" = 0 ]; }
check "the one that sleeps uses none" none
# 300 W for the time that it had the GPU.
metered() {
	local joules seconds
	joules=$(figure gpushare_step_energy_joules_total "$busy") seconds=$(figure gpushare_step_active_seconds_total "$busy")
	awk -v j="$joules" -v s="$seconds" 'BEGIN { print j, s, j / s; exit !(j / s > 150 && j / s < 310) }'
}
check "it is what the GPU takes, for the time that it had it" metered
check "the one that sleeps is idle" until_true 20 over gpushare_step_idle_seconds "$sleeper" 6
awake() { [ "$(figure gpushare_step_idle_seconds "$busy")" = 0 ]; }
check "the one that computes is not" awake

# The same for people: since when, whose account, how many joules.
told() {
	t 5 gpusharectl status --json >"$TMP/status" && cat "$TMP/status" && t 5 gpusharectl status --format=job,idle_since,account,energy_j >"$TMP/table" && cat "$TMP/table" &&
		python3 - "$TMP/status" "$busy" "$sleeper" <<-'EOF'
		import json, sys, time
		steps = {str(s["job"]): s for s in json.load(open(sys.argv[1]))["steps"]}
		busy, sleeper = steps[sys.argv[2]], steps[sys.argv[3]]
		assert sleeper["reason"].startswith("idle since ") and busy["reason"] is None, (sleeper, busy)
		assert busy["idle_since"] is None and busy["energy_j"] > 0, busy
		assert 5 <= time.time() - sleeper["idle_since"] < 300 and sleeper["account"] == "physics" and sleeper["energy_j"] == 0, sleeper
	EOF
}
check "status says since when it is idle" told

t 10 scancel "$busy"
check "a job that is over is in no file" until_true 20 mapped "$sleeper"
t 10 scancel "$sleeper"
empty() { [ ! -s "$TMP/dcgm/0" ]; }
check "without jobs it is empty" until_true 20 empty
finish
