#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Row E3: ptxas takes every variant for each architecture, without a new spill (testsuite/ptx/test_ptxas.sh); the kernels of the original are all there,
# with their parameters; and a second transformation changes nothing. In turn a file of the corpus, a kernel made from the seed (ptx_equiv), and a
# file of the corpus of which some words are changed, so that ptxas takes it still.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

row E3 registers "what a variant takes more than its kernel" "$@"
need gpushare-ptx ptx_equiv
ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
[ -x "$ptxas" ] || cannot "there is no ptxas on this machine (it comes with the CUDA toolkit)"
export GPUSHARE_PTX=$BUILD/gpushare-ptx CHECK_LONG=1 TMPDIR=$TMP
files=()
for file in "$SRC"/testsuite/ptx/corpus/*.ptx "$SRC"/testsuite/ptx/kernels/*.ptx "$SRC"/testsuite/ptx/golden/*.ptx; do
	case $file in *.want.ptx) continue ;; esac
	[ -e "${file%.ptx}.err" ] || grep -q '(ptxas: no)' "$file" || files+=("$file")
done

# Numbers, letters of registers and types: what ptxas may take as well.
change() { # FILE SEED
	"$PYTHON" -I -S - "$1" "$2" <<-'END'
	import random, re, sys
	rng = random.Random(int(sys.argv[2]))
	text = open(sys.argv[1]).read()
	words = [("u32", "s32"), ("s32", "u32"), ("u64", "s64"), ("b32", "u32"), ("lo", "hi"), ("eq", "ne"), ("lt", "ge"), ("add", "sub"), ("and", "or"), ("shl", "shr"),
	         ("x", "y"), ("y", "z"), ("ret", "exit"), ("p1", "p2"), ("r1", "r2"), ("r3", "r4"), ("rd1", "rd2"), ("0", "1"), ("1", "4"), ("uni", "uni")]
	for _ in range(rng.choice([1, 1, 2, 3])):
	    was, now = rng.choice(words)
	    places = [m for m in re.finditer(r"\b%s\b" % was, text) if "{" in text[:m.start()]]
	    if places:
	        place = rng.choice(places)
	        text = text[:place.start()] + now + text[place.end():]
	print(text, end="")
	END
}
subject() { # SEED: $subject
	local file=${files[$(($1 / 3 % ${#files[@]}))]} own again
	subject=$TMP/subject.ptx
	case $(($1 % 3)) in
	0) subject=$file ;;
	1) "$BUILD/ptx_equiv" --seed "$1" --print >"$subject" ;;
	2)
		own=$(sed -n 's/^[[:space:]]*\.target[[:space:]]*\(sm_[0-9]*[af]*\).*/\1/p' "$file" | head -n 1)
		for again in {1..20}; do
			change "$file" "$1$again" >"$subject"
			"$ptxas" -c -arch="$own" -o "$TMP/own" "$subject" >/dev/null 2>&1 && return
		done
		subject=$file # none was accepted: the toolkit may not know the file's own architecture any more
		;;
	esac
}
entries() { # FILE: a line for each, with what is between its brackets
	tr '\n\t' '  ' <"$1" | grep -o '\.entry *[A-Za-z0-9_$]*[^{]*' | sed 's/ //g'
}
trial() { # SEED
	local most
	subject "$1"
	"$GPUSHARE_PTX" --form all,sync-aware transform "$subject" >"$TMP/once.ptx" 2>"$TMP/error" || went_wrong "$subject: $(tail -n 1 "$TMP/error")" || return
	"$GPUSHARE_PTX" --form all,sync-aware transform "$TMP/once.ptx" | cmp -s - "$TMP/once.ptx" || went_wrong "$subject: a second transformation changes the text" || return
	[ -z "$(comm -23 <(entries "$subject" | sort) <(entries "$TMP/once.ptx" | sort))" ] || went_wrong "$subject: a kernel is gone, or its parameters have changed" || return
	"$SRC/testsuite/ptx/test_ptxas.sh" "$subject" >"$TMP/said" 2>&1 || went_wrong "$subject: $(grep -A 1 -m 1 FAIL "$TMP/said" | tr '\n' ' ')" || return
	most=$(sed -n 's/.*at most +\{0,1\}\(-\{0,1\}[0-9]*\)$/\1/p' "$TMP/said" | sort -n | tail -n 1)
	[ -z "$most" ] || measured "$most" # of a kernel that stays as it is there is none
}
trials trial
