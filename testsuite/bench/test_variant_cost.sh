#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# variant_cost_gpu.sh on the emulated device, and with libraries' kernels that are made up, one part of which hangs.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

need_built variant_cost gpushare-emu
export TMPDIR=$TMP GPUSHARE_EMU_MEMORY=256M
BENCH=$SRC/testsuite/bench

# Four kernels, idle and queued, five ways; four parts of each, and two of both.
parts() {
	t 100 "$BENCH/variant_cost_gpu.sh" "$BUILD" "$TMP/parts" "$BUILD/src/device/emu/.libs/libcuda.so.1" >"$TMP/out" 2>"$TMP/err" ||
		{ cat "$TMP/out" "$TMP/err"; return 1; }
	cat "$TMP/out"
	[ "$(grep -cE '^"[^"]+",(idle|queued),(written|guarded|with end|with end and watcher|watcher in between),[0-9.]+,[0-9.]+,[0-9.]+$' "$TMP/out")" = 40 ] &&
		[ "$(grep -cE '^"[^"]+",(idle|queued),(guard|end|place|launch),-?[0-9.]+,-?[0-9.]+,[0-9.]*$' "$TMP/out")" = 32 ] &&
		[ "$(grep -cE '^"[^"]+",both,(idle|in pairs),-?[0-9.]+,-?[0-9.]+,$' "$TMP/out")" = 8 ] &&
		grep -q '^no PyTorch' "$TMP/out"
}
check "each part of each kernel" parts

# Where blocks fill all places of each wave, a place less makes a wave more; where a watcher fits beside them, or places are free, it does not.
expected() {
	local block
	block=$(sed -n 's/^# all places full, no room beside:.*, \([0-9.]*\) us a block$/\1/p' "$TMP/out")
	grep -q "^\"all places full, no room beside\",idle,place,.*,$block\$" "$TMP/out" &&
		grep -q '^"all places full, room beside",idle,place,.*,0.0$' "$TMP/out" &&
		grep -q '^"places free, no room beside",idle,place,.*,0.0$' "$TMP/out"
}
check "what a place should cost" expected

# A copy of the script beside a library_gpu.sh of our own, and a build tree with a Python that has PyTorch.
mkdir "$TMP/bench" "$TMP/build"
cp "$BENCH/variant_cost_gpu.sh" "$BENCH/variant_cost_table.py" "$TMP/bench"
cat >"$TMP/bench/library_gpu.sh" <<'END'
#!/bin/bash
mkdir -p "$2"
[ "$PARTS" = cost ] && echo "$ONLY" || exit 1
case $SIGNAL in
proxy) cost=1.03 ;;
memop) cost=1.0 ;;
*) exec sleep 555 ;;
esac
cat >"$2/contexts-cost.json" <<JSON
{"kernels": [{"kernel": "k, with a comma", "cost": $cost, "block_us": 100.5, "waves": 8.2, "alone_ms": 1.5},
 {"kernel": "short", "cost": 2, "block_us": 3, "waves": 8.2, "alone_ms": 1.5}, {"kernel": "none", "cost": null, "block_us": null}]}
JSON
END
printf '#!/bin/bash\n[ "$1" = -c ] || exec %s "$@"\n' "$PYTHON" >"$TMP/build/python3"
printf '#!/bin/bash\necho parts\n' >"$TMP/build/variant_cost"
chmod +x "$TMP/bench/library_gpu.sh" "$TMP/build/python3" "$TMP/build/variant_cost"
of_libraries() { # LIMIT SIGNAL...
	LIMIT=$1 SIGNALS=${*:2} t 100 "$TMP/bench/variant_cost_gpu.sh" "$TMP/build" "$TMP/libraries" >"$TMP/out" 2>&1
}
table() {
	of_libraries 90 proxy memop
	[ $? = 0 ] && cat "$TMP/out" && grep -qFx '"k, with a comma",8.2,100.5,1.500,1.0300,45.0,1.0000,0.0' "$TMP/out" &&
		! grep -q short "$TMP/out" && grep -qFx 'proxy: 1 kernels, mean 1.0300, worst 1.0300' "$TMP/out" &&
		grep -q 'norm 2^30' "$TMP/libraries/proxy.log"
}
check "a table of what each signal costs" table
hangs() {
	LEAST=1 of_libraries 3 auto
	[ $? = 1 ] && cat "$TMP/out" && grep -q '^FAIL: auto' "$TMP/out" && grep -qFx 'auto: nothing was compared' "$TMP/out"
}
late() {
	of_libraries 15 memop
	[ $? = 1 ] && cat "$TMP/out" && grep -qFx 'FAIL: memop: no time is left' "$TMP/out"
}
check "no time is left" late
check "one that hangs" hangs

finish
