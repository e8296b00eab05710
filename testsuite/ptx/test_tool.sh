#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushare-ptx: its commands, its exit statuses, standard input, and the JSON report.
set -u
here=${srcdir:-.}/testsuite/ptx
tool=${GPUSHARE_PTX:-./gpushare-ptx}
status=0
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

expect() { # status pattern command...
	want=$1 pattern=$2
	shift 2
	out=$("$@" 2>&1 < /dev/null)
	got=$?
	if [ "$got" -ne "$want" ] || ! printf '%s\n' "$out" | grep -q -e "$pattern"; then
		printf 'FAIL: %s: status %s, wanted %s and "%s":\n%s\n' "$*" "$got" "$want" "$pattern" "$out"
		status=1
	fi
}

expect 0 'Usage: gpushare-ptx' "$tool" --help
expect 0 '^gpushare-ptx [0-9]' "$tool" --version
expect 2 'Usage' "$tool"
expect 2 'Usage' "$tool" frobnicate x
expect 2 'Usage' "$tool" --frobnicate info
expect 2 'No such file' "$tool" info "$here/there-is-no-such-file"
expect 2 "line 5: ']' expected" "$tool" info "$here/golden/bracket.ptx"
expect 0 'triad: persistent' "$tool" info "$here/corpus/stream.ptx"
expect 0 '3 of 3 kernels can leave' "$tool" info "$here/corpus/stream.ptx"
expect 0 '' "$tool" check "$here/corpus/stream.ptx"
expect 1 'refused90.ptx:[0-9]*: whole_grid synchronises the whole grid' "$tool" check "$here/corpus/refused90.ptx"
expect 0 '"reason": "CLUSTER"' "$tool" --json info "$here/corpus/refused90.ptx"
expect 1 '"as_is": 3' "$tool" --json check "$here/corpus/refused90.ptx"
expect 0 'triad__gpushare_p(' "$tool" transform "$here/corpus/stream.ptx"
expect 0 'nothing: persistent' sh -c "'$tool' info < '$here/corpus/functions.ptx'"
expect 0 'nothing: persistent' sh -c "'$tool' info - < '$here/corpus/functions.ptx'"
expect 2 'cannot write' sh -c "'$tool' transform '$here/corpus/functions.ptx' > /dev/full"

# which forms
expect 0 'lanes_leave: guarded, a thread may leave before a barrier' "$tool" info "$here/golden/guarded.ptx"
expect 0 'lanes_leave: as is, a thread may leave before a barrier' "$tool" --form persistent info "$here/golden/guarded.ptx"
expect 0 'lanes_leave: sliced, a thread' "$tool" --form persistent,sliced info "$here/golden/guarded.ptx"
expect 1 "refused50.ptx:0: old is written in a PTX ISA before 6.0" "$tool" check "$here/kernels/refused50.ptx"
expect 0 "0 of 1 kernels can leave" "$tool" info "$here/kernels/refused50.ptx"
expect 0 'lanes_leave: sliced.*; the shim launches no sliced variants$' "$tool" --form sliced info "$here/golden/guarded.ptx"
expect 0 '^.visible .entry triad__gpushare_s(' "$tool" --form sliced transform "$here/corpus/stream.ptx"
expect 0 'missed: guarded, a thread may leave before a barrier' "$tool" info "$here/golden/missed.ptx"
expect 0 'missed: persistent.*, barriers that threads may miss, needs rows of whole warps' "$tool" -f all,sync-aware info "$here/golden/missed.ptx"
expect 0 '"persistent": "ASYNC_STATE"' "$tool" --json info "$here/golden/waits.ptx"
for form in p g s; do
	expect 0 "^.visible .entry triad__gpushare_$form(" "$tool" --form all transform "$here/corpus/stream.ptx"
done
library=$here/../unit/data/fatbin/library.so
expect 0 '^axpy: persistent; PTX' sh -c "'$tool' info < '$library'"
expect 0 '"form": "sliced"' sh -c "'$tool' --json --form sliced info - < '$library'"
expect 1 '"form": "as is"' "$tool" --json check "$library"
expect 2 'only PTX text can be transformed' "$tool" transform "$library"
expect 0 '^axpy: sliced; PTX' "$tool" --form sliced info "$here/../unit/data/fatbin/library.so"
expect 1 '^fill: as is, is machine code without PTX' "$tool" --form sliced check "$here/../unit/data/fatbin/library.so"
cubin=$here/../unit/data/cubin/several.cubin
expect 0 '^add: guarded, from its machine code; machine code sm_90; guard maxb, maxt' "$tool" info "$cubin"
expect 1 '"guard_reason": "COOPERATIVE"' "$tool" --json check "$cubin"
expect 0 'add: guard maxb, 640 bytes of code; parameter 3 of 24 bytes at 24' "$tool" guard "$cubin" add "$work/add.cubin"
expect 0 'add: guarded, from its machine code' "$tool" info "$work/add.cubin"
expect 0 'turn: guard maxt' "$tool" --guard maxt --clusters guard "$cubin" turn "$work/turn.cubin"
expect 0 'copy: guard maxb' "$tool" guard "$here/../unit/data/fatbin/newer.fatbin" copy "$work/copy.cubin"
expect 1 'of_module: the kernel touches variables or constants of its module' "$tool" guard "$cubin" of_module "$work/no"
expect 2 'no machine code of a kernel nobody' "$tool" guard "$cubin" nobody "$work/no"
expect 2 'cannot be written' "$tool" guard "$cubin" add "$work/no/such/folder"
expect 2 'not maxb or maxt' "$tool" --guard maxw guard "$cubin" add "$work/no"
expect 2 'Usage' "$tool" guard "$cubin" add
expect 2 'not persistent, guarded, sliced, sync-aware or all' "$tool" --form persistent,round info x
expect 2 'not persistent, guarded, sliced, sync-aware or all' "$tool" --form '' info x

# what the assembler makes of them; this one says what a real one would
cat > "$work/ptxas" <<'EOF'
#!/bin/sh
for text; do :; done
[ -z "${PTXAS_FAILS:-}" ] || { echo "ptxas $text, line 7; error   : Unknown symbol 'x'"; exit 1; }
sed -n 's/^\.visible \.entry \([a-zA-Z0-9_]*\).*/\1/p' "$text" | while read -r name; do
	registers=30 spilled=0
	case $name in
	triad__gpushare_p) registers=$PTXAS_VARIANT ;;
	matrix_add__gpushare_p) spilled=${PTXAS_SPILLS:-0} ;;
	esac
	echo "ptxas info    : Compiling entry function '$name' for 'sm_90'"
	echo "ptxas info    : Function properties for $name"
	echo "    0 bytes stack frame, $spilled bytes spill stores, $spilled bytes spill loads"
	echo "ptxas info    : Function properties for helper"
	echo "    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads"
	echo "ptxas info    : Used $registers registers, used 1 barriers, 96 bytes smem, 384 bytes cmem[0]"
done
EOF
chmod +x "$work/ptxas"
PATH=$work:$PATH PTXAS_VARIANT=32
export PATH PTXAS_VARIANT
expect 0 'triad: persistent, registers 30 -> 32, spilled 0 -> 0 bytes, blocks of 256 threads per SM 8 -> 8$' \
	"$tool" check --sm 90 "$here/corpus/stream.ptx"
# three quarters of the blocks will do
PTXAS_VARIANT=33
expect 0 'triad: persistent, registers 30 -> 33, spilled 0 -> 0 bytes, blocks of 256 threads per SM 8 -> 6$' \
	"$tool" check --sm 90 "$here/corpus/stream.ptx"
expect 0 'blocks of 64 threads per SM 16 -> 16$' "$tool" check --sm 75 --block 64 "$here/corpus/stream.ptx"
PTXAS_VARIANT=41
expect 1 'triad: persistent, registers 30 -> 41, spilled 0 -> 0 bytes, blocks of 256 threads per SM 8 -> 5: original kept$' \
	"$tool" check --sm 90 "$here/corpus/stream.ptx"
expect 1 'blocks of 64 threads per SM 32 -> 20: original kept$' "$tool" check --sm 90 --block 64 "$here/corpus/stream.ptx"
expect 1 '"kept": true' "$tool" --json check --sm 90 "$here/corpus/stream.ptx"
PTXAS_VARIANT=32
expect 1 'matrix_add.*spilled 0 -> 16 bytes.*original kept$' \
	env PTXAS_SPILLS=8 "$tool" check --sm 90 "$here/corpus/stream.ptx"
expect 2 "stream.ptx: ptxas: line 7; error   : Unknown symbol 'x'" \
	env PTXAS_FAILS=1 "$tool" check --sm 90 "$here/corpus/stream.ptx"
expect 2 'compute capability 91 is not known' "$tool" check --sm 91 "$here/corpus/stream.ptx"
expect 2 'not a number like 90' "$tool" check --sm sm_90 "$here/corpus/stream.ptx"
expect 2 'not a number from 1 to 1024' "$tool" --block 0 check "$here/corpus/stream.ptx"
exit $status
