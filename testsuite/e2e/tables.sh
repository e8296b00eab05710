#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpusharectl's tables: they fit the terminal, a pipe gets all of them, and top obeys its keys.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl testsuite/e2e/until
own_daemon
unset COLUMNS LINES NO_COLOR
UNTIL=$BUILD/testsuite/e2e/until

# widest LINES: of standard input.
widest() { awk '{ if (length($0) > w) w = length($0) } END { print w + 0 }'; }
fits() { # WIDTH VERB...
	local width=$1 out
	shift
	out=$(COLUMNS=$width t 20 gpusharectl "$@") && echo "$out" && [ "$(widest <<<"$out")" -le "$width" ]
}
# A title like "gpushared 0.1.0, pid ..." is no table.
heads() { t 20 gpusharectl "$@" | grep -E '^ *(GPU|JOB|USER) ' | wc -w; }

write_conf 512M "Gpu=0 Memory=512M" "Partition=low Priority=1" "Partition=high Priority=10" Policy=piv
check "gpushared starts" start_daemon
check "with a Policy= line the policy chooses among all jobs" eval "t 5 gpusharectl policy | grep -x 'GPU 0: piv among all jobs, since gpushare.conf has a Policy= line'"
: >"$TMP/more"
until_job() { t 120 gpusharectl run --shares 30 --mem 64M --partition "$1" -- "$UNTIL" "$TMP/more" >"$TMP/$1.out" 2>&1; }
until_job low & low=$!
check "a job computes" until_true 20 computes 50 none low
until_job high & high=$!
check "and one that is more urgent" until_true 20 computes 50 none high

for width in 80 120; do
	for verb in status report kernels memory "top --once --interval 100ms" "report --by user"; do
		# shellcheck disable=SC2086
		check "$verb fits $width columns" fits $width $verb
	done
done
has() { # WIDTH WORD...: in the table of the steps
	local width=$1 out word
	shift
	out=$(COLUMNS=$width t 20 gpusharectl top --once --interval 100ms | grep ' USER ') && echo "$out" || return 1
	for word in "$@"; do grep -qw -- "$word" <<<"$out" || return 1; done
}
noted() { COLUMNS=80 t 5 gpusharectl status | grep -E "^job L1\.0: priority: job L2\.0 has 10\$"; }
check "status says at 80 columns why a job waits, below the table" until_true 10 noted
check "top has at 80 columns who, where, what, how urgent, since when and why" has 80 JOB USER PARTITION STATE PRIO START GPU% REASON
check "and more at 160" has 160 JOB USER PARTITION STATE PRIO START GPU% REASON SHARES WAIT% NTT PREEMPT MEMORY RESERVED
all_of() { [ "$(heads report)" = "$(t 5 gpusharectl report --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)[0]))')" ]; }
check "a pipe gets every column" all_of
waits_for() { t 5 gpusharectl status --noheader -o partition,state,priority,reason | grep -E '^low +waiting +1  priority: job [^ ]+ has 10$'; }
check "who waits says for whom" until_true 10 waits_for
runs() { t 5 gpusharectl status --noheader -o partition,state,priority | grep -E '^high +running +10$'; }
check "and who runs that it does" until_true 10 runs
whose() { [ "$(t 5 gpusharectl status --noheader -o user | tr -d ' ' | sort -u)" = "$(id -un)" ]; }
check "and both whose they are" whose
started() { t 5 gpusharectl report --noheader -o start | grep -E "^$(date +%Y-%m-)[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\$"; }
check "times are dates and times of day" started
sorted() { [ "$(t 5 gpusharectl report --noheader -o partition --sort "$1" | tr -d ' ' | paste -sd,)" = "$2" ]; }
check "jobs without Slurm have short names" eval "t 5 gpusharectl report --noheader -o job | paste -sd, | tr -d ' ' | grep -x L1,L2"
by_name() { [ "$(t 5 gpusharectl report --noheader -o partition --job L2)" = high ] && [ "$(t 5 gpusharectl kernels --noheader -o job -j L1 | tr -d " ")" = L1 ]; }
check "by which they can be named" by_name
check "--sort sorts" eval "sorted priority low,high && sorted -priority high,low"
check "--format cuts to a width, and names a column" eval "t 5 gpusharectl report -o partition:3,state=WHAT | grep -E '^lo|PA\\+ +WHAT'"
check "--format help lists the columns" eval "t 5 gpusharectl report -o help | grep -E '^ntt +turnaround_ms / active_ms'"
check "a heading names its column, too, in capitals or not" eval "t 5 gpusharectl report --noheader -o Partition,leaves% | grep -E '^(low|high) '"
for verb in status report kernels memory top; do
	check "$verb refuses a column that there is not, and says which there are" \
		refused "there is no column 'colour'; there are: " t 5 gpusharectl $verb -o colour
done
check "--json goes with no --format" refused 'tables' t 5 gpusharectl report --json -o job
one_frame() { [ "$(t 20 gpusharectl top --interval 100ms | grep -c '^gpushared ')" = 1 ] && ! t 20 gpusharectl top --interval 100ms | grep -q $'\033'; }
check "top into a pipe is one frame without colours" one_frame

# keys TERM ROWS COLUMNS SCRIPT: top on a terminal of its own. SCRIPT is Python: screen() draws what came, press() types.
keys() {
	TERM=$1 t 60 python3 - "$2" "$3" "$4" <<-'EOF'
	import fcntl, os, pty, re, select, struct, sys, termios, time
	rows, columns = int(sys.argv[1]), int(sys.argv[2])
	pid, fd = pty.fork()
	if pid == 0:
	    time.sleep(0.3)
	    os.execvp("gpusharectl", ["gpusharectl", "top", "--interval", "100ms"])
	came = ""

	def resize(r, c):
	    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", r, c, 0, 0))

	def read(seconds):
	    global came
	    end = time.time() + seconds
	    while time.time() < end:
	        if select.select([fd], [], [], 0.05)[0]:
	            try:
	                came += os.read(fd, 65536).decode()
	            except OSError:
	                return

	def plain(text):
	    return re.sub("\033\\[[0-9?]*[a-zA-Z]", "", text).replace("\r", "")

	def screen():
	    """The latest whole frame."""
	    return plain(came.split("\033[H")[-2])

	def await_screen(what, wanted=True):
	    end = time.time() + 20
	    while time.time() < end:
	        read(0.15)
	        if came.count("\033[H") > 2 and bool(re.search(what, screen(), re.M)) == wanted:
	            return
	    raise SystemExit("%r is %s:\n%s" % (what, "missing" if wanted else "there", screen()))

	def press(keys):
	    os.write(fd, keys.encode())

	def quit():
	    press("q")
	    read(20) # to its end
	    status = os.waitpid(pid, 0)[1]
	    assert status == 0, status
	    assert came.endswith("\033[?25h\033[?1049l"), repr(came[-60:])

	resize(rows, columns)
	exec(sys.argv[3])
	EOF
}
check "top draws a screen that fits, in colours, and q gives the terminal back" keys xterm 24 80 '
await_screen("^ *L[0-9]+ .* low .*waiting")
assert len(screen().split("\n")) == 24, screen()
assert max(map(len, screen().split("\n"))) <= 80, screen()
assert "\033[32m" in came and "\033[33m" in came, "no colours"
quit()'
check "top takes what room it gets while it runs" keys xterm 24 80 '
await_screen("^ *JOB .*GPU%")
assert "PREEMPT" not in screen(), screen()
resize(40, 160)
await_screen("^ *JOB .*PREEMPT")
assert len(screen().split("\n")) == 40, screen()
quit()'
check "top sorts, reverses, filters and adds up by user by keys" keys xterm 24 80 '
await_screen("high .*\n.*low ")
press("s")
await_screen("sort: -wait_pct")
await_screen("low .*\n.*high ")
press("r")
await_screen("high .*\n.*low ")
press("/hig\n")
await_screen("f filter: hig")
await_screen(" low ", False)
await_screen(" high ")
press("\033")
await_screen(" low ")
press("u")
await_screen("^USER +STEPS .*RUNNING")
await_screen("^[^ ]+ +2 +1 +1 ")
press("h")
await_screen("^q +quit")
quit()'
check "no colours where NO_COLOR says so" env NO_COLOR=1 bash -c "$(declare -f keys t); keys xterm 24 80 '
await_screen(\"^ *JOB .*GPU%\")
assert \"\\033[32m\" not in came, came
quit()'"
check "a terminal that cannot move its cursor gets table below table" keys dumb 24 80 '
end = time.time() + 20
while came.count("gpushared ") < 3 and time.time() < end:
    read(0.2)
assert came.count("gpushared ") >= 3 and "\033" not in came, repr(came)
os.kill(pid, 2)'

third() {
	t 20 gpusharectl run --shares 10 --mem 64M --partition low -- true || return 1
	t 5 gpusharectl report --noheader -o job,state,ntt | tee /dev/stderr | grep -E '^ *L3 +over +-$'
}
check "a job that did nothing on the GPU has no slowdown" until_true 10 third
in_order() { [ "$(t 5 gpusharectl report --noheader -o job | head -n 3 | paste -sd, | tr -d ' ')" = L1,L2,L3 ]; }
check "report is in the order in which the jobs began, also where the last was over first" in_order

rm "$TMP/more"
wait $low $high
both_over() { t 5 gpusharectl report --json | python3 -c 'import json, sys
assert all(r["state"] == "over" and r["end"] >= r["start"] > 1e9 for r in json.load(sys.stdin))'; }
check "in the end both are over" until_true 5 both_over
check "gpushared stops" stop_daemon
finish
