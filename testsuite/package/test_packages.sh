#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the lists of the packages and of the tarball say, without building any: `gpusharectl check` is for every machine of a cluster, so each gets it
# with what it needs.
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

# `make dist` finds each file of its lists. Automake adds its own inputs itself.
listed() { make -n -C "$BUILD" distdir >"$TMP/distdir" 2>&1 || { tail -n 3 "$TMP/distdir"; return 1; }; }
check "each file of the tarball's lists is there" listed
all_listed() {
	make -s -C "$BUILD" --eval='list-files:;@printf "%s\n" $(patsubst $(srcdir)/%,%,$(DISTFILES))' list-files >"$TMP/files" || return 1
	git -C "$SRC" ls-files | grep -vE '^\.(ci/|git)|(^|/)Makemodule\.am$|^m4/|^(configure\.ac|Makefile\.am)$' | awk -v lists="$TMP/files" '
		BEGIN { while ((getline file <lists) > 0) listed[file] = 1 }
		{ # some lists name a whole folder
			for (path = $0; !(path in listed) && sub("/[^/]*$", "", path);)
				;
			if (!(path in listed)) { print "no list has " $0; missing = 1 }
		}
		END { exit missing }'
}
if git -C "$SRC" rev-parse --is-inside-work-tree >/dev/null 2>&1 && [ -e "$SRC/.git" ]; then
	check "and each file of the repository is in the lists" all_listed
else
	echo "# not a git repository: the lists are compared with nothing"
fi
finish
