#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every transformed module must assemble for each architecture (CHECK_LONG=1; else for the first and the one
# that is measured on), without a spill that the original has not; the registers of both are printed.
# Usage: test_ptxas.sh [FILE.ptx ...]; the default is the corpus, the kernels and the golden files.
set -u
here=${srcdir:-.}/testsuite/ptx
tool=${GPUSHARE_PTX:-./gpushare-ptx}
ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
[ -x "$ptxas" ] || { echo "SKIP: no ptxas on this machine"; exit 77; }
[ $# -gt 0 ] || set -- "$here"/corpus/*.ptx "$here"/kernels/*.ptx "$here"/golden/*.ptx

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
status=0
architectures="75 90"
[ -z "${CHECK_LONG:-}" ] || architectures="75 80 90 100 120"
: > "$work/all"

# registers and spills of each entry, from ptxas -v: name registers spilled-bytes
table() {
	sed -n -e 's/.*Compiling entry function .\([^ ]*\). for .*/entry \1/p' \
	       -e 's/.*Function properties for \([^ ]*\)/function \1/p' \
	       -e 's/.* \([0-9]*\) bytes spill stores, \([0-9]*\) bytes spill loads.*/spill \1 \2/p' \
	       -e 's/.*Used \([0-9]*\) registers.*/registers \1/p' "$1" |
	awk '$1 == "entry" { name = $2; spill = 0 }
	     $1 == "function" { function_ = $2 }
	     $1 == "spill" && function_ == name { spill = $2 + $3 }
	     $1 == "registers" { print name, $2, spill }' | tr -d "'"
}

check() { # module arch
	table "$work/log" > "$work/table"
	awk -v file="$1" -v arch="$2" '
		{ registers[$1] = $2; spill[$1] = $3 }
		END {
			for (variant in registers) {
				if (variant !~ /__gpushare_[pgs]$/)
					continue
				name = substr(variant, 1, length(variant) - 12)
				printf "%s %s %s: registers %d -> %d, spilled %d -> %d\n", arch, file, variant,
				       registers[name], registers[variant], spill[name], spill[variant]
				if (spill[variant] > spill[name]) {
					print "FAIL: a new spill in " variant " for " arch
					bad = 1
				}
			}
			exit bad
		}' "$work/table" > "$work/lines" || status=1
	cat "$work/lines"
	cat "$work/lines" >> "$work/all"
}

# by architecture and form: how many more registers
summary() {
	sed -n 's/^\(sm_[0-9]*\) [^ ]* [^ ]*__gpushare_\([pgs]\): registers \([0-9]*\) -> \([0-9]*\),.*/\1 \2 \3 \4/p' "$work/all" |
	awk '{ k = $1 " " $2; n[k]++; sum[k] += $4 - $3; if (n[k] == 1 || $4 - $3 > most[k]) most[k] = $4 - $3 }
	     END { for (k in n) {
			split(k, w, " ")
			form = w[2] == "p" ? "persistent" : w[2] == "g" ? "guarded" : "sliced"
			printf "%s %s: %d variants, registers %+.1f on average, at most %+d\n", w[1], form, n[k], sum[k] / n[k], most[k]
	     } }' | sort -V
}

for file; do
	case $file in *.want.ptx) continue ;; esac
	[ ! -e "${file%.ptx}.err" ] && ! grep -q '(ptxas: no)' "$file" || continue
	own=$(sed -n 's/^[[:space:]]*\.target[[:space:]]*sm_\([0-9]*\).*/\1/p' "$file" | head -n 1)
	[ -n "$own" ] || continue
	"$tool" --form all,sync-aware transform "$file" > "$work/out.ptx" || { echo "FAIL: transform $file"; status=1; continue; }
	name=$(basename "$file")
	version=$(sed -n 's/^[[:space:]]*\.version[[:space:]]*\([0-9.]*\).*/\1/p' "$file" | head -n 1)
	# functions from elsewhere are left to a linker
	relocatable=
	! grep -q '^[[:space:]]*\.extern[[:space:]]*\.func' "$file" || relocatable=-c
	for arch in $architectures; do
		[ "$own" -le "$arch" ] || continue
		# the ISA must know the architecture
		case $arch in 75) isa=6.3 ;; 80) isa=7.0 ;; 90) isa=7.8 ;; 100) isa=8.6 ;; 120) isa=8.7 ;; esac
		isa=$(printf '%s\n%s\n' "$isa" "$version" | sort -n | tail -n 1)
		sed -e "s/^\([[:space:]]*\.version\).*/\1 $isa/" \
		    -e "s/^\([[:space:]]*\.target[[:space:]]*\)sm_[0-9]*[af]*/\1sm_$arch/" "$work/out.ptx" > "$work/$arch.ptx"
		if ! timeout 120 "$ptxas" $relocatable -v -arch="sm_$arch" -o "$work/cubin" "$work/$arch.ptx" > "$work/log" 2>&1; then
			echo "FAIL: $name does not assemble for sm_$arch:"
			grep -v '^ptxas info' "$work/log" | head -n 5
			status=1
		else
			check "$name" "sm_$arch"
		fi
	done
done
summary
exit $status
