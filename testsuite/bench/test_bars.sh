#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bars.py on figures that are made up, and bars_gpu.sh on the emulated device and with programs that fail and hang.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

need_built gpushare-bench gpushared gpusharectl sched_bench testsuite/e2e/entries
export TMPDIR=$TMP GPUSHARE_EMU_SMS=2 GPUSHARE_EMU_MEMORY=256M
BARS=$SRC/testsuite/bench/bars.py
RUN=$SRC/testsuite/bench/bars_gpu.sh
EMU=$BUILD/src/device/emu/.libs/libcuda.so.1

# A build tree whose programs do as FAKE says.
FAKES=$TMP/fake
mkdir "$FAKES"
cat >"$FAKES/gpushare-bench" <<'END'
#!/bin/bash
while [ $# -gt 1 ]; do [ "$1" != --output ] || out=$2; shift; done
printf 'isolation,call,added_p50_ns\ncontexts,as-is,%s\n' "$FIGURE" >"$out.csv"
case $FAKE in
leaves) setsid sleep 555 & timeout 555 sleep 555 ;;
hangs) exec sleep 555 ;;
esac
END
printf '#!/bin/bash\nexit 3\n' >"$FAKES/sched_bench"
chmod +x "$FAKES"/*
fake() { # FAKE FIGURE ARGUMENT...
	FAKE=$1 FIGURE=$2 t 60 "$RUN" "${@:4}" "$FAKES" "$3" "$EMU" launch >"$TMP/out" 2>&1
}
none_left() {
	local pids
	pids=$(grep -lsa "TMPDIR=$TMPDIR" /proc/[0-9]*/environ | cut -d/ -f3)
	for p in $pids; do [ "$(cat "/proc/$p/comm" 2>/dev/null)" != sleep ] || { echo "$p is left"; return 1; }; done
}
# Five seconds more than the step is said to take: on a busy machine it begins late, and what would not end in time is not begun.
over() {
	fake leaves 100 "$TMP/over" --limit 20
	[ $? = 1 ] && cat "$TMP/out" && grep -q "failed: launch" "$TMP/out" && grep -q "^launch,124," "$TMP/over/steps.csv" &&
		grep -q "^4,launch left as it is.*,100,met$" "$TMP/out" && none_left
}
# It waits for its limit, the others do not.
apart over over

# --- bars.py ---

fresh() { # an empty folder of measurements
	M=$TMP/measured
	rm -rf "$M"
	mkdir "$M"
}
bars() { t 20 "$BARS" "$@" >"$TMP/out" 2>"$TMP/err"; }
# says STATUS LINE...: of the last bars
says() {
	local got=$? status=$1 line
	shift
	cat "$TMP/out" "$TMP/err"
	[ $got = "$status" ] || return 1
	for line; do grep -qFx -- "$line" "$TMP/out" "$TMP/err" -h || { echo "not said: $line"; return 1; }; done
}
row() { # NAME.csv HEADING ROW...
	printf '%s\n' "# a comment, with commas" "${@:2}" >"$M/$1"
}

met() {
	fresh
	row overhead.csv isolation,kernel,ratio contexts,one,0.5 contexts,two,2.0 mps,three,9
	row launch.csv isolation,call,added_p50_ns none,as-is,5000 contexts,as-is,100 contexts,evictable,
	bars "$M"
	says 1 "issue,bar,limit,figure,state" "4,overhead: geometric mean,<= 1.00,1,met" "4,overhead: kernels,>= 20,2,NOT MET" \
		"4,overhead: worst,<= 1.05,2,NOT MET" "4,launch left as it is: added p50 ns,<= 100,100,met" \
		"4,launch where the stream is held: added p50 ns,<= 2000,,not measured" "4,daemon with 8 clients: % of a core,<= 5,,not measured"
}
check "met, not met, not measured" met
only_met() {
	fresh
	row daemon.csv isolation,clients,cpu_percent contexts,8,5 contexts,4,50
	bars "$M"
	says 0 "4,daemon with 8 clients: % of a core,<= 5,5,met"
}
check "status 0 if what was measured is met" only_met
committed_names() {
	fresh
	row h200-eviction.csv isolation,beyond_p50_us,beyond_p99_us contexts,9,31 contexts,11,32
	bars "$M"
	says 1 "4,eviction beyond one block-task: median us,<= 10,11,NOT MET" "4,eviction beyond one block-task: p99 us,<= 32,32,met"
}
check "the names of doc/measurements" committed_names
MIX=isolation,policy,rounds,antt,sim_antt,dntt,sim_dntt,dntt_avg,sim_dntt_avg,stp,sim_stp,makespan_ms,sim_makespan_ms,makespan_per_sum
longest_first() { # the 600 rounds before the 70, whose srt counts nevertheless; 39 are too few
	fresh
	row mix-frs.csv $MIX contexts,frs,70,3,3,1,1,0.29,0.2,4,4,10,10,1.07 contexts,srt,70,2,2,1,1,1,1,5,5,10,11.2,1.05
	row mix-frs600.csv $MIX contexts,frs,600,3.1,3,1,1,0.2,0.22,4,4,10,10,1.05
	row mix-mps.csv $MIX mps,frs,39,3,3,1,1,0.29,0.2,4,4,10,10,1.07
	bars "$M"
	says 1 "5,frs contexts: ANTT,<= 3.2,3.1,met" "5,frs contexts: off the simulator,<= 0.10,0.0909091,met" \
		"5,srt contexts: off the simulator,<= 0.10,0.107143,NOT MET" "5,frs mps: ANTT,<= 2.7,,not measured"
}
check "of several files the first that has the rows; the farthest from the simulator" longest_first
texts() {
	fresh
	printf '%s\n' "random.1.1:125000 operations in 1.0 s: 5 granted, 4 refused, 0 failed otherwise" \
		"random.1.2:125000 operations in 1.0 s: 5 granted, 4 refused, 3 failed otherwise" \
		"random.looks:at most 513.5 of 512 MiB granted, in 9 looks" >"$M/random.txt"
	bars "$M"
	says 1 "7,random: processes,>= 8,1,NOT MET" "7,random: operations,>= 1000000,250000,NOT MET" \
		"7,random: MiB granted at most of 512,<= 512,513.5,NOT MET"
}
check "lines of a text" texts
ratio() {
	fresh
	row table2-slurm.csv mode,task,priority,came,order,response_s,status fcfs:fifo,t1,3,1,1,4,0 fcfs:fifo,t2,1,2,3,1,0
	bars "$M"
	says 1 "7,Table 2 as Slurm jobs: high priority's response per FCFS's,< 1,,not measured" "7,Table 2 as Slurm jobs: FCFS out of order,<= 0,0.5,NOT MET"
	echo rbdm-strict:hpfw,t1,3,1,1,1,0 >>"$M/table2-slurm.csv"
	bars "$M"
	says 1 "7,Table 2 as Slurm jobs: high priority's response per FCFS's,< 1,0.25,met"
}
check "one figure by another, if both are there" ratio
several() {
	fresh
	row daemon.csv isolation,clients,cpu_percent contexts,8,4
	mkdir "$M/2"
	printf '%s\n' isolation,clients,cpu_percent contexts,8,40 >"$M/2/daemon.csv"
	printf '%s\n' step,status entries,0 >"$M/2/steps.csv"
	bars "$M" "$M/2"
	says 0 "4,daemon with 8 clients: % of a core,<= 5,4,met" "7,neighbour beside the entries: exit status,<= 0,0,met"
}
check "several folders, the first that has a file" several
json() {
	bars --json "$M" "$M/2"
	python3 - "$TMP/out" "$M" <<-'EOF'
	import json, sys
	rows = {r["bar"]: r for r in json.load(open(sys.argv[1]))}
	r = rows["daemon with 8 clients: % of a core"]
	assert r == {"issue": "4", "bar": r["bar"], "limit": "<= 5", "figure": 4, "state": "met", "file": sys.argv[2] + "/daemon.csv"}, r
	r = rows["overhead: worst"]
	assert r["figure"] is None is r["file"] and r["state"] == "not measured", r
	EOF
}
check "JSON" json
# malformed LINE WORDS HEADING ROW...: daemon.csv says nothing then, and where it is wrong.
malformed() {
	fresh
	row daemon.csv "${@:3}"
	bars "$M"
	says 1 "bars.py: $M/daemon.csv:$1: $2" "4,daemon with 8 clients: % of a core,<= 5,,not measured"
}
check "no number" malformed 4 "'4.0x' is not a number" isolation,clients,cpu_percent contexts,8,3 contexts,8,4.0x
check "no figure" malformed 3 "nan is not a figure" isolation,clients,cpu_percent contexts,8,nan
check "too many fields" malformed 4 "4 fields in a table of 3 columns" isolation,clients,cpu_percent contexts,8,3 contexts,8,4,5
check "too few" malformed 3 "ends before column 'cpu_percent'" isolation,clients,cpu_percent contexts,8
check "no such column" malformed 2 "no column 'cpu_percent'" isolation,clients,percent contexts,8,4
cut_off() {
	fresh
	printf 'isolation,clients,cpu_percent\ncontexts,8,4.0\ncontexts,8,1' >"$M/daemon.csv"
	bars "$M"
	says 1 "bars.py: $M/daemon.csv:3: the line is cut off" "4,daemon with 8 clients: % of a core,<= 5,,not measured"
}
check "a line that is cut off" cut_off
empty() {
	fresh
	: >"$M/daemon.csv"
	bars "$M"
	says 1 "bars.py: $M/daemon.csv:1: no table"
}
check "an empty file" empty
# wrong_table WORDS ROW: a table of bars
wrong_table() {
	fresh
	printf '%s\n' "# bars" issue,bar,limit,files,figure "$2" >"$TMP/wrong.csv"
	bars --bars "$TMP/wrong.csv" "$M"
	says 2 "bars.py: $TMP/wrong.csv:3: $1"
}
check "a bar without a figure is refused" wrong_table "4 fields instead of 5" "4,a bar,<= 1,overhead"
check "an unknown limit is refused" wrong_table "'about 1' is no limit" "4,a bar,about 1,overhead,max(ratio)"
check "an unknown aggregate is refused" wrong_table "'most(ratio)' is no figure" "4,a bar,<= 1,overhead,most(ratio)"
check "an unknown condition is refused" wrong_table "'ratio<1' is no condition" "4,a bar,<= 1,overhead,max(ratio | ratio<1)"
no_folder() { bars "$TMP/nosuch"; [ $? = 2 ] && grep -q nosuch "$TMP/err"; }
check "a folder that is not there" no_folder
committed() {
	bars "$SRC/doc/measurements"
	[ $? -le 1 ] || return 1
	cat "$TMP/err" "$TMP/out"
	# Of the option that takes a processor (its bars begin with its name) no measurement is kept.
	[ ! -s "$TMP/err" ] && ! grep "^4,[^L].*not measured" "$TMP/out"
}
check "doc/measurements is understood, and has every bar of issue 4 that needs no option" committed

# --- bars_gpu.sh ---

listed() {
	t 10 "$RUN" --list | tee "$TMP/list"
	grep -q '^launch  *15 .* verb launch$' "$TMP/list"
}
check "the steps are listed" listed
calls() {
	local call seconds all=0
	for call in 1 2 3 4; do
		seconds=$(t 10 "$RUN" --list "call$call" | awk '/ in all/ { print $4 }')
		echo "call $call: $seconds s"
		[ "$seconds" -le 540 ] || return 1
		all=$((all + seconds))
	done
	[ "$(t 10 "$RUN" --list | awk '/ in all/ { print $4 }')" = $all ]
}
check "each call ends within ten minutes, and each step is in one" calls
# What the bars are read from, some step leaves, and the other way round.
files() {
	{ echo steps.csv; sed -n '/^table()/,/^END/p' "$RUN" | awk -F'|' 'NF > 4 { print $5 }' | tr ' ' '\n' | sed 's/.*=//' | grep -v '\.svg$\|^table2\.csv$'; } | sort >"$TMP/left"
	grep -v '^#\|^issue,' "$SRC/testsuite/bench/bars.csv" | cut -d, -f4 | tr ' ' '\n' | sed '/\./!s/$/.csv/' | sort -u | diff - "$TMP/left"
}
check "every bar's file is a step's, and every step has a bar" files
refused() { # WORDS ARGUMENT...
	t 10 "$RUN" "${@:2}" >"$TMP/out" 2>"$TMP/err"
	[ $? = 2 ] && cat "$TMP/err" && grep -qF -- "$1" "$TMP/err"
}
check "an unknown step is refused" refused "no step 'nosuch'" "$BUILD" "$TMP/run" "$EMU" launch nosuch
check "an unknown option is refused" refused "no option --nosuch" --nosuch "$BUILD" "$TMP/run"
check "a limit that is none is refused" refused "--limit takes seconds" --limit soon "$BUILD" "$TMP/run"
check "a driver that is not there is refused" refused "no driver $TMP/nosuch.so" "$BUILD" "$TMP/run" "$TMP/nosuch.so"
check "a folder that is no build tree is refused" refused "no gpushare-bench in $TMP" "$TMP" "$TMP/run"

emulated() {
	local status
	MORE="--count 200 --runs 2" t 100 "$RUN" --limit 90 "$BUILD" "$TMP/run" "$EMU" launch decide overhead daemon >"$TMP/out" 2>&1
	status=$?
	cat "$TMP/out"
	[ $status -le 1 ] && grep -q "step 1 of 4: decide, about 5 s" "$TMP/out" && grep -q "step 2 of 4: launch: [0-9]* s, status 0" "$TMP/out" &&
		grep -q "step 4 of 4: daemon: [0-9]* s, status 2" "$TMP/out" && [ -s "$TMP/run/launch.csv" ] &&
		[ "$(cut -d, -f1,2 "$TMP/run/steps.csv" | tr '\n' ' ')" = "step,status decide,0 launch,0 overhead,2 daemon,2 " ] &&
		grep -q "^4,launch left as it is: added p50 ns,<= 100,-\?[0-9.]*,\(met\|NOT MET\)$" "$TMP/out" &&
		grep -q "^5,deciding with 64 runnable: mean ns,< 2000,[0-9.]*,\(met\|NOT MET\)$" "$TMP/out"
}
check "steps on the emulated device: two measure, two fail for a wrong option, all are begun" emulated

# The one part of the entries that is measured by itself: its file has a heading all the same.
frames() {
	: >"$TMP/err"
	GPUSHARE_EMU_DEVICE=$TMP/device GPUSHARE_EMU_MEMORY=1G MEMORY=800 CONTEXT_COST=16 t 100 "$RUN" "$BUILD" "$TMP/frames" "$EMU" frames >"$TMP/out" 2>&1
	says 0 "7,frames at the limit: granted of 100,>= 100,100,met" "7,frames at the limit: refused of 100,>= 100,100,met" \
		"7,neighbour beside the frames: exit status,<= 0,0,met"
}
check "the frames at the limit, on the emulated device" frames

verdict() {
	fake "" 100 "$TMP/good" && grep -q "^4,launch left as it is.*,100,met$" "$TMP/out" || return 1
	fake "" 101 "$TMP/bad"
	[ $? = 1 ] && grep -q "^4,launch left as it is.*,101,NOT MET$" "$TMP/out" && grep -q "failed: none" "$TMP/out"
}
check "status 0 if the bars are met, 1 if one is not" verdict
again() { # with what was measured before, but not of this step
	fake "" 100 "$TMP/good" && [ "$(grep -c ^launch, "$TMP/good/steps.csv")" = 1 ] || return 1
	FAKE='' FIGURE=100 t 60 "$RUN" "$FAKES" "$TMP/good" "$EMU" decide >"$TMP/out" 2>&1
	[ $? = 1 ] && grep -q "failed: decide" "$TMP/out" && grep -q "^4,launch left as it is.*,100,met$" "$TMP/out" &&
		[ "$(cut -d, -f1,2 "$TMP/good/steps.csv" | tr '\n' ' ')" = "step,status launch,0 decide,3 " ]
}
check "a second run into the same folder, whose step fails" again
late() {
	fake "" 100 "$TMP/late" --limit 3 && grep -q "launch: not begun" "$TMP/out" && [ ! -e "$TMP/late/launch.csv" ]
}
check "what would not end in time is not begun" late
# What the step "programs" runs; a program that does not end must not cost the others' rows.
cut_off() { # SECONDS: after so long
	rm -f "$TMP/programs.csv"
	printf '#!/bin/sh\nexec sleep %d\n' $(($1 + 2)) >"$TMP/bin/events"
	chmod +x "$TMP/bin"/*
	t "$1" "$SRC/testsuite/programs/run-all" --driver "$EMU" --build "$BUILD" --bin "$TMP/bin" --nvcc "" --csv "$TMP/programs.csv" streams events
	[ $? = 124 ] && until_true 5 has_streams
}
has_streams() { [ "$(grep -c '^streams,.*,ok,0,' "$TMP/programs.csv")" = 4 ]; }
programs_cut_off() { # on a busy machine the others take longer than that
	local s
	mkdir -p "$TMP/bin"
	printf '#!/bin/sh\necho right\n' >"$TMP/bin/streams"
	for s in 3 9 27; do
		! cut_off $s || return 0
		cat "$TMP/programs.csv"
	done
	return 1
}
check "a run of the programs that is cut off leaves the rows that it has" programs_cut_off
check "a step that hangs is ended, with all that it began; what it measured is kept" joined over
interrupted() {
	local pid
	local -x TMPDIR=$TMP/interrupted # what is cut off above may last a little
	mkdir "$TMPDIR"
	FAKE=hangs FIGURE=100 "$RUN" "$FAKES" "$TMP/int" "$EMU" launch daemon >"$TMP/out" 2>&1 & pid=$!
	pids=("$pid")
	until_true 20 test -s "$TMP/int/launch/launch.csv" || return 1
	kill -TERM $pid
	wait $pid
	[ $? = 1 ] && cat "$TMP/out" && ! grep "daemon, about" "$TMP/out" && grep -q "^4,launch left as it is.*,100,met$" "$TMP/out" && none_left
}
check "an interruption ends the step and says what was measured" interrupted
finish
