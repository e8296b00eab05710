#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# golden/x.ptx transformed must be golden/x.want.ptx, or fail with golden/x.err.
# A line "// gpushare-ptx OPTION..." in x.ptx has options of the tool.
# UPDATE=1 writes what comes out as what is wanted: read the difference before you commit it.
set -u
golden=${srcdir:-.}/testsuite/ptx/golden
tool=${GPUSHARE_PTX:-./gpushare-ptx}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
status=0 count=0

for file in "$golden"/*.ptx; do
	case $file in *.want.ptx) continue ;; esac
	base=${file%.ptx}
	count=$((count + 1))
	options=$(sed -n 's|^// gpushare-ptx ||p' "$file")
	# shellcheck disable=SC2086
	if timeout 60 "$tool" $options transform "$file" > "$work/out" 2> "$work/err"; then
		want=$base.want.ptx got=$work/out
	else
		want=$base.err got=$work/reason
		sed "s|^gpushare-ptx: .*/||" "$work/err" > "$got"
	fi
	[ -z "${UPDATE:-}" ] || cp "$got" "$want"
	diff -u "$want" "$got" || { echo "FAIL: $file"; status=1; }
	# what is transformed already stays as it is
	if [ "$want" = "$base.want.ptx" ]; then
		# shellcheck disable=SC2086
		"$tool" $options transform "$work/out" | cmp -s - "$work/out" ||
			{ echo "FAIL: $file: a second transformation changes it"; status=1; }
	fi
done
[ "$count" -gt 0 ] || { echo "FAIL: no golden file in $golden"; exit 1; }
echo "$count golden files"
exit $status
