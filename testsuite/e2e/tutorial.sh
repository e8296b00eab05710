#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every command of doc/tutorial.md, in order, in one shell. With --from-scratch (as CI runs it) also the first one, which builds
# and starts the cluster; otherwise a cluster from this build tree takes its place.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
PATH=$PATH:/usr/local/cuda/bin
# shellcheck disable=SC2016
blocks() { # number, condition and line of each block's start; its lines in $TMP/block.N
	awk -v out="$TMP/block." '
		/^```sh/ { n++; file = out n; sub(/^```sh ?/, ""); print n, ($0 == "" ? "-" : $0); printf "" >file; inside = 1; next }
		/^```/ { inside = 0; close(file); next }
		inside { print >file }' "$SRC/doc/tutorial.md"
}
blocks >"$TMP/blocks"
check "the tutorial has commands for users and administrators" test "$(wc -l <"$TMP/blocks")" -ge 12
try=/tmp/gpushare-try
if [ "${1:-}" != --from-scratch ]; then
	try=$TMP/try
	sed -i "s#/tmp/gpushare-try#$try#g; s#^\./contrib/#$SRC/contrib/#; s#(\./contrib/#($SRC/contrib/#" "$TMP"/block.*
	cat >"$TMP/block.1" <<-END
	BUILD=$BUILD GPU_MEMORY=512M GPUSHARE_EXTRA=JobEnv=GPUSHARE_EMU_MEMORY=512M $CLUSTER $try start
	END
fi
clusters+=("$try")
cat >"$TMP/shell" <<END
cd "$SRC" || exit 1
unset SLURM_CONF GPUSHARE_CONF GPUSHARE_SOCKET LD_LIBRARY_PATH
trap 'cd "$SRC"; [ ! -d $try ] || $CLUSTER $try stop >/dev/null' EXIT
END
while read -r n condition; do
	[ "$condition" != "needs nvcc" ] || command -v nvcc >/dev/null || { echo "echo '# no nvcc'; echo skipped >'$TMP/done.$n'" >>"$TMP/shell"; continue; }
	# The block as it is, in this shell, for its variables and folder; it ends at its first command that fails.
	if [ "$condition" = fails ]; then
		echo "! ( set -e; . '$TMP/block.$n' ) >'$TMP/said.$n' 2>&1 && grep -qi gpushare '$TMP/said.$n' && echo ok >'$TMP/done.$n'" >>"$TMP/shell"
	else
		echo "set -e; . '$TMP/block.$n' >'$TMP/said.$n' 2>&1; set +e; echo ok >'$TMP/done.$n'" >>"$TMP/shell"
	fi
done <"$TMP/blocks"
timeout 900 bash "$TMP/shell" >"$TMP/shell.out" 2>&1
for ((n = 1; n <= $(wc -l <"$TMP/blocks"); n++)); do
	ran() { cat "$TMP/block.$n"; cat "$TMP/said.$n" 2>/dev/null; [ -e "$TMP/done.$n" ]; }
	first=$(head -n 1 "$TMP/block.$n")
	check "block $n: $first$([ "$(cat "$TMP/done.$n" 2>/dev/null)" != skipped ] || echo ' (there is no nvcc: it was not run)')" ran
done

# What the words around the commands promise.
said() { grep -rhE -- "$1" "$TMP"/said.*; }
if command -v nvcc >/dev/null; then check "the reader's own program was right" said '^no error: 1.6769e\+07$'; fi
check "the job that asked for too much waits for resources" said '^[0-9]+ waits PENDING (Resources|Priority)$'
check "check found nothing wrong" said '0 wrong'
check "the report by user has root" said '^root '
finish
