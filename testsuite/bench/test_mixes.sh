#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushare-bench mixes on the emulated device: own kernels, the PyTorch programs' protocol, what fails, tables of several files.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

need_built gpushare-bench gpushared gpusharectl
PATH=$BUILD:$PATH
export TMPDIR=$TMP GPUSHARE_EMU_SMS=2 GPUSHARE_EMU_MEMORY=256M PYTHONDONTWRITEBYTECODE=1
scripts=$SRC/src/gpushare/bench

mixes() { # ARGUMENT...
	t 120 gpushare-bench mixes --driver "$BUILD/src/device/emu/.libs/libcuda.so.1" --shim "$BUILD/src/device/shim/.libs" \
		--scripts "$scripts" --task 1 --tick 2 --every 20 --long 20 --flood 500us --seconds 1 --skip 0 "$@"
}
# rows FILE EXPRESSION: of all rows, by (mix, way, policy, when); numbers as floats.
rows() {
	python3 - "$TMP/$1.csv" "$2" <<-'EOF'
	import csv, sys
	def number(x):
	    try: return float(x)
	    except ValueError: return x
	lines = list(open(sys.argv[1]))
	assert lines[0].startswith("# gpushare emulated device") and lines[1].startswith("# gpushare-bench mixes "), lines[:2]
	rows = {(r["mix"], r["way"], r["policy"], r["when"]): {k: number(v) for k, v in r.items()}
	        for r in csv.DictReader(l for l in lines if not l.startswith("#"))}
	print(rows)
	assert eval(sys.argv[2])
	EOF
}

list() { [ "$(mixes --list | wc -l)" -ge 13 ] && mixes --list | grep -x 'request-graph+big'; }
check "the mixes are listed" list
check "kernels of its own under time slicing and contexts" mixes flood -p frs,piv --ways time-slicing,contexts -o "$TMP/own"
check "a reference has a first and a last run, between them each policy" rows own \
	'{k[1:] for k in rows if k[0] == "flood"} == {("time-slicing", "-", "all"), ("time-slicing", "-", "first"), ("time-slicing", "-", "last"), ("contexts", "frs", "all"), ("contexts", "piv", "all")}'
check "both windows count, and the parts are of what each does alone" rows own \
	'all(r["windows"] == (2 if k[3] == "all" else 1) and r["alone_0"] > 0 and 0 < r["part_0"] + r["part_1"] < 4 and r["longest_1_ms"] > 0 for k, r in rows.items())'
check "one policy is the default one" rows own 'sum(r["default"] for k, r in rows.items() if k[0] == "flood") == 1'
check "four of each" mixes four --rounds 1 --ways time-slicing,contexts -o "$TMP/four"
check "every request that was due counts" rows four \
	'all(r["requests"] == 4 * 50 and 0 < r["p50_ms"] <= r["p99_ms"] for r in rows.values()) and len(rows) == 2'

no_torch() { mixes gpt+gpt --python false -o "$TMP/none" >"$TMP/out" && grep 'gpt+gpt: skipped, false has no PyTorch' "$TMP/out"; }
check "without PyTorch its mixes are skipped with a line" no_torch
one_gpu() { mixes ddp --python true >"$TMP/out" && grep 'ddp: skipped, it needs two GPUs' "$TMP/out"; }
check "with one GPU the data-parallel jobs are skipped with a line" one_gpu

check "mixes_torch.py is Python" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$scripts/mixes_torch.py"
# The python3 of lib.sh has no modules but Python's own.
if "$PYTHON" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; then
	kinds=(big+big gpt+gpt request-graph+big request-eager+gpt request-busy+gpt decode+gpt loader+gpt)
	check "data-parallel programs notice wrong weights, gradients and sums" t 300 "$SRC/testsuite/bench/parallel_faults.py" "$scripts"
else
	note "no PyTorch: of its programs only big runs, with a stand-in for a product, and parallel_faults.py is not run"
	kinds=(big+big)
	mkdir -p "$TMP/stand-in/torch"
	cat >"$TMP/stand-in/torch/__init__.py" <<-'EOF'
	import time, types
	class Tensor:
	    def same(self, *more): return self
	    __getitem__ = __matmul__ = __sub__ = double = abs = max = same
	    def item(self): return 0.0
	device = lambda name: types.SimpleNamespace(type=name)
	manual_seed = set_num_threads = set_float32_matmul_precision = lambda *more: None
	randn = empty = lambda *shape, device: Tensor()
	mm = lambda a, b, out: time.sleep(0.002)
	EOF
	echo 'from torch import functional; Module = object' >"$TMP/stand-in/torch/nn.py"
	: >"$TMP/stand-in/torch/functional.py"
	export PYTHONPATH=$TMP/stand-in
fi
check "the PyTorch programs" mixes --device cpu --ways time-slicing,contexts "${kinds[@]}" -o "$TMP/torch"
check "their steps are counted" rows torch 'len(rows) >= 2 and all(r["part_0"] > 0.1 and r["part_1"] > 0.1 and r["failed"] == "" for r in rows.values())'

no_mps() { # the emulated device has none; the reasons are gpushared's and the system's
	! mixes long2 --ways time-slicing,mps,gpushare-mps,contexts -o "$TMP/mps" 2>"$TMP/err" && grep '2 ways failed' "$TMP/err"
}
check "what fails is said" no_mps
check "and the other ways go on" rows mps \
	'rows["long2", "gpushare-mps", [k[2] for k in rows if k[1] == "gpushare-mps"][0], "all"]["failed"] != "" and [r["failed"] for k, r in rows.items() if k[1] in ("time-slicing", "contexts")] == [""] * 4'
mkdir "$TMP/broken"
echo 'import sys; sys.exit("no such card")' >"$TMP/broken/mixes_torch.py"
broken() {
	! mixes big+big flood --ways time-slicing --python python3 --scripts "$TMP/broken" >"$TMP/out" 2>"$TMP/err" &&
		grep 'big+big .*failed: big ended with status 1: no such card' "$TMP/out" && grep '^flood .*emulated' "$TMP/out"
}
check "a program that ends is named with its last words" broken
mkdir "$TMP/late"
sed 's/^    program.check()$/    program.check(); program.check = lambda: sys.exit("a wrong product in the end")/' "$scripts/mixes_torch.py" >"$TMP/late/mixes_torch.py"
late() {
	! mixes big+big --device cpu --ways time-slicing --scripts "$TMP/late" >"$TMP/out" 2>"$TMP/err" &&
		grep 'big+big .*failed: big ended with status 1: .*a wrong product in the end' "$TMP/out"
}
check "results are looked at in the end as well" late
table() {
	mixes --table "$TMP/own.csv" "$TMP/four.csv" >"$TMP/out" && grep '^four ' "$TMP/out" &&
		grep '^flood .*sum .*not known: 2.0 s, of 10' "$TMP/out" && ! mixes --table "$TMP/nosuch.csv"
}
check "a table of several runs" table

refused_with() { # PATTERN ARGUMENT...: exit status 2 and a reason
	local pattern=$1
	shift
	mixes "$@" 2>"$TMP/err"
	[ $? = 2 ] && grep -E "$pattern" "$TMP/err"
}
check "an unknown mix is refused" refused_with "'nosuch' is no mix" nosuch
check "an unknown way is refused" refused_with "'slow' is no way" --ways slow long2
check "an unknown policy is refused" refused_with "'nosuch' is no policy" -p nosuch long2
interrupted() {
	local pid
	gpushare-bench mixes --driver "$BUILD/src/device/emu/.libs/libcuda.so.1" --shim "$BUILD/src/device/shim/.libs" --task 1 --long 20 \
		--seconds 100 long2 2>"$TMP/err" & pid=$!
	pids=("$pid")
	until_true 20 compgen -G "$TMP/gpushare-bench.*/board-1" || return 1
	kill -TERM $pid
	wait $pid
	[ $? = 1 ] && grep interrupted "$TMP/err"
}
check "an interrupted run ends" interrupted
# mixes_gpu.sh, over programs that only say what they are asked for.
mkdir "$TMP/gpu"
printf '#!/bin/bash\necho "GPU 0: one"; echo "GPU 1: two"\n' >"$TMP/gpu/nvidia-smi"
cat >"$TMP/gpu/gpushare-bench" <<'EOF'
#!/bin/bash
arguments="$*"
while [ "$1" != --output ]; do shift; done
echo "$(basename "$2"): $arguments" >>"$ASKED"
echo "$(basename "$2") contexts frs sum 1.0 >= 0.9 1.1  ${VERDICT:-met}"
EOF
chmod +x "$TMP/gpu"/*
all_mixes() { # ENVIRONMENT...
	rm -f "$TMP/asked"
	env "$@" ASKED="$TMP/asked" "$SRC/testsuite/bench/mixes_gpu.sh" "$TMP/gpu" "$TMP/all" >"$TMP/out"
}
falls_short() {
	all_mixes "$@"
	[ $? = 1 ]
}
check "mixes_gpu.sh runs each mix once" all_mixes LIMIT=2000
each_once() { [ "$(cut -d: -f1 "$TMP/asked" | sort | uniq -u | wc -l)" = 15 ] && grep -q '^ddp: .*--gpu 0,1 ' "$TMP/asked" && grep -q -- '--gpu 1 ' "$TMP/asked"; }
check "on both GPUs" each_once
check "it says so if a bar is not met" falls_short STEPS=pair VERDICT=SHORT
check "and names it" grep -q 'pair-mps .* SHORT$' "$TMP/all/bars.txt"
check "an earlier call's runs in the same folder do not count" all_mixes STEPS="even"
of_this_call() { grep -q '^even-gpt ' "$TMP/all/bars.txt" && ! grep -qE '^(pair|ddp)' "$TMP/all/bars.txt"; }
check "and are not named" of_this_call
check "and if there is no time" falls_short STEPS="ddp equals" LIMIT=60
check "with what was not begun" grep -q '^ddp: not begun' "$TMP/out"
check "one GPU has no data-parallel jobs" falls_short GPUS=1 STEPS="ddp even"
check "the rest is run" grep -q '^even-gpt: .*--gpu 1 ' "$TMP/asked"

nothing_left() {
	[ -z "$(find "$TMP" -maxdepth 1 -name 'gpushare-bench.*')" ] &&
		[ -z "$(grep -lz "^$TMP/gpushare-bench" /proc/[0-9]*/cmdline 2>/dev/null)" ]
}
check "no folder and no process is left" nothing_left
finish
