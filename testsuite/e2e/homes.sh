# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Homes that automount mounts when they are wanted, in $TMP/homes; what is in them is in $TMP/export. Sourced, after lib.sh; for in_own_mounts.

# homes_can_be: or a line why not.
homes_can_be() {
	if ! command -v automount >/dev/null; then
		note "automount was not tried: autofs is not installed"
	elif [ ! -e /dev/autofs ] && ! grep -qw autofs /proc/filesystems; then
		note "automount was not tried: this kernel has no autofs"
	else
		return 0
	fi
	return 1
}
export_homes() {
	local user
	for user in one two three four; do
		mkdir -p "$TMP/export/$user" && echo "home of $user" >"$TMP/export/$user/.profile" || return 1
	done
	chown -R nobody: "$TMP/export/"*
}
homes_by_automount() {
	export_homes || return 1
	echo "$TMP/homes $TMP/homes.map --timeout=2" >"$TMP/homes.master"
	echo "* -fstype=bind :$TMP/export/&" >"$TMP/homes.map"
	# Its own process group: to that no file system is mounted.
	setsid -f automount -f -C -p "$TMP/automount.pid" "$TMP/homes.master" >"$TMP/automount.log" 2>&1
	until_true 10 test -s "$TMP/automount.pid" || { cat "$TMP/automount.log"; return 1; }
	until_true 10 grep -F " $TMP/homes " /proc/self/mountinfo && until_true 10 test -e "$TMP/homes/one/.profile"
}
not_mounted_here() { ! grep -F " $TMP/homes$1 " /proc/self/mountinfo; }
# What is mounted in the test's folder goes before it.
homes_end() {
	[ ! -s "$TMP/automount.pid" ] || { kill "$(cat "$TMP/automount.pid")" && until_true 20 not_mounted_here ''; } 2>/dev/null
	umount -q -l -R "$TMP/homes" 2>/dev/null
}
