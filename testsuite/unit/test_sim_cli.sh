#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushare-sim as its user meets it: options, formats, exit statuses, and a man page that agrees.
set -u
srcdir=${srcdir:-.}
sim=./gpushare-sim
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

fail() {
	echo "FAIL: $*"
	failed=1
}

# status WANT WORDS ARGUMENT...: exit status, and words that standard error must hold
status() {
	want=$1 words=$2
	shift 2
	timeout 60 "$sim" "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	[ "$got" -eq "$want" ] || fail "$* exits $got instead of $want"
	[ -z "$words" ] || grep -qF -e "$words" "$dir/err" || fail "$* does not say '$words': $(cat "$dir/err")"
}

w=$srcdir/testsuite/workloads/effisha-group.csv
status 2 "--policy and --workload must be given"
status 2 "unexpected 'more'" -p piv -w "$w" more
status 2 "--format: 'png' is not a format" -p piv -w "$w" -f png
status 2 "--handover: '-1' is not a duration" -p piv -w "$w" --handover -1
status 2 "--rounds: 0 is not between 1" -p piv -w "$w" --rounds 0
status 2 "Try 'gpushare-sim --help'" --no-such-option
status 1 "'lottery' is not a policy: choose one of fifo" -p lottery -w "$w"
status 1 "cannot open: No such file" -p piv -w "$dir/none.csv"
printf 'name,length_ms\na,1\nb,-4\n' >"$dir/bad.csv"
status 1 "bad.csv:3:3: length_ms: '-4' is negative" -p piv -w "$dir/bad.csv"
status 1 "longer than zero" -p rr -w "$w" --rr-quantum 0
status 2 "--costs: four or seven durations are wanted" -p rr -w "$w" --costs 1,2,3
status 2 "--costs: four or seven durations are wanted" -p rr -w "$w" --costs 1,2,3,4,5
status 2 "--costs: four or seven durations are wanted" -p rr -w "$w" --costs 1,2,3,4,5,6,7,8
status 2 "--quantum-handovers: 1001 is not between" -p rr -w "$w" --quantum-handovers 1001
status 2 "--gpus says nothing without --trace" -p rr -w "$w" --gpus 2
status 2 "--cycle says nothing without --memory" -p rr -w "$w" --cycle 2
status 2 "--rounds says nothing with --memory" --memory rbdm --capacity 8 -w "$w" --rounds 2
status 2 "--handover says nothing with --memory" --memory rbdm --capacity 8 -w "$w" --handover 1
status 2 "--shuffle says nothing with --trace" --trace - --gpus 2 -p rr --shuffle
status 2 "--capacity says nothing with --trace" --trace - --gpus 2 -p rr --capacity 4
status 0 "" --version
grep -q '^gpushare-sim [0-9]' "$dir/out" || fail "--version prints $(cat "$dir/out")"

# Rows and summaries of every policy, from standard input too.
status 0 "" -p all -w "$w" -f csv
policies=$(sed -n 's/^POLICY(\([a-z0-9_]*\),.*/\1/p' "$srcdir/src/gpushare/sched/policies.def")
for p in $policies; do
	grep -q "^# policy $p\$" "$dir/out" || fail "no rows of $p"
	grep -q "^$p,[0-9.,]*\$" "$dir/out" || fail "no summary of $p"
done
timeout 60 "$sim" -p piv -w - -f csv <"$w" | grep -q '^Sort,3.000000,74.1' || fail "standard input"
for f in json table trace svg; do
	status 0 "" -p frs -w "$w" -f "$f"
	[ -s "$dir/out" ] || fail "format $f is empty"
done
[ -w /dev/full ] && { timeout 60 "$sim" -p piv -w "$w" >/dev/full 2>"$dir/err"
	[ $? -eq 1 ] || fail "a full disk is not noticed"; }

# Two equal rounds are, on average, the one.
for file in "$srcdir"/testsuite/workloads/*.csv; do
	for f in csv json table; do
		for o in "" "--handover 0.1" "--gap 1"; do
			# shellcheck disable=SC2086 # an option and its value
			timeout 60 "$sim" -p all -w "$file" -f $f $o >"$dir/one" || fail "$file $f $o"
			# shellcheck disable=SC2086
			timeout 60 "$sim" -p all -w "$file" -f $f $o --rounds 2 >"$dir/two" || fail "$file $f $o twice"
			cmp "$dir/one" "$dir/two" || fail "$file $f $o: one round differs from the mean of two"
		done
	done
done
# So is one whose kernels do not stand in the order of time, and one that comes through a pipe.
{ grep -v '^[A-Z]' "$w"; grep '^[A-Z]' "$w" | sort; } >"$dir/sorted.csv"
cmp -s "$w" "$dir/sorted.csv" && fail "the workload is in order of its names already"
timeout 60 "$sim" -p all -w "$dir/sorted.csv" -f csv >"$dir/one" || fail "not in order of time"
timeout 60 "$sim" -p all -w "$dir/sorted.csv" -f csv --rounds 2 >"$dir/two" || fail "not in order of time, twice"
cmp "$dir/one" "$dir/two" || fail "not in order of time: one round differs from the mean of two"
cat "$dir/sorted.csv" | timeout 60 "$sim" -p all -w - -f csv >"$dir/two" || fail "a pipe"
cmp "$dir/one" "$dir/two" || fail "a pipe differs from a file"
truncate -s 1073741825 "$dir/huge.csv"
status 1 "$dir/huge.csv: larger than 1 GiB" -p piv -w "$dir/huge.csv"
status 1 "cannot read: Is a directory" -p piv -w "$dir"

# By hand: a starts at 1, is evicted at 3; b at 5, ended at 7; a again at 10.
printf 'name,arrival_ms,length_ms,block_tasks\na,0,4.5,4\nb,0,2.5,2\n' >"$dir/two.csv"
status 0 "" -p rr -w "$dir/two.csv" -f csv --rr-quantum 2 --handover 0.5 --quantum-handovers 3 --costs 3ms,2,1,500us
[ "$(cut -d, -f1-4 "$dir/out" | grep '^[ab],')" = "a,0.000000,1.000000,12.000000
b,0.000000,5.000000,7.000000" ] || fail "costs: $(grep '^[ab],' "$dir/out")"

# a is told at 3 and leaves at 3.25; b as before, from 5.25 to 7.25; a is back after 1 ms.
status 0 "" -p rr -w "$dir/two.csv" -f csv --rr-quantum 2 --handover 0.5 --quantum-handovers 3 --costs 3ms,2,1,500us,1,9,250us
[ "$(cut -d, -f1-4 "$dir/out" | grep '^[ab],')" = "a,0.000000,1.000000,10.000000
b,0.000000,5.250000,7.250000" ] || fail "seven costs: $(grep '^[ab],' "$dir/out")"

# In turns c goes last in the epoch of 12 to 18; else a and b have, from 12 on, the longer waits, but only until 15.
printf 'name,arrival_ms,length_ms\na,0,20\nb,0,20\nc,6.3,1\n' >"$dir/three.csv"
for o in "16 " "15 --cfs-longest-wait"; do
	# shellcheck disable=SC2086 # an option or none
	status 0 "" -p cfs -w "$dir/three.csv" -f csv --cfs-epoch 6 ${o#* }
	grep -q "^c,6.300000,${o%% *}.000000," "$dir/out" || fail "cfs ${o#* }: $(grep '^c,' "$dir/out")"
done

# Periodic kernels: b is due first at 0, and evicts a at 32.
printf 'name,length_ms,period_ms,deadline_ms\na,4,10,10\nb,2,8,5\n' >"$dir/periodic.csv"
status 0 "" -p edf -w "$dir/periodic.csv" --until 40 -f csv
head -n 1 "$dir/out" | grep -q '^name,period_ms,deadline_ms,jobs,missed,response_p50_ms,' || fail "columns of --until: $(head -n 1 "$dir/out")"
grep -q '^a,10.000000,10.000000,4,0,4.000,6.000,6.000,4.000,4.000,4.000,' "$dir/out" || fail "a of --until: $(grep '^a,' "$dir/out")"
grep -q '^b,8.000000,5.000000,5,0,2.000,' "$dir/out" || fail "b of --until: $(grep '^b,' "$dir/out")"
grep -q '^edf,9,0,' "$dir/out" || fail "sum of --until: $(grep '^edf,' "$dir/out")"
status 0 "" -p all -w "$dir/periodic.csv" --until 40 -f json
python3 -c 'import json, sys; p = json.load(open(sys.argv[1]))["policies"]; assert len(p) >= 10 and all(k["jobs"] for q in p for k in q["kernels"]), p' "$dir/out" ||
	fail "JSON of --until"
status 0 "" -p edf -w "$dir/periodic.csv" --until 40
status 1 "formats csv, json and table only" -p edf -w "$dir/periodic.csv" --until 40 -f svg
status 2 "--rounds says nothing with --until" -p edf -w "$dir/periodic.csv" --until 40 --rounds 3
status 2 "--until must be later than zero" -p edf -w "$dir/periodic.csv" --until 0
status 2 "--policy and --workload must be given" -p edf --until 5
status 2 "--until says nothing with --trace" --trace - --gpus 2 -p rr --until 5

# Kernels that run at once: SMK's Figure 8, 6 blocks and 12.
smk=$srcdir/testsuite/workloads/corun/smk-figure8.csv
status 0 "" --corun "$smk" --sm 61440,100K,3840,32 -f csv
[ "$(cut -d, -f1,3,4,8 "$dir/out" | tr '\n' ' ')" = 'name,alone_blocks,spart_sms,partition_blocks K1,10,66,6 K2,16,66,12 ' ] ||
	fail "SMK's Figure 8 is $(cat "$dir/out")"
status 0 "" --corun "$smk" --sms 3
grep -q '^K1 .* 2 ' "$dir/out" || fail "three multiprocessors are not divided into 2 and 1: $(cat "$dir/out")"
status 2 "must not be given" --corun "$smk" -p frs
status 2 "--sms says nothing without --corun" -p frs -w "$w" --sms 3
status 2 "--rounds says nothing with --corun" --corun "$smk" --rounds 3
status 2 "--sm: registers, shared memory, threads and blocks are wanted" --corun "$smk" --sm 1,2,3
status 2 "--sm: registers, shared memory, threads and blocks are wanted" --corun "$smk" --sm 1,2,3,4,5
status 1 "--corun has the formats csv and table only" --corun "$smk" -f json
corun() { # WORDS CONTENTS: refused
	printf "$2" >"$dir/corun.csv"
	status 1 "$dir/corun.csv:$1" --corun "$dir/corun.csv"
}
corun " no kernels" 'name,registers,threads\n'
corun "1: 'speed' is not a column" 'name,speed\n'
corun "1: name, registers and threads must be among" 'name,registers\n'
corun "3: fewer fields" '# of a thread\nname,registers,threads\na,32\n'
corun "2: more fields" 'name,registers,threads\na,32,64,1\n'
corun "2: 1025 is not between" 'name,registers,threads\na,32,1025\n'
corun "2: a block of 'a' does not fit" 'name,registers,threads,shared\na,32,64,1M\n'
corun "18: more than 16 kernels" "name,registers,threads\n$(for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do printf 'k%s,8,32\\n' $i; done)"

# Admission to memory: Table 2 of RBDM, t2 first and t20 last.
t2=$srcdir/testsuite/workloads/rbdm-table2.csv
status 0 "" --memory rbdm-strict --wake smhpfw --capacity 4800 --age 100 -w "$t2" -f csv
grep -q '^t2,3,3137,1568,3,4,1,' "$dir/out" || fail "t2 of Table 2: $(grep '^t2,' "$dir/out")"
grep -q '^t20,1,727,121,7,26,15,' "$dir/out" || fail "t20 of Table 2: $(grep '^t20,' "$dir/out")"
grep -q '^3,7,[0-9.]*,[0-9.]*$' "$dir/out" || fail "no sums of priority 3"
# Both columns of the paper, and RM, as printed; a column by its name.
columns='name,priority,memory_mb,rm_mb,operations,ready_cycle,rank,start_ms,finish_ms'
column() { sed -n 's/^t[0-9]*,//p' "$dir/out" | cut -d, -f"$1" | tr '\n' ' '; }
status 0 "" --memory rbdm-strict --wake fifo --capacity 4800 -w "$t2" -f csv
[ "$(head -n 1 "$dir/out")" = "$columns" ] || fail "the columns are $(head -n 1 "$dir/out")"
[ "$(column 3)" = "570 1568 105 644 1131 528 206 523 603 452 700 666 493 31 457 1281 190 263 355 121 " ] ||
	fail "RM of Table 2: $(column 3)"
[ "$(column 6)" = "3 1 4 3 2 6 4 5 8 9 7 7 7 11 12 10 13 11 14 15 " ] || fail "RBDM of Table 2: $(column 6)"
# The smallest count of operations whose sum covers M.
awk -F, '/^t[0-9]/ && !($4 * $5 >= $3 && $4 * ($5 - 1) < $3) { exit 1 }' "$dir/out" || fail "operations of Table 2"
# The first one needs a million reserve operations.
{ echo name,length_ms,priority,memory_mb; echo many,5,1,1000000; seq 1000 | sed 's/.*/k&,1,&,1/'; } >"$dir/operations.csv"
status 1 "more than 292 years" --memory rbdm-strict --capacity 2000000 --cycle 24h -w "$dir/operations.csv"
status 0 "" --memory rbdm-strict --capacity 2000000 --cycle 1ms -w "$dir/operations.csv"
{ echo name,length_ms; seq 220000 | sed 's/.*/k&,86400000/'; } >"$dir/days.csv"
status 1 "more than 292 years" -p fifo -w "$dir/days.csv"
# Who finds the memory free has it as it comes (t1 in cycle 1), not once its reservation is covered (cycle 7).
status 0 "" --memory rbdm --wake fifo --capacity 4800 -w "$t2" -f csv
grep -q '^t1,1,3421,570,7,7,3,1.000000,' "$dir/out" || fail "t1 of Table 2 under rbdm: $(grep '^t1,' "$dir/out")"
status 0 "" --memory fcfs --capacity 4800 -w "$t2" -f csv
[ "$(column 6)" = "$(seq 20 | tr '\n' ' ')" ] || fail "FCFS of Table 2: $(column 6)"
status 0 "" --memory fcfs --capacity 4800 -w "$t2"
status 2 "with --memory, --capacity and --workload" --memory rbdm -w "$t2"
status 2 "--memory: 'lru' is none of rbdm, rbdm-strict and fcfs" --memory lru
status 2 "--capacity: 0 is not between" --capacity 0
status 1 "'lottery' is not a wake-up policy" --memory rbdm --wake lottery --capacity 4800 -w "$t2"
status 1 "$t2:4: t1: needs 3421 of 3000 MB" --memory rbdm --capacity 3000 -w "$t2"
status 1 "formats csv and table only" --memory rbdm --capacity 4800 -w "$t2" -f svg
status 1 "$w:3: NeuralNet: needs memory_mb and a priority" --memory rbdm --capacity 4800 -w "$w"

# Every option of --help is in the man page and the other way round.
timeout 60 "$sim" --help >"$dir/help" || fail "--help"
grep -o -e '--[a-z][a-z-]*' "$dir/help" | sort -u >"$dir/of-help"
sed 's/\\-/-/g' "$srcdir/doc/gpushare-sim.1" | grep -o -e '--[a-z][a-z-]*' | sort -u >"$dir/of-man"
diff "$dir/of-help" "$dir/of-man" || fail "--help and gpushare-sim(1) disagree"
for p in $policies; do
	grep -q "^ *$p " "$dir/help" || fail "--help lacks $p"
done
exit $failed
