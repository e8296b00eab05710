#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# VariantMin=: a kernel that proves long beside another client becomes preemptible while its program runs. On the emulated device.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_built gpushared gpusharectl gpushare-emu gpushare-demo-triad gpushare-demo-matmul testsuite/e2e/lazy testsuite/e2e/until
own_daemon
export GPUSHARE_CACHE=$TMP/cache
mkdir -m 700 "$GPUSHARE_CACHE"

serve() { # VARIANT_MIN
	VARIANT_MIN=$1 write_conf 256M LogLevel=debug "Gpu=0 Memory=256M" "Partition=low Priority=1" "Partition=high Priority=10" \
		Policy=piv MemoryAdmission=fcfs "JobEnv=GPUSHARE_LOG=$TMP/shim.log"
	start_daemon
}
run() { t 120 gpusharectl run --shares 30 --mem 64M --partition "$@"; }
# kernel EXPRESSION: of the newest low job's kernel.
kernel() {
	t 5 gpusharectl kernels --json --job "$(newest_job low)" | python3 -c 'import json, sys
k = [k for k in json.load(sys.stdin)["kernels"] if k["kernel"] == "lazy"][0]
assert eval(sys.argv[1]), k' "$1"
}
begin_low() {
	last=$(newest_job low)
	: >"$TMP/more"
	run low -- "$BUILD/testsuite/e2e/lazy" "$TMP/more" >"$TMP/low.out" 2>&1 & low=$!
	until_true 20 computes 50 "$last" low
}
end_low() {
	rm -f "$TMP/more"
	wait $low && cat "$TMP/low.out" && grep -q '^lazy: right' "$TMP/low.out"
}

# Nobody shares the GPU, so nobody would gain.
alone() {
	begin_low && until_true 20 computes 500 "$last" low
	end_low && kernel 'k["transform"] == "as is" and k["reason"].startswith("has no variant yet") and k["made_of"] is k["since"] is k["cost"] is None and k["waves"] > 1' || { cat "$TMP/low.out" "$TMP/log"; return 1; }
}
# A launch gets its kernel a variant only if the GPU is shared when it comes: so there is a client that has it until the variant is ready.
# After that whoever comes finds the low one's kernel on the GPU, nearly always.
beside() {
	local i high rc=1
	begin_low || rc=2
	: >"$TMP/more.high"
	run high -- "$BUILD/testsuite/e2e/until" "$TMP/more.high" >"$TMP/high.out" 2>&1 & high=$!
	until_true 60 said || rc=3
	rm "$TMP/more.high"
	wait $high || rc=4
	for i in $(seq 20); do
		[ $rc = 1 ] || break
		run high -- gpushare-demo-matmul --tiles 10 >"$TMP/high.out" 2>&1 && grep -q ' correct: ' "$TMP/high.out" || rc=5
		! kernel 'k["preemptions"] >= 1' 2>/dev/null || rc=0
	done
	end_low || rc=6
	[ $rc = 0 ] || { echo "rc $rc"; cat "$TMP/low.out" "$TMP/high.out" "$TMP/shim.log"; return $rc; }
	kernel 'k["transform"] == "persistent" and k["reason"] == "none" and 1 <= k["unevictable"] < k["launches"]' || return 1
	kernel 'k["made_of"] == "PTX" and k["since"] > 1.7e9 and k["waves"] > 1 and 0 < k["block_us"] < 1000 * k["alone_ms"]' || return 1
	kernel 'k["cost"] is None or k["cost"] > 0' && parts_agree
}
# What can leave and what cannot is all of the step's GPU time.
parts_agree() {
	{ t 5 gpusharectl report --json --job "$(newest_job low)" && t 5 gpusharectl kernels --json --job "$(newest_job low)"; } | python3 -c 'import json, sys
report, end = json.JSONDecoder().raw_decode(text := sys.stdin.read())
jobs = json.loads(text[end:])["jobs"]
assert 0 < report[0]["evictable_pct"] < 100, report
assert abs(report[0]["evictable_pct"] + jobs[0]["unevictable_pct"] - 100) < 0.01, (report, jobs)
assert abs(report[0]["evictable_pct"] - jobs[0]["evictable_pct"]) < 0.01, (report, jobs)'
}
said() { grep -E 'kernel lazy: its variant is ready after [0-9]+ us$' "$TMP/shim.log"; }

check "gpushared serves" serve 5ms
check "alone, a long kernel stays as it is" alone
check "beside another client it gets a variant while it runs, and is right" beside
check "the shim says when" said
check "what it got is in the cache" [ "$(find "$GPUSHARE_CACHE" -name '*.module' | wc -l)" -ge 1 ]
# Its variables are at the same addresses each time.
twice() {
	rm -f "$TMP/shim.log"
	for i in 1 2; do
		GPUSHARE_LOG=$TMP/shim.log t 60 gpushare-emu -- gpushare-demo-triad >/dev/null 2>&1 || return 1
	done
	[ "$(grep -c 'its variant is ready' "$TMP/shim.log")" = 2 ] && [ "$(grep -c ', from the cache$' "$TMP/shim.log")" = 1 ]
}
check "the second run of a program has it from there" twice
rm -f "$TMP/shim.log"
rm -rf "$GPUSHARE_CACHE"
ln -s /nonexistent "$GPUSHARE_CACHE"
check "without a cache that can be written it is made all the same" beside
check "gpushared stops" stop_daemon
check "gpushared serves with another VariantMin" serve 60s
not_long_enough() {
	begin_low && run high -- gpushare-demo-matmul --tiles 10 >"$TMP/high.out" 2>&1 && until_true 20 computes 500 "$last" low
	end_low && kernel 'k["transform"] == "as is"'
}
check "what is shorter gets none" not_long_enough
check "gpushared stops at the end" stop_daemon
finish
