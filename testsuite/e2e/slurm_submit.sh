#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# job_submit/gpushare in a live slurmctld: what is refused at submission, with which words, and what is raised.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
start_cluster main WITH_DAEMON=0 GPU_MEMORY=80G "SPANK_ARGS=timeout=500ms absent=run"
CONF=$D/etc/gpushare.conf
CTLD=$D/log/slurmctld.log
LIMITS='Partition=low Priority=1 MaxShares=60 DefaultShares=20
Partition=high Priority=10'
conf() { # TEXT: the configuration from now on; slurmctld reads it at the next submission
	printf '%s\n' "$1" >"$TMP/conf" && mv "$TMP/conf" "$CONF"
}
conf "Gpu=0 Memory=80G
$LIMITS"

# held OPTIONS...: submits and holds; says what Slurm was asked for in the end.
held() { submit --hold "$@" --wrap true 2>"$TMP/words"; }
wants() { # JOB TRES; newer releases print gres/ for gres:
	t 10 scontrol show job "$1"
	[ "$(job_field "$1" TresPerNode | sed 's#gres/#gres:#g')" = "$2" ]
}
asks() { # TRES OPTIONS...: with these options, that is asked for
	local tres=$1 job
	shift
	job=$(held "$@") || { cat "$TMP/words"; return 1; }
	wants "$job" "$tres"
	local rc=$?
	t 10 scancel "$job"
	return $rc
}
told() { cat "$TMP/words"; grep -qE -- "$1" "$TMP/words"; }
denied() { # PATTERN OPTIONS...
	local pattern=$1
	shift
	refused "gpushare: .*$pattern" held_aloud "$@"
}
held_aloud() { submit --hold "$@" --wrap true; }

# --- numbers that are none ---

check "0 shares are refused" denied 'at least 1 is wanted' --gres=gpushare:0
check "a negative number is refused" denied "'-5' shares" --gres=gpushare:-5
check "memory in the place of shares is refused, with the option that was meant" \
	denied "shares have no unit; for device memory there is --gpushare-mem=8G" --gres=gpushare:8G
check "so is a part of a share" denied "'1.5' is no number of shares" --gres=gpushare:1.5
check "a word, which Slurm takes for a type, is told what is wanted" denied "'abc' is no number of shares, and the GPUs here have no types: write --gres=gpushare:N" --gres=gpushare:abc
check "so is a percentage" denied "'25%' is no number of shares" --gres=gpushare:25%
check "more shares than a GPU has are refused, saying how many that is" \
	denied '101 shares are more than a GPU has, which is 100' -p high --gres=gpushare:101
check "as many as it has are not" asks gres:gpushare:100 -p high --gres=gpushare:100
check "srun is told the same" refused "shares have no unit" t 10 srun --gres=gpushare:8G true
check "salloc as well" refused "at least 1 is wanted" t 10 salloc --gres=gpushare:0 true
check "one bad part of a heterogeneous job refuses all of it" refused "at least 1 is wanted" \
	t 10 sbatch --hold --gres=gpushare:10 : --gres=gpushare:0 --wrap true
check "a type that Slurm does not know is Slurm's to refuse" refused 'Invalid generic resource|not available' \
	submit --gres=gpushare:nonesuch:10 --wrap true
check "other resources are none of its business" refused 'Invalid generic resource' held_aloud --gres=nonesuch:0x
check "a job without gpushare is taken as it is" asks '' --mem=10

# --- what doc/troubleshooting.md has on Slurm's own refusal ---

# explained WHY QUOTE... -- COMMAND...: the line that gives this reason quotes what Slurm says; N in a quotation is a number.
explained() {
	local row
	row=$(grep -F "| $1" "$SRC/doc/troubleshooting.md") || { echo "no line says: $1"; return 1; }
	shift
	local quotes=()
	while [ "$1" != -- ]; do quotes+=("$1") && shift; done
	shift
	! t 20 "$@" >"$TMP/said" 2>&1 || return 1
	cat "$TMP/said"
	for quote in "${quotes[@]}"; do
		grep -F "\`$quote\`" <<<"$row" && sed -E 's/ job [0-9]+:/ job N:/' "$TMP/said" | grep -F "${quote#... }" || return 1
	done
}
INVALID='srun: error: Invalid generic resource (gres) specification'
STEP='Unable to create step for job N:'
check "a misspelt name is explained" explained 'the name is misspelt' "$INVALID" -- srun --gres=gpushar:1 true
grep -v GresTypes "$SLURM_CONF" >"$TMP/slurm.conf"
check "so is a slurm.conf without GresTypes" explained 'the name is misspelt, or GresTypes in the slurm.conf of the machine where srun' "$INVALID" -- \
	env SLURM_CONF="$TMP/slurm.conf" srun --gres=gpushare:10 true
# Slurm since 23.02.3 does not say which of the two it is.
none=() fewer=()
if [[ "$(scontrol --version)" = slurm*" 22."* ]]; then none=("Step requested GRES but job doesn't have GRES") fewer=("... is more than the job's gres_per_node"); fi
check "a step of a job without shares" explained "a step has its shares out of its job's: that has none" "$STEP" ${none[@]+"${none[@]}"} -- \
	salloc srun --gres=gpushare:10 true
check "a step with more than its job" explained "a step has its shares out of its job's: that has none, or fewer" "$STEP" ${fewer[@]+"${fewer[@]}"} -- \
	salloc --gres=gpushare:10 srun --gres=gpushare:20 true

# --- memory ---

check "memory within the shares leaves them" asks gres:gpushare:25 --gres=gpushare:25 --gpushare-mem=20G
check "more memory raises them" asks gres:gpushare:50 --gres=gpushare:25 --gpushare-mem=40G
job=$(held --gres=gpushare:25 --gpushare-mem=40G)
check "and the user is told so" told '--gpushare-mem=40G takes 50 shares of a GPU'
check "one byte more is one share more" asks gres:gpushare:26 --gres=gpushare:25 --gpushare-mem=20971521K
check "more memory than a GPU has is refused, saying how much it has" \
	denied '--gpushare-mem=81G is more than a whole GPU has, which is 80G' -p high --gres=gpushare:25 --gpushare-mem=81G
check "an array is raised like a job" asks gres:gpushare:50 --array=1-3 --gres=gpushare:25 --gpushare-mem=40G
counts() { # what is raised is counted, not only shown
	local one two
	one=$(submit --gres=gpushare:10 --gpushare-mem=48G --wrap 'exec sleep 60') || return 1
	reaches "$one" RUNNING && two=$(submit -p high --gres=gpushare:41 --wrap true) && pends_for "$two" Resources || return 1
	t 10 scancel "$one" && reaches "$two" COMPLETED
}
check "another job waits for what was raised" counts
forged() { # the option as a user who avoids SPANK would set it
	env SLURM_SPANK__SLURM_SPANK_OPTION_gpushare_gpushare_mem=81G timeout 10 sbatch --hold -p high --gres=gpushare:25 --wrap true
}
check "an option set through the environment is judged all the same" refused 'more than a whole GPU has' forged

# --- limits of partitions ---

check "more shares than the partition allows are refused" \
	denied '61 shares; partition low allows 60 \(MaxShares\)' --gres=gpushare:61
check "as many are not" asks gres:gpushare:60 --gres=gpushare:60
check "memory that takes more shares than that is refused" \
	denied '--gpushare-mem=56G takes 70 shares; partition low allows 60' --gres=gpushare:10 --gpushare-mem=56G
check "another partition is not limited" asks gres:gpushare:61 -p high --gres=gpushare:61
check "a job for several partitions keeps the limits of all" denied 'partition low allows 60' -p high,low --gres=gpushare:61
check "no number: the partition's default" asks gres:gpushare:20 --gres=gpushare
check "without a default it is Slurm's" asks gres:gpushare -p high --gres=gpushare
check "memory alone takes the partition's default" asks gres:gpushare:20 --gpushare-mem=1G
check "raised, if it must be" asks gres:gpushare:40 --gpushare-mem=32G
check "without a default memory alone is refused" denied '--gpushare-mem without --gres=gpushare:N' -p high --gpushare-mem=1G
check "a priority alone is refused" denied '--gpushare-priority without --gres=gpushare:N' --gpushare-priority=3

above() { # OPTIONS...: as an ordinary user, whose words are kept
	local job
	job=$(as_nobody timeout 10 sbatch --parsable --hold --output=/dev/null --gres=gpushare:5 "$@" --wrap true 2>"$TMP/words") || return 1
	t 10 scancel "$job"
}
lowered_aloud() { above --gpushare-priority=50 && told 'gpushare: --gpushare-priority=50 is more than jobs of partition low may have: it gets 1$'; }
check "a priority above the partition's is lowered, and the user told so" lowered_aloud
check "of another partition's as well" eval "above -p high --gpushare-priority=11 && told 'of partition high may have: it gets 10'"
quiet_below() { above -p high --gpushare-priority=10 && ! told priority; }
check "one within it is nothing to speak of" quiet_below
root_may() { job=$(held --gres=gpushare:5 --gpushare-priority=50) && t 10 scancel "$job" && ! told priority; }
check "root may have more" root_may

conf "Gpu=0 Memory=80G
Partition=low AllowGpushare=no
Partition=high Priority=10"
check "a changed configuration holds at once" denied 'partition low takes no gpushare jobs \(AllowGpushare=no\)' --gres=gpushare:5
check "also behind as many others as a job may name" denied 'partition low takes no gpushare jobs' -p "$(printf 'high,%.0s' {1..32})low" --gres=gpushare:5
check "for other jobs the partition is open" asks '' --mem=10
check "so is another partition for gpushare" asks gres:gpushare:5 -p high --gres=gpushare:5
conf "Gpu=0 Memory=80G
$LIMITS"

# --- a job that is changed while it waits ---

job=$(as_nobody timeout 10 sbatch --parsable --hold --output=/dev/null --gres=gpushare:25 --gpushare-mem=20G --wrap true)
change() { as_nobody timeout 10 scontrol update job "$job" "$@"; }
check "its user cannot raise it above the limit" refused 'Invalid generic resource' change Gres=gpushare:61
check "nor by words in which Slurm alone finds the shares" refused 'Invalid generic resource' change TresPerNode=xgres:gpushare:61
# Each task is within the limit, all of them together are not.
multiplied() {
	local job rc=1
	job=$(as_nobody timeout 10 sbatch --parsable --hold --output=/dev/null --ntasks=2 --gres=gpushare:1 --wrap true) || return 1
	change TresPerNode= TresPerTask=gres:gpushare:25 && refused 'Invalid generic resource' change NumTasks=3 &&
		refused 'Invalid generic resource' change TresPerTask=gres:gpushare:31 && rc=0
	t 10 scancel "$job"
	return $rc
}
check "nor by tasks that have shares each" multiplied
check "and slurmctld's log says why" grep -E "change of JobId=$job refused: 61 shares; partition low allows 60" "$CTLD"
check "nor to a number that is none" refused 'Invalid generic resource' change Gres=gpushare:0
lowered() { change Gres=gpushare:5 && wants "$job" gres:gpushare:25; }
check "lowering it leaves what its memory takes" lowered
raised() { change Gres=gpushare:50 && wants "$job" gres:gpushare:50; }
check "raising it within the limit is granted" raised
# Slurm 24.11 and 25.11, without any plugin, now and then refuse another partition with EAGAIN.
moved() { until_true 5 change Partition=high && change Gres=gpushare:80 && wants "$job" gres:gpushare:80; }
check "in another partition that one's limits hold" moved
check "from there it cannot come back" refused 'Invalid generic resource' change Partition=low
check "root may do so" until_true 5 t 10 scontrol update job "$job" Partition=low
check "a change of something else is not looked at" change TimeLimit=5
t 10 scancel "$job"

# --- GPUs that differ ---

# Nodes that are not there are enough: what counts is what Slurm is asked for.
cat >>"$D/etc/slurm.conf" <<-END
	NodeName=old[1-3] NodeAddr=127.0.0.1 CPUs=8 RealMemory=1000 Gres=gpushare:100 State=DOWN
	PartitionName=mixed Nodes=$(hostname -s),old[1-3] State=UP
	PartitionName=old Nodes=old[1-2] State=UP
	END
pid=$(pid_in "$D/run/slurmctld.pid")
kill "$pid"
until_true 20 has_ended "$pid" # it has the port until then
slurmctld -f "$D/etc/slurm.conf"
check "slurmctld starts with nodes of two types" until_true 10 t 3 scontrol ping
conf "NodeType=new Nodes=$(hostname -s) Memory=80G
NodeType=old Nodes=old[1-3] Memory=40G
$LIMITS"
check "memory is held against the GPUs of the partition's nodes" asks gres:gpushare:25 -p high,old --gres=gpushare:25 --gpushare-mem=10G
check "a partition of small GPUs: more shares for the same memory" asks gres:gpushare:50 -p old --gres=gpushare:25 --gpushare-mem=20G
check "and more than those have is refused" denied '--gpushare-mem=60G is more than a whole GPU has, which is 40G' -p old --gres=gpushare:25 --gpushare-mem=60G
check "both types: the shares suffice on either" asks gres:gpushare:50 -p mixed --gres=gpushare:25 --gpushare-mem=20G
apart() {
	local job
	job=$(held -p mixed --gres=gpushare:25 --gpushare-mem=60G) && wants "$job" gres:gpushare:75 || return 1
	[ "$(job_field "$job" ExcNodeList)" = 'old[1-3]' ]
}
check "memory that only one type has keeps the job off the other" apart
both() {
	local job
	job=$(held -p mixed --exclude=old2 --gres=gpushare:25 --gpushare-mem=60G) || return 1
	t 10 scontrol show job "$job"
	[ "$(job_field "$job" ExcNodeList)" = 'old[1-3]' ]
}
check "beside what the user excluded" both

# --- the configuration goes bad, or away ---

conf "Gpu=0 Memory=lots"
check "a bad configuration: the last good one stays in force" denied 'partition low allows 60' --gres=gpushare:61
check "slurmctld's log names the line" grep -E 'gpushare.conf:1: .*lots.*the configuration before it stays' "$CTLD"
once() { held --gres=gpushare:5 && [ "$(grep -c 'gpushare.conf:1: .*lots' "$CTLD")" = 1 ]; }
check "once, not at each submission" once
rm "$CONF"
check "without a file there are no limits" asks gres:gpushare:61 --gres=gpushare:61
conf "Gpu=0 Memory=lots"
check "a file that was never good: gpushare jobs are refused" denied 'slurmctld cannot read gpushare.conf' --gres=gpushare:5
check "other jobs are not" asks '' --mem=10
conf "Gpu=0 Memory=80G"
check "and it is read again as soon as it is good" asks gres:gpushare:5 --gres=gpushare:5
check "slurmctld has run all the time" t 3 scontrol ping
finish
