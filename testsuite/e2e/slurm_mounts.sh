#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What jobs mount and what the node mounts, with a mount namespace per job (MountShim=step): FUSE file systems (bindfs, squashfuse) of one step
# are in the job's others, and homes that automount mounts when they are wanted arrive in jobs. The emulated device is the GPU.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
. "${srcdir:-.}/testsuite/e2e/homes.sh"
in_own_mounts
# What is mounted in the test's folder goes before it.
leave() {
	local status=$?
	homes_end
	umount -q -l -R "$TMP/late" 2>/dev/null
	(exit $status)
	cleanup
}
trap leave EXIT
need_cluster
need_built gpushared testsuite/e2e/bypass testsuite/e2e/bypass_rpath
mkdir -p "$TMP/driver" "$TMP/bin"
cp -L "$BUILD/src/device/emu/.libs/libcuda.so.1" "$TMP/driver/libcuda.so.1"
cp "$BUILD"/testsuite/e2e/bypass{,_rpath} "$TMP/bin/"
start_cluster main DRIVER="$TMP/driver/libcuda.so.1" "SPANK_ARGS=timeout=10s"
MOUNTS=$D/run/gpushared.mounts
MANAGED='^total=256 alloc=refused '

# A user's job of a script that is read here; its lines, and that it ends well. What it does may take so long.
user_job() { # SBATCH-OPTION...: $job
	cat >"$TMP/script"
	chmod 644 "$TMP/script"
	job=$(as_nobody timeout 10 sbatch --parsable --chdir=/ --output="$D/out/%j" --gres=gpushare:25 "$@" "$TMP/script") || return 1
}
user_script() { # SBATCH-OPTION...
	user_job "$@" && wait_over "$job" 40
	cat "$D/out/$job"
	in_state "$job" COMPLETED
}
says() { grep -qE -- "$1" "$D/out/$job"; }
quiet() { ! grep -E 'error|going to /tmp' "$D/out/$job"; }
# What the scripts of jobs begin with: until_there FILE.
SCRIPT_BEGIN='#!/bin/bash
until_there() { for i in $(seq 200); do [ -e "$1" ] && return 0; sleep 0.05; done; echo "$1 is not there"; return 1; }
until_gone() { for i in $(seq 200); do [ ! -e "$1" ] && return 0; sleep 0.05; done; echo "$1 is there"; return 1; }'
gone() { [ -z "$(ls -A "$MOUNTS/jobs" 2>/dev/null)" ] && ! grep -F "$MOUNTS/jobs/" /proc/self/mountinfo; }

# --- FUSE ---

# A folder of files and one to mount it on, both the user's.
fresh() {
	rm -rf "$D/fuse"
	mkdir -p "$D/fuse/files/below" "$D/fuse/at" && cp "$TMP/bin/bypass" "$D/fuse/files/" && echo content >"$D/fuse/files/file" &&
		chown -R nobody: "$D/fuse"
}
FUSE="cd / && timeout 60 bindfs -f --no-allow-other $D/fuse/files $D/fuse/at"

one_step() {
	fresh && user_script -n 2 <<-END || return 1
		$SCRIPT_BEGIN
		srun --overlap -n 1 sh -c '$FUSE' &
		until_there $D/fuse/at/file || exit 1
		echo batch: \$(cat $D/fuse/at/file)
		srun --overlap -n 2 sh -c 'echo task \$SLURM_PROCID: \$(cat $D/fuse/at/file)'
		srun --overlap -n 1 sh -c 'echo written >$D/fuse/at/new'
		cat $D/fuse/files/new $D/fuse/at/new
		srun --overlap -n 1 fusermount3 -u $D/fuse/at
		until_gone $D/fuse/at/file && echo unmounted
		wait
		exit 0
	END
	says '^batch: content$' && says '^task 0: content$' && says '^task 1: content$' && [ "$(grep -c '^written$' "$D/out/$job")" = 2 ] && says '^unmounted$' && quiet
}
one_task() {
	fresh && user_script -n 2 <<-END || return 1
		$SCRIPT_BEGIN
		srun -n 2 bash -c 'if [ \$SLURM_PROCID = 0 ]; then ($FUSE) & fi
			for i in \$(seq 200); do [ -e $D/fuse/at/file ] && break; sleep 0.05; done
			echo task \$SLURM_PROCID: \$(cat $D/fuse/at/file)
			if [ \$SLURM_PROCID = 1 ]; then sleep 1; fusermount3 -u $D/fuse/at; else wait; fi'
		exit 0
	END
	says '^task 0: content$' && says '^task 1: content$'
}
in_batch() { # a file system that the batch script mounts in the background, as programs do that unpack an image
	fresh && user_script <<-END || return 1
		$SCRIPT_BEGIN
		bindfs -o allow_other $D/fuse/files $D/fuse/at || exit 1
		cd $D/fuse/at
		srun --overlap sh -c 'echo step in \$(pwd): \$(cat file)'
		srun --overlap ./bypass 512 $TMP/driver/libcuda.so.1 </dev/null
		cd below
		srun --overlap sh -c 'echo step in \$(pwd)'
		env -i LD_LIBRARY_PATH=$TMP/driver $D/fuse/at/bypass 512 </dev/null
		cd /
		fusermount3 -u $D/fuse/at
	END
	says "^step in $D/fuse/at: content\$" && says "^step in $D/fuse/at/below\$" && [ "$(grep -cE "$MANAGED" "$D/out/$job")" = 2 ]
}
driver_through_fuse() {
	fresh && user_script <<-END || return 1
		$SCRIPT_BEGIN
		bindfs --no-allow-other $TMP/driver $D/fuse/at || exit 1
		env -i LD_LIBRARY_PATH=$D/fuse/at $TMP/bin/bypass 512 $D/fuse/at/libcuda.so.1 </dev/null
		fusermount3 -u $D/fuse/at
	END
	says "$MANAGED"
}
image() { # a file system that only reads, with the program in it
	fresh && mksquashfs "$D/fuse/files" "$D/fuse/image" -quiet -no-progress && user_script <<-END || return 1
		$SCRIPT_BEGIN
		squashfuse $D/fuse/image $D/fuse/at || exit 1
		srun --overlap $D/fuse/at/bypass 512 $TMP/driver/libcuda.so.1 </dev/null
		fusermount3 -u $D/fuse/at
	END
	says "$MANAGED"
}
left_behind() { # a job that does not unmount
	fresh && user_script <<-END || return 1
		$SCRIPT_BEGIN
		bindfs --no-allow-other $D/fuse/files $D/fuse/at && cat $D/fuse/at/file
	END
	says '^content$' && until_true 10 gone && until_true 10 node_is idle && ! grep -F "$D/fuse/at" /proc/self/mountinfo && [ ! -e "$D/fuse/at/file" ]
}
other_job() {
	local first
	fresh && rm -f "$D/out/begun" && user_job <<-END || return 1
		$SCRIPT_BEGIN
		($FUSE) &
		until_there $D/fuse/at/file && touch $D/out/begun
		wait
	END
	first=$job
	until_true 15 test -e "$D/out/begun" && user_script <<-END
		#!/bin/bash
		[ -e $D/fuse/at/file ] && echo seen || echo not there
	END
	cat "$D/out/$first"
	scancel "$first"
	wait_over "$first" && says '^not there$' && until_true 10 gone
}
if ! command -v bindfs >/dev/null || ! command -v fusermount3 >/dev/null; then
	note "FUSE was not tried: bindfs and fuse3 are not installed"
elif ! users_have_fuse; then
	note "FUSE was not tried: users have no /dev/fuse here"
else
	check "FUSE: what one step mounts is in the batch script and in other steps, and goes where one unmounts it" one_step
	check "FUSE: what one task mounts is in the step's others" one_task
	check "FUSE: what the batch script mounts is in steps: their working directory, their programs, which are managed" in_batch
	check "FUSE: the driver seen through such a mount is the shim" driver_through_fuse
	if command -v squashfuse >/dev/null && command -v mksquashfs >/dev/null; then
		check "FUSE: a program in an image that the job has mounted (squashfuse) is managed" image
	else
		note "squashfuse was not tried: it and mksquashfs are not installed"
	fi
	check "FUSE: a mount that a job leaves behind is gone with it, and the node stays in service" left_behind
	check "FUSE: another job does not see it" other_job
	echo MountShim=no >>"$D/etc/gpushare.conf"
	reload "$D/run/gpushared.pid" "$D/log/gpushared.log"
	check "FUSE: without the job's namespace (MountShim=no) a step's mount is in the job's other steps alike" one_step
	check "FUSE: and a task's in its step's others" one_task
	sed -i '/^MountShim=/d' "$D/etc/gpushare.conf"
	reload "$D/run/gpushared.pid" "$D/log/gpushared.log"
fi

# --- homes that are mounted when they are wanted ---

wanted_in_job() { # nobody else has asked for it
	not_mounted_here /two || return 1
	user_script <<-END || return 1
		#!/bin/bash
		cat $TMP/homes/two/.profile && echo result >$TMP/homes/two/result
		srun --overlap cat $TMP/homes/two/result
	END
	says '^home of two$' && says '^result$' && [ "$(cat "$TMP/export/two/result")" = result ]
}
working_directory() {
	user_script --chdir="$TMP/homes/three" <<-END || return 1
		#!/bin/bash
		echo batch in \$(pwd): \$(cat .profile)
		srun --overlap sh -c 'echo step in \$(pwd): \$(cat .profile)'
		env -i $TMP/bin/bypass_rpath 512 </dev/null
	END
	says "^batch in $TMP/homes/three: home of three\$" && says "^step in $TMP/homes/three: home of three\$" && says "$MANAGED" && quiet
}
home_in_use() { # the node's automount waits with a home while a job is in it, and takes it away once the job has gone
	user_script --chdir="$TMP/homes/four" <<-END || return 1
		#!/bin/bash
		sleep 6
		cat .profile && echo kept >kept && srun --overlap cat kept
	END
	says '^home of four$' && says '^kept$' && [ "$(cat "$TMP/export/four/kept")" = kept ]
}
expired_in_job() { # a home that nobody is in goes, from the job as well, and comes again
	user_script <<-END || return 1
		#!/bin/bash
		cat $TMP/homes/one/.profile
		for i in \$(seq 300); do grep -qF " $TMP/homes/one " /proc/self/mountinfo || break; sleep 0.1; done
		grep -F " $TMP/homes/one " /proc/self/mountinfo || echo expired
		cat $TMP/homes/one/.profile
	END
	says '^expired$' && [ "$(grep -c '^home of one$' "$D/out/$job")" = 2 ]
}
if homes_can_be; then
	check "automount gives homes to the node" homes_by_automount
	check "a home that a job is the first to want is mounted, and is in its steps" wanted_in_job
	check "a home as the working directory of the job and its steps, a program there is managed" working_directory
	check "a home is not taken from a job that is in it" home_in_use
	check "and from no job's namespace is it kept once it is not used" until_true 15 not_mounted_here /four
	check "a home that has expired comes again in the same job" expired_in_job
fi

# --- without automount: what the node mounts and unmounts while the job runs ---

late() {
	mkdir -p "$TMP/late" "$TMP/export/late" && echo late >"$TMP/export/late/file" || return 1
	rm -f "$D/out/begun" "$D/out/seen"
	user_job <<-END || return 1
		$SCRIPT_BEGIN
		touch $D/out/begun
		until_there $TMP/late/file && srun --overlap cat $TMP/late/file
		touch $D/out/seen
		until_gone $TMP/late/file && srun --overlap sh -c '[ ! -e $TMP/late/file ] && echo gone'
	END
	until_true 15 test -e "$D/out/begun" && mount --bind "$TMP/export/late" "$TMP/late" && until_true 15 test -e "$D/out/seen" && umount "$TMP/late"
	wait_over "$job" 30
	cat "$D/out/$job"
	says '^late$' && says '^gone$'
}
check "what is mounted on the node while a job runs arrives in it and in its steps, and leaves it" late
check "no namespace is kept once the jobs are over" until_true 20 gone
check "the node is in service" until_true 10 node_is idle
finish
