#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpushare-mem estimate: golden outputs, options and errors.  UPDATE=1 writes the golden files anew.
set -u
src=$(realpath "${srcdir:-$(dirname "$0")/../..}")
mem=$PWD/gpushare-mem
data=$src/testsuite/unit/data/mem
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gsmem.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
failures=0
fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

[ -x "$mem" ] || { echo "gpushare-mem was not built"; exit 77; }
cd "$data" || exit 1

golden() { # NAME STATUS OPTION...
	local name=$1 want=$2 status=0
	shift 2
	timeout 20 "$mem" estimate "$@" "$name.cu" >"$tmp/out" 2>&1 || status=$?
	[ $status = "$want" ] || fail "$name: exit status $status, not $want"
	[ -z "${UPDATE:-}" ] || cp "$tmp/out" "$name.want"
	diff -u "$name.want" "$tmp/out" || fail "$name"
}
golden paper 0
golden many 3

json() { # EXPRESSION over the JSON's object e
	timeout 20 "$mem" estimate --json many.cu >"$tmp/json"
	python3 -c 'import json, sys; e = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' \
		"$tmp/json" "$1" || fail "json: $1"
}
json 'e["unknown"] == sum(a["bytes"] is None for a in e["allocations"])'
json 'e["total_bytes"] == sum(a["bytes"] * a["times"] for a in e["allocations"] if a["bytes"] is not None)'
json 'all((a["why"] is None) == (a["bytes"] is not None) for a in e["allocations"])'

# A macro from outside, which the source's own does not beat into another value.
printf '#include <x.h>\nint main() { cudaMalloc(&p, SIZE); }\n' >"$tmp/d.cu"
timeout 20 "$mem" estimate -D SIZE=4096 "$tmp/d.cu" | tail -n 1 | grep -qx '4096 bytes' || fail "-D"
printf '#define SIZE 1\n#define SIZE 2\nint main() { cudaMalloc(&p, SIZE); }\n' >"$tmp/twice.cu"
timeout 20 "$mem" estimate "$tmp/twice.cu" | grep -q "defined more than once" || fail "two definitions"
printf '#define A B\n#define B A\nint main() { cudaMalloc(&p, A); }\n' >"$tmp/loop.cu"
timeout 20 "$mem" estimate "$tmp/loop.cu" | grep -q "not known" || fail "a macro of itself"
# What is compiled: the variables of its modules; of a program no more than these is known, and that is said.
estimated() { # STATUS LINE FILE...
	local want=$1 line=$2 status=0
	shift 2
	timeout 20 "$mem" estimate "$@" >"$tmp/out" 2>&1 || status=$?
	if [ $status != "$want" ] || ! grep -qF -- "$line" "$tmp/out"; then
		fail "$*: exit status $status, not $want, or no line '$line':"
		cat "$tmp/out"
	fi
}
fatbin=$src/testsuite/unit/data/fatbin
printf '// of nvcc\n.version 7.0\n.target sm_70\n.visible .global .align 4 .b8 big[314572800];\n' >"$tmp/big.ptx"
estimated 0 "$tmp/big.ptx: module: 314572800 bytes: its variables" "$tmp/big.ptx"
estimated 0 "variables.fatbin: module: 4000428 bytes: its variables" "$fatbin/variables.fatbin"
estimated 0 "318573228 bytes" "$tmp/big.ptx" "$fatbin/variables.fatbin"
estimated 3 "library.so: program: not known: what it allocates (compiled" "$fatbin/library.so"
estimated 3 "library.so: module: 0 bytes: its variables" "$fatbin/library.so"
estimated 3 "at least 0 bytes; 1 of 1 allocations are not known" "$mem"
head -c 100 "$fatbin/variables.fatbin" >"$tmp/cut.fatbin"
estimated 3 "it is corrupt" "$tmp/cut.fatbin"
printf 'a\0b' >"$tmp/binary"
estimated 3 "neither source nor a program nor a module" "$tmp/binary"
estimated 3 "; 1 of 2 allocations are not known" "$tmp/big.ptx" "$tmp/binary"
printf '// C++\nint main() { cudaMalloc(&p, 8); }\n' >"$tmp/comment.cu"
estimated 0 "314572808 bytes" "$tmp/comment.cu" "$tmp/big.ptx"
printf 'int main() { cuArrayCreate(&a, &d); cuArray3DCreate(&a, &d); cuMipmappedArrayCreate(&a, &d, 4); }\n' >"$tmp/array.cu"
estimated 3 "; 3 of 3 allocations are not known" "$tmp/array.cu"

# What #if and its like leave out is not there; what cannot be evaluated is listed, not guessed.
source_is() { # STATUS LAST-LINE OPTION...: of the source on standard input, exactly
	local want=$1 line=$2 status=0
	shift 2
	cat >"$tmp/if.cu"
	timeout 20 "$mem" estimate "$@" "$tmp/if.cu" >"$tmp/out" 2>&1 || status=$?
	if [ $status != "$want" ] || [ "$(tail -n 1 "$tmp/out")" != "$line" ]; then
		fail "$line: exit status $status, not $want, and:"
		cat "$tmp/if.cu" "$tmp/out"
	fi
}
nothing='cudaMalloc(&p, 1 << 30);'
source_is 0 "5 bytes" <<-END
	#if 0
	#define N 7
	don't look: $nothing
	#if 1
	$nothing
	#endif
	#else
	#define N 5
	#endif
	int main() { cudaMalloc(&p, N); }
END
branches='#define THREE 3
#if defined(A) && B > 1
cudaMalloc(&p, 1);
#elif THREE == 3 && !defined C
cudaMalloc(&p, 2);
#elif 1
cudaMalloc(&p, 4);
#else
cudaMalloc(&p, 8);
#endif
#ifndef A
cudaMalloc(&p, 16);
#endif
#ifdef A
cudaMalloc(&p, 32);
#endif'
source_is 0 "18 bytes" <<<"$branches"
source_is 0 "34 bytes" -D A <<<"$branches"
source_is 0 "33 bytes" -D A -D B=2 <<<"$branches"
source_is 0 "20 bytes" -D C <<<"$branches"
source_is 0 "3 bytes" -D N=3 <<-END
	#ifndef N
	#define N 4
	#endif
	int main() { cudaMalloc(&p, N); }
END
source_is 0 "6 bytes" <<-END
	#define A
	#undef A
	#ifdef A
	$nothing
	#endif
	int main() { cudaMalloc(&p, 6); }
	#endif
	#if 0
	$nothing
END
source_is 3 "at least 1 bytes; 4 of 5 allocations are not known" <<-END
	#ifdef __CUDA_ARCH__
	#define N 4
	cudaMalloc(&p, 2);
	int n = 2;
	#else
	cudaMalloc(&p, 3);
	int n = 3;
	#endif
	int main() { cudaMalloc(&p, N); cudaMalloc(&p, n); cudaMalloc(&p, 1); }
END
# A file that is not there may define what is asked for.
source_is 3 "at least 0 bytes; 2 of 2 allocations are not known" <<-END
	#include "config.h"
	#ifdef BIG
	$nothing
	#else
	cudaMalloc(&p, 3);
	#endif
END

# Macros with parameters, and macros that allocate.
source_is 0 "440 bytes" <<-END
	#define ROUND(x, to) (((x) + (to) - 1) / (to) * (to))
	#define BYTES(n, type) ((n) * sizeof(type))
	#define TWICE(x) (2 * ROUND(x, 10))
	int main() { int n = 9; cudaMalloc(&p, BYTES(n + 1, double) + TWICE(BYTES(n, int) - 1)); cudaMalloc(&p, ROUND(max(1, n), \\
	  (280))); }
END
source_is 0 "1112 bytes" <<-END
	#define CHECK(call, ...) do { cudaError_t e = (call); if (e) report(#call, __VA_ARGS__); } while (0)
	#define NEW(p, n, type) CHECK(cudaMalloc((void **)&(p), (n) * sizeof(type)), "new", 1)
	#define GET cudaMalloc
	#define UNUSED() $nothing
	int main() {
		float *a;
		NEW(a, 25, float);
		for (int i = 0; i < 3; i++) { NEW(a, 84, int); }
		GET(&a, 4);
		// NEW(a, 1 << 30, char);
	}
END
source_is 3 "at least 0 bytes; 3 of 3 allocations are not known" <<-END
	#define SIZE(n) ((n) * 4)
	#define SELF(n) SELF(n)
	#define A(n) cudaMalloc(&p, n); A(n)
	int main() { cudaMalloc(&p, SIZE(1, 2)); cudaMalloc(&p, SELF(1)); cudaMalloc(&p, SIZE); }
END
source_is 3 "at least 0 bytes; 1 of 1 allocations are not known" <<-END
	#define NEW(p) cudaMalloc(&p, 4)
	#define NEW(p) cudaMalloc(&p, 8)
	int main() { NEW(a); }
END
grep -q '3: cudaMalloc: not known: 4 (in a macro or an #if that is not known)' "$tmp/out" || fail "where the macro is used: $(cat "$tmp/out")"

# What is no source at all does no harm.
head -c 100000 /dev/urandom | tr -d '\0' >"$tmp/noise.cu"
timeout 20 "$mem" estimate "$tmp/noise.cu" >/dev/null 2>&1
status=$?
[ $status = 0 ] || [ $status = 3 ] || fail "noise: $status"
estimated 1 "$tmp/nowhere.cu: No such file" "$tmp/nowhere.cu"
head -c 16777217 /dev/zero | tr '\0' ' ' >"$tmp/long.cu"
estimated 1 "$tmp/long.cu: larger than 16777216 bytes" "$tmp/long.cu"
timeout 20 "$mem" estimate >/dev/null 2>&1
[ $? = 2 ] || fail "no file"
timeout 20 "$mem" nonsense >/dev/null 2>&1
[ $? = 2 ] || fail "no verb"
timeout 20 "$mem" checkpoint --driver "$tmp/nowhere.so" 999999 >"$tmp/out" 2>&1
[ $? = 1 ] || fail "no driver"
# What gpushared says with preempt_timeout=24h, the longest that gpushare.conf takes.
timeout 20 "$mem" restore --driver "$tmp/nowhere.so" --timeout 43200001 999999 >"$tmp/out" 2>&1
[ $? = 1 ] || fail "the longest preempt_timeout"
timeout 20 "$mem" checkpoint abc >/dev/null 2>&1
[ $? = 2 ] || fail "no pid"
[ $failures = 0 ] && echo "all good"
exit $((failures != 0))
