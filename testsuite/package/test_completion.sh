#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion: each program that is installed for people has one, and it offers what the program's own --help has.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
PATH=$BUILD:$SRC/src/device/nvcc:$PATH

# offers WORD PROGRAM WORDS...: the word is among those offered.
offers() {
	local want=$1 file=$SRC/contrib/completion/gpushare.bash function=_gpushare
	shift
	[ "$1" != gpusharectl ] || { file=$SRC/contrib/completion/gpusharectl.bash function=_gpusharectl; }
	bash -c '. "$1"; f=$2; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "$f"; printf "%s\n" "${COMPREPLY[@]}"' \
		_ "$file" "$function" "$@" >"$TMP/offered" 2>&1
	cat "$TMP/offered"
	grep -xF -- "$want" "$TMP/offered"
}
# offers_policies PROGRAM WORDS...: those of the table, and nothing else but "all".
offers_policies() {
	offers frs "$@" && diff <(sed -n 's/^POLICY(\([a-z0-9_]*\),.*/\1/p' "$SRC/src/gpushare/sched/policies.def") <(grep -vxF all "$TMP/offered")
}
need_built gpusharectl gpushared gpushare-sim gpushare-bench gpushare-emu gpushare-mem gpushare-ptx
check "gpusharectl: verbs" offers report gpusharectl re
check "gpusharectl: a verb's options" offers --html gpusharectl report --h
check "gpusharectl: a verb with files" offers --job gpusharectl plot --j
check "gpushared: options" offers --config gpushared --c
check "gpushare-sim: options" offers --workload gpushare-sim --w
check "gpusharectl: the policies" offers_policies gpusharectl policy ''
check "gpushare-sim: the policies" offers_policies gpushare-sim --policy ''
check "gpushare-bench: the policies" offers_policies gpushare-bench pair -p ''
check "and all of them" offers all gpushare-bench pair -p al
check "gpushare-bench: verbs" offers eviction gpushare-bench ev
check "gpushare-bench: a verb's options" offers --kernels gpushare-bench overhead --k
check "gpushare-emu: options" offers --blocks-per-sm gpushare-emu --b
check "gpushare-emu: programs" offers gpushare-demo-triad gpushare-emu --sms 2 -- gpushare-demo-t
check "gpushare-mem: verbs" offers estimate gpushare-mem est
check "gpushare-mem: options" offers --json gpushare-mem estimate --j
check "gpushare-nvcc: options" offers --gpushare-report gpushare-nvcc --gpushare-r
check "gpushare-ptx: verbs" offers transform gpushare-ptx tr
check "gpushare-ptx: options" offers --form gpushare-ptx info --f
: >"$TMP/trace.csv"
check "files" offers "$TMP/trace.csv" gpushare-sim --workload "$TMP/tr"

# Every program that a Makemodule.am installs, and what the installation puts where bash looks.
installed() {
	local programs program
	make -s -C "$BUILD" install-data DESTDIR="$TMP/root" >"$TMP/install.log" 2>&1 || { tail "$TMP/install.log"; return 1; }
	programs=$(sed -n 's/^s\?bin_PROGRAMS *+= *//p; s/^dist_bin_SCRIPTS *+= *//p' "$SRC"/src/*/*/Makemodule.am | tr ' ' '\n' | sed 's#.*/##' | grep -v '^gpushare-demo')
	[ "$(wc -l <<<"$programs")" -ge 8 ] || { echo "found only: $programs"; return 1; }
	for program in $programs; do
		[ -n "$(find "$TMP/root" -path "*/bash-completion/completions/$program")" ] || { echo "no completion of $program"; return 1; }
	done
}
check "each program has one where bash looks for it" installed
finish
