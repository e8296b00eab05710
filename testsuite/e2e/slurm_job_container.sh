#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside Slurm's plugin that gives each job a mount namespace with a /tmp of its own: the shim has the driver's place in that.
# The plugin is job_container/tmpfs; from Slurm 25.11 on namespace/linux, or with NAMESPACE=tmpfs namespace/tmpfs.
# The cluster is in /var/tmp: the job's /tmp is another one.
export TMPDIR=/var/tmp
. "${srcdir:-.}/testsuite/e2e/lib.sh"
. "${srcdir:-.}/testsuite/e2e/homes.sh"
in_own_mounts
leave() {
	local status=$?
	homes_end
	(exit $status)
	cleanup
}
trap leave EXIT
need_cluster
need_built gpushared testsuite/e2e/bypass_rpath
has_plugin() { compgen -G "/usr/lib/*/slurm*/$1.so" >/dev/null; }
NAMESPACE=${NAMESPACE:-linux}
if has_plugin job_container_tmpfs; then
	plugin=JobContainerType=job_container/tmpfs
elif has_plugin "namespace_$NAMESPACE"; then
	plugin=NamespaceType=namespace/$NAMESPACE
else
	skip_all "this Slurm has neither job_container/tmpfs nor namespace/$NAMESPACE where they are looked for"
fi
# Programs and libraries that a job of another user can read, and that are not in /tmp.
[[ "$BUILD" != /tmp/* ]] || skip_all "the build tree is in /tmp, which jobs do not see here"
mkdir -p "$TMP/driver" "$TMP/bin"
cp -L "$BUILD/src/device/emu/.libs/libcuda.so.1" "$TMP/driver/libcuda.so.1"
cp "$BUILD/testsuite/e2e/bypass_rpath" "$TMP/bin/"
start_cluster main DRIVER="$TMP/driver/libcuda.so.1" "SPANK_ARGS=timeout=10s"
MOUNTS=$D/run/gpushared.mounts

# write_containers [SHARED]: Slurm reads it as slurmctld and slurmd start.
write_containers() {
	case $plugin in
	*/linux) printf 'defaults:\n  auto_base_path: true\n  base_path: "%s"\n%s' "$D/containers" "${1:+  shared: true
}" >"$D/etc/namespace.yaml" ;;
	*) printf 'AutoBasePath=true\nBasePath=%s\n%s' "$D/containers" "${1:+Shared=true
}" >"$D/etc/job_container.conf" ;;
	esac
}
start_again() {
	local daemon pid
	for daemon in slurmctld slurmd; do
		pid=$(pid_in "$D/run/$daemon.pid") && kill "$pid" && until_true 20 has_ended "$pid"
		t 20 $daemon -f "$D/etc/slurm.conf"
	done
	until_true 20 node_is idle
}
mkdir "$D/containers"
write_containers
printf '%s\nPrologFlags=Contain\n' "$plugin" >>"$D/etc/slurm.conf"
note "$plugin"
start_again || note "the node is $(t 5 sinfo -h -p low -o %T)"

out_of() { cat "$D/out/$1"; }
says() { # PATTERN USER-COMMAND...: a job of a user's
	local pattern=$1 job
	shift
	job=$(as_nobody timeout 10 sbatch --parsable --chdir="${AT:-/}" --output="$D/out/%j" --gres=gpushare:25 --wrap "$* </dev/null") || return 1
	last=$job
	wait_over "$job" 30
	out_of "$job"
	grep -qE -- "$pattern" "$D/out/$job"
}
own_tmp() {
	local rc=0
	touch "/tmp/gpushare.$$"
	says '^own$' "test -e /tmp/gpushare.$$ || echo own" || rc=1
	rm "/tmp/gpushare.$$"
	return $rc
}
check "the job has a /tmp of its own" own_tmp
check "a program with DT_RPATH, env -i: managed" says '^total=256 alloc=refused ' "env -i $TMP/bin/bypass_rpath 512"
check "a step in the job: managed" says '^total=256 alloc=refused ' "srun --overlap env -i $TMP/bin/bypass_rpath 512"
check "what the script has written to /tmp a step sees" says '^seen$' "echo seen >/tmp/x; srun --overlap cat /tmp/x"
check "the job's steps have one namespace" says '^same$' \
	'a=$(readlink /proc/self/ns/mnt); b=$(srun --overlap readlink /proc/self/ns/mnt); [ "$a" = "$b" ] && echo same'
# Root's job: users may have no /dev/fuse.
fuse() {
	local job
	job=$(submit --chdir=/ --gres=gpushare:25 --wrap "mkdir /tmp/files /tmp/at; echo content >/tmp/files/file; (srun --overlap bindfs -f /tmp/files /tmp/at) &
		for i in \$(seq 200); do [ -e /tmp/at/file ] && break; sleep 0.05; done; srun --overlap sh -c 'echo step: \$(cat /tmp/at/file)'; umount /tmp/at; wait") || return 1
	wait_over "$job" 30
	out_of "$job"
	grep -qx 'step: content' "$D/out/$job"
}
if command -v bindfs >/dev/null && [ -c /dev/fuse ]; then
	check "a FUSE mount made in one step, in the job's own /tmp, is in the job's others" fuse
else
	note "FUSE was not tried: it takes bindfs and /dev/fuse"
fi
check "its working directory is what it was" says '^/$' pwd

# --- homes that the node mounts when a job wants them ---

wanted_in_job() { # nobody else has asked for it
	not_mounted_here /two || return 1
	says '^result of two$' "grep -x 'home of two' $TMP/homes/two/.profile && echo result of two >$TMP/homes/two/result; srun --overlap cat $TMP/homes/two/result" &&
		[ "$(cat "$TMP/export/two/result")" = 'result of two' ]
}
in_a_home() {
	AT=$TMP/homes/three says '^total=256 alloc=refused ' "srun --overlap sh -c 'echo step in \$(pwd): \$(cat .profile)'; env -i $TMP/bin/bypass_rpath 512" &&
		grep -qx "step in $TMP/homes/three: home of three" "$D/out/$last" && ! grep -E 'error|going to /tmp' "$D/out/$last"
}
if ! homes_can_be; then
	:
elif [[ "$(scontrol --version)" = "slurm"*" 22."* ]]; then
	note "automount was not tried: before Slurm 23.02 its containers get no mounts of the node, with gpushare or without"
else
	write_containers shared
	check "Slurm's containers are shared (Shared=true)" start_again
	check "the job still has a /tmp of its own" own_tmp
	check "automount gives homes to the node" homes_by_automount
	check "a home that a job is the first to want is mounted, and is in its steps" wanted_in_job
	check "a home as the working directory of the job and its steps, a program there is managed" in_a_home
	check "a home is not kept by a job's namespace once it is not used" until_true 15 not_mounted_here /three
fi

gone() { [ -z "$(ls -A "$MOUNTS/jobs" 2>/dev/null)" ] && ! grep -F "$MOUNTS/jobs/" /proc/self/mountinfo; }
check "nothing is kept once the jobs are over" until_true 20 gone
check "the node is in service" until_true 10 node_is idle
finish
