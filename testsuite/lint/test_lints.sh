#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The lints themselves, each on a small tree of its own: an offence is found where it stands, the baseline allows just what it holds,
# a line of it whose offence is gone is complained about, and --update takes away and never adds.
# shellcheck disable=SC2086 # CC may be two words, as "ccache gcc"
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/gpushare-lints.XXXXXX")
trap 'rm -rf "$work"' EXIT

die() { echo "test_lints: $*" >&2; exit 1; }

# A tree with nothing in it.
tree() {
	rm -rf "${work:?}"/*
	mkdir -p "$work"/{src,testsuite/lint/baseline,build}
}

# put FILE TEXT: a file of the tree.
put() {
	mkdir -p "$work/$(dirname "$1")"
	printf '%b\n' "$2" >"$work/$1"
}

# compile MODULE...: its object, named as automake does.
compile() {
	for module; do
		mkdir -p "$work/build/${module%/*}"
		${CC:-cc} -c "$work/$module.c" -o "$work/build/${module%/*}/lib-${module##*/}.o"
	done
}

# What PATH has may be a script that looks for an interpreter.
python=$(python3 -c 'import sys; print(sys.executable)')
run() { (cd "$work/build" && "$python" -S "$here/$lint" --srcdir "$work" "$@" 2>&1); }

good() {
	out=$(run "$@") || die "$lint $* failed where it should pass: $out"
}

# bad TEXT [OPTION]: it fails and says so.
bad() {
	local text=$1
	shift
	out=$(run "$@") && die "$lint $* passed where it should say: $text"
	[[ $out == *"$text"* ]] || die "$lint does not say '$text' but: $out"
}

# shrinks KEY FILE BAD GOOD PLACE: the life of one offence, which is in FILE with text BAD and not with GOOD.
shrinks() {
	local baseline=testsuite/lint/baseline/$lint
	put $baseline "# what is left"
	put "$2" "$4"
	good
	put "$2" "$3"
	bad "$5"
	bad "$5" --update
	[ "$(cat "$work/$baseline")" = "# what is left" ] || die "$lint --update added to the baseline"
	put $baseline "# what is left\n$1"
	good
	put "$2" "$4"
	bad "remove this line from the baseline"
	good --update
	[ "$(cat "$work/$baseline")" = "# what is left" ] || die "$lint --update did not remove '$1'"
	good
}

test_layers() {
	tree
	put testsuite/lint/layers.txt "low:\nhigh: low"
	put src/low/a.h "int a;"
	put src/high/b.h '#include "low/a.h"'
	shrinks "src/low/c.c includes src/high/b.h" src/low/c.c '\n#include "high/b.h"' '/* #include "high/b.h" */' \
		"src/low/c.c:2: low does not stand above high"
	rm -r "$work/src/low/c.c"
	# By a call, without an include.
	put src/low/d.c 'int high(void);\nint low(void)\n{\n\treturn high();\n}'
	put src/high/e.c 'int high(void)\n{\n\treturn 0;\n}'
	good
	compile src/low/d src/high/e
	bad "src/low/d.c:1: calls high, but low does not stand above high"
	put testsuite/lint/baseline/layers "src/low/d calls src/high/e"
	good
	put src/low/d.c 'int low(void)\n{\n\treturn 0;\n}'
	rm "$work/build/src/low/lib-d.o"
	good
	compile src/low/d
	bad "remove this line from the baseline"
	good --update
	put src/other/d.c '#include "low/a.h"'
	bad "src/other has no row"
	rm -r "$work/src/other"
	put testsuite/lint/layers.txt "low: high\nhigh: low"
	bad "low names high, which has no row above this one"
	put testsuite/lint/layers.txt "low:\nhigh: low\ngone:"
	bad "there is no folder src/gone"
}

test_circles() {
	tree
	put src/m/a.h '#include "m/b.h"'
	put src/m/b.h '#include "m/c.h"'
	put src/m/d.h '#include "m/a.h"'
	put src/m/c.h '#include "m/a.h"'
	good
	put src/m/c.h '#include "m/a.h"\n#include "m/d.h"'
	bad "src/m/c.h:2: includes src/m/d.h"
	bad "in a circle of 4"
	run --list >"$work/list"
	mv "$work/list" "$work/testsuite/lint/baseline/circles"
	good
	# A member more.
	put src/m/d.h '#include "m/a.h"\n#include "m/e.h"'
	put src/m/e.h '#include "m/b.h"'
	bad "src/m/e is in a circle of 5"
	bad "src/m/e is in a circle of 5" --update
	grep -q /e "$work/testsuite/lint/baseline/circles" && die "circles --update added a member"
	put src/m/e.h ''
	good
	# A member less: the other three are few enough.
	put src/m/d.h ''
	bad "remove this line from the baseline"
	good --update
	[ ! -s "$work/testsuite/lint/baseline/circles" ] || die "circles --update left members of what is no circle"
	# Folders that include each other, each by a module of its own.
	put src/n/x.h '#include "m/e.h"'
	put src/m/f.h '#include "n/y.h"'
	put src/n/y.h ''
	bad "src/n/ are in a circle of 2"
	rm -r "$work/src"
	# By calls, without an include.
	for pair in a:b b:c c:d d:a; do
		put "src/m/${pair%:*}.c" "int ${pair#*:}(void);\nint ${pair%:*}(void)\n{\n\treturn ${pair#*:}();\n}"
	done
	good
	[[ $out == *"calls are not looked at"* ]] || die "circles does not say that it has no objects: $out"
	compile src/m/{a,b,c,d}
	bad "src/m/a: calls b of src/m/b"
}

test_words() {
	tree
	put testsuite/lint/words.csv "coined,glork,variant\n,turn,slice\nown,zing,doorbell"
	put testsuite/lint/words-exceptions.txt "turn\t^src/e/\t^turn_\tfor this test"
	shrinks "src/a.c glork" src/a.c '\nint gs_glorksLeft;' 'int between;' 'src/a.c:2: "gs_glorksLeft": write variant'
	shrinks "src/a.c turn" src/a.c 'int turning;' '/* turn */ char *s = "turn";' 'src/a.c:1: "turning": write slice'
	shrinks "src/a.c glork" src/a.c '/*\n * a glork */' '' 'src/a.c:2: "glork": write variant'
	shrinks "src/a.c glork" src/a.c 'char *s = "a glork";' '' 'src/a.c:1: "glork": write variant'
	shrinks "doc/x.md glork" doc/x.md 'one\nGlorks' 'a turn of the zing' 'doc/x.md:2: "Glorks": write variant'
	shrinks "doc/x.md seed 00n" doc/x.md 'seed 00'3 'seed 3' "doc/x.md:1: \"seed 00"3
	shrinks "testsuite/t.c zing" testsuite/t.c 'int zing;' 'int turn; /* zing */' '"zing": write doorbell'
	put src/e/b.c 'int turn_x;'
	good
	put src/e/b.c 'int my_turn;'
	bad 'src/e/b.c:1: "my_turn"'
	rm "$work/src/e/b.c"
	put doc/measurements/glork.csv '1,2'
	bad 'doc/measurements/glork.csv:1: "glork"'
	rm -r "$work/doc/measurements"
	# A count falls.
	put src/a.c 'int glork1, glork2;'
	put testsuite/lint/baseline/words "src/a.c glork = 3"
	bad "lower this line of the baseline to 2"
	good --update
	[ "$(cat "$work/testsuite/lint/baseline/words")" = "src/a.c glork = 2" ] || die "words --update did not lower the count"
	put src/a.c 'int glork1, glork2, glork3;'
	bad "3 where the baseline has 2"
	rm "$work/src/a.c"
	put src/glork.c ''
	bad "src/glork.c:1:"
}

test_structs() {
	tree
	local many="int a, b[2], *c, (*d)(int, int);" twelve="int a, b, c, d, e, f, g, h, i, j, k, l;"
	put testsuite/lint/baseline/structs ""
	put src/a.h "struct fits {\n$twelve\n$many\n$many\n};"
	good
	shrinks "src/a.h big = 21" src/a.h "\nstruct big {\n$twelve\nstruct { $many union { $many }; } in;\nint z; /* int y; */\n};" \
		"struct big {\n$twelve\nstruct in { int x; } in;\nenum { P, Q } e;\n};" "src/a.h:2: struct big has 21 fields"
	put src/device/driver/cuda.h "struct vendor {\n$twelve\n$twelve\n};"
	good
}

test_names() {
	tree
	put testsuite/lint/foreign-keys.txt "Gres"
	put src/gpushare/config/keys.def 'KEY(Policy, policy, X, "", "")\nLIST(PolicyParameters, "")'
	put src/gpushare/config/gone.def 'GONE(OldKey, "Policy=")'
	put src/gpushare/config/parse.c 'char *s = "Memory";'
	put src/gpushare/ctl/a.c '\t.name = "status",'
	put src/gpushare/bench/a.c '\t.name = "mix",'
	put etc/x.example "Policy=frs Memory=1G Gres=gpu PolicyParameters=a=1"
	put doc/admin.md "Instead of OldKey= write Policy=."
	shrinks "doc/x.md NoKey" doc/x.md "NoKey=1" "Policy=frs, \`gpusharectl status\` and gpusharectl is" "doc/x.md:1: NoKey is no key"
	shrinks "doc/x.md OldKey" doc/x.md "OldKey=1" "Policy=frs" "doc/x.md:1: OldKey is no key"
	shrinks "doc/x.md NoKey" doc/x.md "as NoKey says" "as Policy says" "doc/x.md:1: NoKey is no key"
	shrinks "doc/x.md gpusharectl gone" doc/x.md "\nSay \`gpusharectl gone --json\`." "" "doc/x.md:2: gpusharectl has no verb gone"
	shrinks "doc/x.5 gpushare-bench gone" doc/x.5 '.B gpushare\\-bench gone' '.B gpushare\\-bench mix' "gpushare-bench has no verb gone"
	shrinks "doc/gpusharectl.1 gpusharectl gone" doc/gpusharectl.1 ".SH VERBS\n.TP\n.B status\n.RS\n.TP\n.B step\n.RE\n.TP\n.B gone" \
		".SH VERBS\n.TP\n.B status" "doc/gpusharectl.1:9: gpusharectl has no verb gone"
}

test_links() {
	tree
	put doc/Makemodule.am 'dist_doc_DATA = README.md doc/a.md'
	put Makefile.am 'dist_man_MANS = doc/x.1'
	put doc/a.md 'See [there](README.md#top), [here](#a) and [the web](https://example.org/x.md).'
	put doc/x.1 'See a.md.'
	mkdir -p "$work"/{etc,contrib}
	shrinks "README.md doc/a.md" README.md '\n[a](doc/a.md)' '[a](a.md)' "README.md:2: the link to doc/a.md leads to nothing"
	shrinks "README.md doc/b.md" README.md 'In doc/b.md.' 'In doc/a.md.' "README.md:1: doc/b.md is named, but not installed"
	shrinks "doc/x.1 doc/b.md" doc/x.1 'doc/b.md' 'a.md' "doc/x.1:1: doc/b.md is named"
	shrinks "doc/x.1 testsuite/b.csv" doc/x.1 'testsuite/b.csv' 'testsuite/b.csv of the source' "doc/x.1:1: testsuite/b.csv is not installed"
	put doc/Makemodule.am 'nobase_dist_doc_DATA = README.md doc/a.md'
	put README.md '[a](doc/a.md)'
	put doc/a.md '[there](../README.md)'
	good
	put doc/Makemodule.am 'nobase_dist_doc_DATA = README.md doc/a.md doc/a.png'
	put doc/a.png 'bytes [like](nowhere.md)'
	good
	put doc/Makemodule.am 'nobase_dist_doc_DATA = README.md doc/a.md'
	put README.md '[a](a.md)'
	bad "README.md:1: the link to a.md leads to nothing"
	put README.md 'In doc/a.md.'
	rm "$work/doc/a.md"
	bad "doc/a.md: installed by a Makemodule.am, but not there"
}

test_format() {
	tree
	cp "$here/../../.clang-format" "$work"
	if ! run --list >"$work/said"; then
		echo "test_lints: format is not tested: $(cat "$work/said")"
		return
	fi
	shrinks "src/a.c" src/a.c 'int a;\nint  b;' 'int a;' "src/a.c:2: not formatted from here on"
}

test_glibc() {
	local shim=$work/build/src/device/shim/.libs/libcuda.so.1 nvml=$work/build/src/device/shim/.libs/libnvidia-ml.so.1
	local emu=$work/build/src/device/emu/.libs/libcuda.so.1
	tree
	mkdir -p "${shim%/*}" "${emu%/*}"
	put a.c 'int a(int x)\n{\n\treturn x;\n}'
	${CC:-cc} -shared -fPIC "$work/a.c" -o "$shim"
	cp "$shim" "$nvml"
	cp "$shim" "$emu"
	good
	# quick_exit is there since 2.10, getrandom since 2.25.
	put a.c '#include <stdlib.h>\n#include <sys/random.h>\nint a(int x)\n{\n\tif (getrandom(\&x, 1, 0) < 0)\n\t\tquick_exit(1);\n\treturn x;\n}'
	sed -i 's/\\&/\&/' "$work/a.c"
	${CC:-cc} -shared -fPIC "$work/a.c" -o "$shim"
	bad "libcuda.so.1 needs getrandom of glibc 2.25: add it to src/device/shim"
	cp "$nvml" "$work/good.so"
	mv "$shim" "$emu"
	cp "$work/good.so" "$shim"
	bad "libcuda.so.1 needs getrandom of glibc 2.25: add it to src/device/emu"
	mv "$emu" "$nvml"
	cp "$work/good.so" "$emu"
	put a.c 'int a(int x)\n{\n\treturn x;\n}'
	${CC:-cc} -shared -fPIC "$work/a.c" -o "$shim"
	bad "libnvidia-ml.so.1 needs getrandom of glibc 2.25"
	cp "$shim" "$nvml"
	put a.c '#include <dlfcn.h>\n__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");\nchar *a(void)\n{\n\treturn dlerror();\n}'
	${CC:-cc} -shared -fPIC "$work/a.c" -o "$shim"
	bad "needs dlerror of libc.so.6, and glibc before 2.30 finds it only as one of libdl.so.2: add it to src/common/old_libdl.map"
	put a.c 'int a(int x)\n{\n\treturn x;\n}'
	${CC:-cc} -shared -fPIC "$work/a.c" -o "$work/libother.so" -Wl,-soname,libother.so.1
	${CC:-cc} -shared -fPIC "$work/a.c" -o "$shim" -Wl,--no-as-needed "$work/libother.so"
	bad "needs libother.so.1"
}

test_mutations() {
	local list=testsuite/mutations/first_hour.list
	tree
	put a.c 'if (a && b)\n\treturn 1;'
	put $list '# row :: promise :: file :: test :: expression\n1 :: both :: a.c :: test_a :: s/a && b/a/'
	good
	put a.c 'if (a)\n\treturn 1;'
	bad "first_hour.list:2: changes nothing in a.c"
	rm "$work/a.c"
	bad "there is no a.c"
}

for lint in layers circles words structs names links format glibc mutations; do
	"$here/$lint" --help >/dev/null || die "$lint --help fails"
	"test_$lint"
	echo "test_lints: $lint: ok"
done
