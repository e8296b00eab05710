#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Device memory taken back from a step of low priority, and its return: contents, kernels, refusals, deaths, restarts.
. "$(dirname "${BASH_SOURCE[0]}")/memory_lib.sh"
need_built testsuite/e2e/until
SHORT=(gpushare-demo-matmul --tiles 12)
preempting() { serve MemoryPreempt=checkpoint "$@"; }

# One of the steps that `gpusharectl memory` lists: FIELD PARTITION
step() {
	t 5 gpusharectl memory --json | python3 -c 'import json, sys
rows = [s for s in json.load(sys.stdin)[0]["steps"] if s["partition"] == sys.argv[2]]
print(rows[-1][sys.argv[1]])' "$1" "$2"
}
says() { step why "$1" | grep -q -- "$2"; }
# Its kernels have been evicted, and it is one that is not over.
preempted() {
	t 5 gpusharectl report --json | python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if r["partition"] == "low"]
sys.exit(not rows[-1]["preemptions"] > 0)'
}
active() {
	t 5 gpusharectl report --json | python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if r["partition"] == "low"]
sys.exit(not rows[-1]["active_ms"] > float(sys.argv[1]))' "$1"
}
# What the report has of the low one's way to the host and back: MIB, as of the times that it says, rounded to ms.
moved() {
	t 5 gpusharectl report --json | tee "$TMP/report" | python3 -c 'import json, sys
row = [r for r in json.load(sys.stdin) if r["partition"] == "low"][-1]
assert row["taken_mb"] == float(sys.argv[1]), row
for way in "to_host", "to_device":
    s, rate = row[way + "_s"], row[way + "_gib_s"]
    assert s > 0.0005, (way, row)
    least, most = (row["taken_mb"] / 1024 / (s + d) for d in (0.0005, -0.0005))
    assert least - 0.001 <= rate <= most + 0.001, (way, row)
for row in json.load(open(sys.argv[2])):
    assert row["partition"] == "low" or not any(row[k] for k in row if k == "taken_mb" or k.startswith("to_")), row' "$1" "$TMP/report"
}
# The registered low one is back, and `gpusharectl memory` says how it went, as the report does; else trouble() has what they said.
told() {
	t 5 gpusharectl memory >"$TMP/told" && t 5 gpusharectl report --json >"$TMP/report" && t 5 gpusharectl memory --json >"$TMP/memory" &&
		grep -qE "admitted .* [1-9][0-9.]*M +[0-9.]+[mu]?s +[0-9.]+ +[0-9.]+[mu]?s +[0-9.]+  -$" "$TMP/told" &&
		python3 -c 'import json, sys
memory, report = ([r for r in rows if r["partition"] == "low"][-1] for rows in (json.load(open(sys.argv[1]))[0]["steps"], json.load(open(sys.argv[2]))))
keys = "taken_mb", "to_host_s", "to_host_gib_s", "to_device_s", "to_device_gib_s"
assert memory["why"] is None and [memory[k] for k in keys] == [report[k] for k in keys], (memory, report)
assert all(memory[k] > 0 for k in keys), memory' "$TMP/memory" "$TMP/report" 2>>"$TMP/told"
}
times_taken() { grep -c "are on the host, after" "$TMP/log"; }
trouble() { cat "$TMP"/*.out "$TMP/log" "$TMP/told" 2>/dev/null; return 1; }

keep() { # MIB: holds a pattern until $TMP/held is gone
	rm -f "$TMP/held"
	run 120 --shares 10 --mem 400M --partition low "$ENTRIES" keep "$1" "$TMP/held" >"$TMP/low.out" 2>&1 &
	low=$!
	until_true 60 test -s "$TMP/held"
}
high() { run 120 --shares 10 --mem 300M --partition high "$@" >"$TMP/high.out" 2>&1; }
# It holds its memory until $TMP/high is gone.
high_keeps() {
	rm -f "$TMP/high"
	high "$ENTRIES" keep 200 "$TMP/high" &
	high=$!
	until_true 60 test -s "$TMP/high"
}

contents() {
	keep 350 && high_keeps || trouble || return 1
	says low "its memory is on the host" && logged "350 MiB are on the host" || trouble || return 1
	rm "$TMP/held" # it wants to read its memory, and cannot
	sleep 0.3
	kill -0 $low && ! grep -q "words wrong" "$TMP/low.out" || trouble || return 1
	rm "$TMP/high"
	wait $high && wait $low && grep -q "350 MiB, 0 words wrong" "$TMP/low.out" &&
		grep -q "200 MiB, 0 words wrong" "$TMP/high.out" || trouble
}

# It takes two of them.
several() {
	local a b before
	before=$(times_taken)
	rm -f "$TMP/held.a" "$TMP/held.b"
	run 120 --shares 10 --mem 200M --partition low "$ENTRIES" keep 150 "$TMP/held.a" >"$TMP/low.out" 2>&1 & a=$!
	run 120 --shares 10 --mem 200M --partition low "$ENTRIES" keep 160 "$TMP/held.b" >"$TMP/other.out" 2>&1 & b=$!
	until_true 60 test -s "$TMP/held.a" -a -s "$TMP/held.b" || trouble || return 1
	rm -f "$TMP/high"
	run 120 --shares 10 --mem 500M --partition high "$ENTRIES" keep 400 "$TMP/high" >"$TMP/high.out" 2>&1 & high=$!
	until_true 60 test -s "$TMP/high" || trouble || return 1
	[ "$(times_taken)" = $((before + 2)) ] || trouble || return 1
	rm "$TMP/high" "$TMP/held.a" "$TMP/held.b"
	wait $high && wait $a && wait $b && grep -q " 0 words wrong" "$TMP/low.out" &&
		grep -q " 0 words wrong" "$TMP/other.out" || trouble
}

# In the middle of its kernels, which a third one evicts all the time; both compute until enough has been seen.
kernels() {
	local other before
	before=$(times_taken)
	: >"$TMP/more.low"
	: >"$TMP/more.high"
	run 200 --shares 10 --mem 400M --partition low "$ENTRIES" compute "$TMP/more.low" >"$TMP/low.out" 2>&1 &
	low=$!
	until_true 60 active 50 || trouble || return 1
	run 200 --shares 10 --mem 64M --partition high "$ENTRIES" compute "$TMP/more.high" >"$TMP/other.out" 2>&1 &
	other=$!
	until_true 60 preempted || trouble || return 1
	high "${SHORT[@]}" || trouble || return 1
	[ "$(times_taken)" -gt "$before" ] || trouble || return 1
	until_true 60 told || trouble || return 1
	rm "$TMP/more.low" "$TMP/more.high"
	wait $low && wait $other && grep -q ", 0 words wrong" "$TMP/low.out" && grep -q ", 0 words wrong" "$TMP/other.out" &&
		grep -q " correct: " "$TMP/high.out" || trouble
}

# The low one has a long kernel on the GPU, the high one comes and wants its memory.
long_kernel_and_high() {
	: >"$TMP/more" # so long the kernel lasts
	run 120 --shares 10 --mem 400M --partition low "$BUILD/testsuite/e2e/until" "$TMP/more" >"$TMP/low.out" 2>&1 &
	low=$!
	until_true 60 active 50 || trouble || return 1
	high "${SHORT[@]}" & high=$!
}

# Until the kernel at hand is over nothing has left, and nobody says that it has.
begun() {
	long_kernel_and_high || return 1
	until_true 10 says low "its memory goes to the host when its kernels are over" || trouble || return 1
	! logged "are on the host, after" || trouble || return 1
	rm "$TMP/more"
	wait $high && wait $low && grep -qx "until: right" "$TMP/low.out" && grep -q " correct: " "$TMP/high.out" || trouble
}

# The low one stays, the high one waits and says why, and both end well.
refused_because() { # REASON
	keep 350 || return 1
	high "${SHORT[@]}" &
	high=$!
	until_true 30 says high "$1" || trouble || return 1
	logged "$1" || trouble || return 1
	[ "$(step state low)" = admitted ] || return 1
	rm "$TMP/held"
	wait $low && wait $high && grep -q "0 words wrong" "$TMP/low.out" && grep -q " correct: " "$TMP/high.out" || trouble
}

# gpushare-mem is not there: the log says so at the start, and whoever waits hears it at once; the low one's kernel goes on as if nothing were.
missing() {
	long_kernel_and_high || return 1
	until_true 10 says high "no memory is taken back: $MEM cannot be run: No such file or directory" || trouble || return 1
	[ "$(step state low)" = admitted ] && says low None && ! logged "its memory is taken back" || trouble || return 1
	rm "$TMP/more"
	wait $low && wait $high && grep -qx "until: right" "$TMP/low.out" && grep -q " correct: " "$TMP/high.out" || trouble
}
# The same, and it is put there while somebody waits.
mended() {
	keep 350 || trouble || return 1
	high "${SHORT[@]}" & high=$!
	until_true 10 says high "$MEM cannot be run" || trouble || return 1
	ln -s "$BUILD/gpushare-mem" "$MEM"
	kill -HUP "$(cat "$TMP/pid")"
	wait $high && rm "$TMP/held" && wait $low && grep -q "0 words wrong" "$TMP/low.out" && grep -q " correct: " "$TMP/high.out" || trouble
}
warned() { [ "$(grep -c "warn.*memory cannot be taken back: $MEM cannot be run: No such file" "$TMP/log")" = "$1" ]; }

dies_away() {
	keep 350 && high_keeps || trouble || return 1
	kill -9 "$(sed 's/ready //' "$TMP/held")"
	wait $low && return 1
	rm -f "$TMP/held" "$TMP/high"
	wait $high && none_left || trouble
}

restart() {
	keep 350 && high_keeps || trouble || return 1
	grep -q "^away " "$TMP/sock.state" || trouble || return 1
	kill -9 "$(cat "$TMP/pid")"
	until_true 5 has_ended "$(cat "$TMP/pid")"
	preempting || return 1
	until_true 5 says low "its memory is on the host" || trouble || return 1
	rm "$TMP/held" "$TMP/high"
	wait $high && wait $low && grep -q "350 MiB, 0 words wrong" "$TMP/low.out" || trouble
}

# One that does not come back keeps nobody else from taking memory, and comes when it can.
stuck() {
	local a b before
	before=$(times_taken)
	rm -f "$TMP/held.a" "$TMP/held.b"
	run 120 --shares 10 --mem 200M --partition low "$ENTRIES" keep 150 "$TMP/held.a" >"$TMP/low.out" 2>&1 & a=$!
	until_true 60 test -s "$TMP/held.a" || trouble || return 1
	sed 's/ready //' "$TMP/held.a" >"$TMP/stuck"
	run 120 --shares 10 --mem 400M --partition high "$ENTRIES" keep 200 "$TMP/first" >"$TMP/high.out" 2>&1 & high=$!
	until_true 60 test -s "$TMP/first" || trouble || return 1
	rm "$TMP/first"
	wait $high || trouble || return 1
	run 120 --shares 10 --mem 200M --partition low "$ENTRIES" keep 160 "$TMP/held.b" >"$TMP/other.out" 2>&1 & b=$!
	until_true 60 test -s "$TMP/held.b" || trouble || return 1
	until_true 30 logged "does not come back.*it is stopped" || trouble || return 1
	rm -f "$TMP/high"
	high "$ENTRIES" keep 200 "$TMP/high" & high=$!
	until_true 30 test -s "$TMP/high" || trouble || return 1
	[ "$(times_taken)" -ge $((before + 2)) ] || trouble || return 1
	rm "$TMP/stuck" "$TMP/high" "$TMP/held.a" "$TMP/held.b"
	wait $high && wait $a && wait $b && grep -q "150 MiB, 0 words wrong" "$TMP/low.out" &&
		grep -q "160 MiB, 0 words wrong" "$TMP/other.out" || trouble
}

# --- a stranger has some of the memory at the return ---

NVML=$BUILD/.libs/fake_nvml.so
# used MIB: what the driver says that all programs of the GPU have.
used() { echo "$((520 << 20)) $(($1 << 20))" >"$TMP/nvml.new" && mv "$TMP/nvml.new" "$TMP/nvml_device"; }
no_room() { # it is not tried until the driver says that it fits
	keep 350 && high_keeps || trouble || return 1
	used 400
	rm "$TMP/high"
	wait $high && until_true 20 logged "its memory stays on the host: 350 MiB are wanted, and 120 MiB of gpu 0 are free" || trouble || return 1
	says low "what it wants is not free on the GPU" || trouble || return 1
	sleep 2.5
	! logged "its memory is back" && ! logged "does not come back" || trouble || return 1
	used 0
	rm "$TMP/held"
	wait $low && grep -q "350 MiB, 0 words wrong" "$TMP/low.out" || trouble
}
# Nobody can say that it does not fit, and the driver refuses time and again: the process is ended, with the reason.
lost() {
	local stranger
	keep 350 && high_keeps || trouble || return 1
	rm -f "$TMP/stranger"
	env GPUSHARE_EMU_DEVICE="$TMP/device" GPUSHARE_EMU_MEMORY=520M GPUSHARE_EMU_SMS=2 LD_LIBRARY_PATH="$BUILD/src/device/emu/.libs" \
		timeout 100 "$ENTRIES" keep 250 "$TMP/stranger" >"$TMP/stranger.out" 2>&1 & stranger=$!
	pids+=($stranger)
	until_true 60 test -s "$TMP/stranger" || trouble || return 1
	rm "$TMP/high"
	wait $high && until_true 60 logged "is lost: its memory does not come back to gpu 0 from the host: .*CUDA_ERROR_OUT_OF_MEMORY" || trouble || return 1
	! wait $low && ! grep -q "words wrong" "$TMP/low.out" || trouble || return 1
	rm "$TMP/stranger"
	wait $stranger
}

preempting || { echo "Bail out! gpushared does not start"; exit 1; }
check "a step whose kernel has begun: its memory goes once that is over, and so it says" begun
check "all of it is back" none_left
check "memory goes to the host for a step of higher priority, and comes back as it was" contents
check "all of it is back" none_left
check "the report says how much it was, and at which bandwidth" moved 350
check "a program in the middle of its kernels" kernels
check "all of it is back" none_left
check "two steps for one" several
check "all of it is back" none_left
check "a process that dies while it is away" dies_away
check "the daemon is killed meanwhile" restart
check "all of it is back" none_left
check "gpushared stops" stop_daemon
preempting MemoryPreemptHostLimit=100M
check "not beyond what the host may take" refused_because "350 MiB would go to the host.*MemoryPreemptHostLimit"
check "gpushared stops" stop_daemon
cat >"$TMP/stopped" <<EOF
#!/bin/sh
for last; do :; done
[ "\$1" = restore ] && grep -qsx "\$last" "$TMP/stuck" && { echo "it is stopped" >&2; exit 1; }
exec "$MEM" "\$@"
EOF
chmod 755 "$TMP/stopped"
MEM=$TMP/stopped preempting
check "one that does not come back" stuck
check "all of it is back" none_left
check "gpushared stops" stop_daemon
printf '#!/bin/sh\necho "the driver cannot checkpoint: it has no such function" >&2\nexit 1\n' >"$TMP/cannot"
chmod 755 "$TMP/cannot"
MEM=$TMP/cannot
preempting
check "nor where the driver cannot" refused_because "keeps it: the driver cannot checkpoint"
check "all of it is back" none_left
check "gpushared stops" stop_daemon
MEM=$BUILD/gpushare-mem
preempting
check "one whose memory the driver does not bring back is ended, with the reason" lost
check "all of it is back" none_left
check "gpushared stops" stop_daemon
if [ -e "$NVML" ]; then
	: >"$TMP/nvml"
	used 0
	export FAKE_NVML=$TMP/nvml FAKE_NVML_DEVICE=$TMP/nvml_device
	MORE=,check=200ms,nvml=$NVML preempting
	check "one whose memory strangers have waits on the host until it is free" no_room
	check "all of it is back" none_left
	check "gpushared stops" stop_daemon
	unset FAKE_NVML FAKE_NVML_DEVICE
else
	note "no fake_nvml.so: no stranger was tried"
fi
MEM=$TMP/absent
serve
check "a gpushare-mem that is missing and not needed: no warning" warned 0
check "gpushared stops" stop_daemon
preempting
check "one that is: a warning at the start" warned 1
check "and to who waits for memory, while the other goes on" missing
check "all of it is back" none_left
reload
check "a warning at a reload" until_true 5 warned 2
check "it is put there meanwhile" mended
check "all of it is back" none_left
check "gpushared stops" stop_daemon
finish
