#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the lists of the packages say, without building any: `gpusharectl check` is for every machine of a cluster, so each gets it with what it needs.
. "${srcdir:-.}/testsuite/e2e/lib.sh"

# From debian/control and an .install file each; from the spec's %package and %files.
debian() { # PACKAGE...: they depend on the one that has gpusharectl
	local has package
	has=$(grep -lx usr/bin/gpusharectl "$SRC"/debian/*.install | sed 's#.*/##; s#\.install$##')
	echo "gpusharectl is in: $has"
	for package; do
		awk -v package="Package: $package" '/^$/ { inside = 0 } $0 == package { inside = 1 } inside && /^Depends:/' "$SRC/debian/control" |
			grep -F ", $has (= \${binary:Version})" || { echo "$package does not depend on it"; return 1; }
	done
}
check "Debian: nodes, and machines with slurmctld or for submitting, get gpusharectl" debian gpushare-daemon gpushare-slurm
rpm() {
	local has package spec=$SRC/contrib/rpm/gpushare.spec
	has=$(awk '/^%files/ { package = $2 } $0 == "%{_bindir}/gpusharectl" { print package }' "$spec")
	echo "gpusharectl is in: $has"
	for package; do
		awk -v package="$package" '/^%/ { inside = $1 == "%package" && $2 == package } inside && /^Requires:/' "$spec" |
			grep -F " %{name}-$has%{?_isa} = " || { echo "$package does not require it"; return 1; }
	done
}
check "RPM: so they do there" rpm daemon slurm
finish
