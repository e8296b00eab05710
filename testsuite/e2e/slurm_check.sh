#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpusharectl check: good on a good installation, and names what is wrong when each thing is broken.
. "${srcdir:-.}/testsuite/e2e/lib.sh"
need_cluster
need_built gpushared gpusharectl
start_cluster main
unset GPUSHARE_SOCKET GPUSHARE_CONF
ETC=$D/etc
ALT=$TMP/alt

# A copy of the configuration, to be broken; what it names stays.
fresh() {
	rm -rf "$ALT"
	cp -a "$ETC" "$ALT"
	sed -i "s#$ETC/#$ALT/#" "$ALT/slurm.conf" "$ALT/gpushare.conf"
}
look() { t 40 "$BUILD/gpusharectl" check --config "$ALT/gpushare.conf" --slurm-conf "$ALT/slurm.conf" "$@"; }
good() {
	fresh
	look && look | grep -qE '^[0-9]+ good, 0 wrong, '
}
# finds CHECK PATTERN [FIX]: status 1, the line, what to do beneath it.
finds() {
	local out rc=0
	out=$(look 2>&1) || rc=$?
	echo "status $rc"
	echo "$out"
	[ $rc = 1 ] && grep -qE "^wrong +$1 +.*$2" <<<"$out" &&
		grep -A1 -E "^wrong +$1 +.*$2" <<<"$out" | grep -qE "to do: .*${3:-.}"
}
doubts() { # a doubt is no error
	local out
	out=$(look) || return 1
	echo "$out"
	grep -qE "^doubtful +$1 +.*$2" <<<"$out"
}
broken() { # NAME SED-SCRIPT FILE CHECK PATTERN [FIX]
	local name=$1 script=$2 file=$3
	shift 3
	fresh
	sed -i "$script" "$ALT/$file"
	check "$name" finds "$@"
}

check "nothing is wrong with a private cluster" good
json() { fresh; look --json | python3 -c 'import json, sys
r = json.load(sys.stdin)
assert r["wrong"] == 0 and r["good"] == sum(c["finding"] == "good" for c in r["checks"]), r
assert all(set(c) == {"check", "finding", "text", "fix"} for c in r["checks"]), r'; }
check "--json says the same" json
check "how long the less urgent may wait is said" eval "look | grep -E '^good +priorities +a less urgent job waits for as long as'"
check "an argument too many is refused" refused "unexpected argument" t 10 "$BUILD/gpusharectl" check nonsense
check "every check's name is in the man page" eval "look --json | grep -oP '\"check\": \"\K[a-z.]+' | sort -u | while read -r n; do grep -qF \"\$n\" '$SRC/doc/gpusharectl.1' || exit 1; done"

# --- gpushare.conf and what it names ---

broken "a wrong key in gpushare.conf" 's/^Gpu=/Gpus=/' gpushare.conf configuration "gpushare.conf:[0-9]+: unknown key 'Gpus'"
fresh
rm "$ALT/gpushare.conf"
check "no gpushare.conf" finds configuration 'gpushare.conf: cannot open'
fresh
chmod 666 "$ALT/gpushare.conf"
check "a gpushare.conf that everybody may write" finds configuration 'may be written by others' 'chmod go-w'
broken "no shim" 's#^ShimDir=.*#ShimDir=/nonexistent#' gpushare.conf shim '/nonexistent/libcuda.so.1: No such file' ShimDir
broken "a shim that is no library" "s#^ShimDir=.*#ShimDir=$TMP/shim#;\$!b" gpushare.conf shim 'No such file'
mkdir "$TMP/shim" && echo nonsense >"$TMP/shim/libcuda.so.1"
check "a shim that is a text file" finds shim 'is no library for this machine'
cp "$D/plugins/gres_gpushare.so" "$TMP/shim/libcuda.so.1"
check "a shim that is another library" finds shim 'does not define cuInit'
cp -L "$BUILD/src/device/shim/.libs/libcuda.so.1" "$TMP/shim/libcuda.so.1" && chmod 700 "$TMP/shim"
check "a shim in a folder that users cannot enter" finds shim 'cannot be read by all users' 'chmod o\+rx'
broken "no driver" 's#^Driver=.*#Driver=/nonexistent/libcuda.so.1#' gpushare.conf driver 'No such file' 'driver'
broken "a GPU's device that is not there" 's#^Gpu=0.*#& File=/nonexistent/nvidia0#' gpushare.conf device 'GPU 0: /nonexistent/nvidia0: No such file' 'driver'
broken "a GPU's device that is none" 's#^Gpu=0.*#& File=/etc/passwd#' gpushare.conf device '/etc/passwd is no device'
fresh
sed -i "s#^Gpu=0.*#& File=$TMP/nvidia0#" "$ALT/gpushare.conf"
mknod -m 660 "$TMP/nvidia0" c 1 3
check "a device that not all users may open is a doubt" doubts device "not all users may open $TMP/nvidia0"
chmod 666 "$TMP/nvidia0"
check "one that all may open is good" eval "look | grep -E '^good +device +GPU 0: $TMP/nvidia0'"
broken "a folder that is not there" '$aHistoryFile=/nonexistent/history.db' gpushare.conf folder 'HistoryFile=/nonexistent/history.db: No such file'
mkdir -m 777 "$TMP/open"
broken "a folder where everybody may replace the file" "\$aMetricsFile=$TMP/open/x.prom" gpushare.conf folder 'everybody may replace it'
broken "MPS that does not run" '$aJobEnv=CUDA_MPS_PIPE_DIRECTORY=/nonexistent/mps' gpushare.conf mps 'no pipe /nonexistent/mps/control' 'nvidia-cuda-mps-control'
mkdir "$TMP/mps" && mkfifo "$TMP/mps/control"
fresh
echo "JobEnv=CUDA_MPS_PIPE_DIRECTORY=$TMP/mps" >>"$ALT/gpushare.conf"
check "MPS whose pipe is there is good" eval "look | grep -E '^good +mps '"

# --- Slurm's configuration ---

fresh
rm "$ALT/slurm.conf"
check "no slurm.conf" finds slurm.conf 'slurm.conf: No such file' '--slurm-conf'
broken "no gpushare in GresTypes" 's/^GresTypes=.*/GresTypes=craynetwork/' slurm.conf slurm.conf 'GresTypes=craynetwork' 'add gpushare to GresTypes'
broken "shares from several GPUs" 's/^SelectTypeParameters=.*/&,MULTIPLE_SHARING_GRES_PJ/' slurm.conf slurm.conf 'shares of several GPUs of a node and fail' 'leave MULTIPLE_SHARING_GRES_PJ out'
broken "gpushare before gpu in GresTypes" 's/^GresTypes=.*/GresTypes=gpushare,gpu/' slurm.conf slurm.conf 'GresTypes=gpushare,gpu' 'gpu before gpushare'
broken "gres/gpu without the primer" 's/^GresTypes=.*/GresTypes=gpu,gpushare/;/^PrEpPlugins/d' slurm.conf slurm.conf 'without prep/gpushare a restart' 'PrEpPlugins=prep/script,prep/gpushare'
broken "a node without gpushare" 's/Gres=[^ ]*gpushare:[0-9]*/Gres=/' slurm.conf node 'has Gres=' 'add gpushare:N'
broken "another number of shares than the GPUs have" 's/gpushare:100/gpushare:50/' slurm.conf node 'gpushare:50 in Slurm, 100 shares' agree
broken "two GPUs where Slurm has one" '$aGpu=1 Memory=1G' gpushare.conf node 'gpushare:100 in Slurm, 200 shares'
broken "a node that Slurm does not know" '/^NodeName=/d;$aNodeName=nonesuch' gpushare.conf node 'no NodeName line for nonesuch'
broken "a partition that Slurm does not know" 's/^Partition=low /Partition=lwo /' gpushare.conf partitions 'has Partition=lwo, and .*slurm.conf no such partition' 'as slurm.conf has it'
check "those that it knows are good" eval "fresh; look | grep -E '^good +partitions +'"
fresh
echo SuspendMemory=checkpoint >>"$ALT/gpushare.conf"
waits='SuspendMemory=checkpoint without task/gpushare: .* go on until'
if [ -r "$D/plugins/task_gpushare.so" ]; then
	check "suspended jobs that go on for a moment are a doubt" doubts slurm.conf "$waits"
else
	check "no doubt where Slurm asks no plugin before it suspends" eval "! look | grep -E '$waits'"
fi
broken "gres/mps beside gpushare" 's/gpushare:100/gpushare:100,mps:100/' slurm.conf node 'gpushare beside mps or shard'
fresh
echo "Name=gpushare Count=100 File=/dev/nvidia0" >"$ALT/gres.conf"
check "File= for gpushare in gres.conf" finds gres.conf 'gpushare has File=/dev/nvidia0' 'remove File='
fresh
rm "$ALT/plugstack.conf"
check "no plugstack.conf" finds plugstack 'plugstack.conf: No such file'
broken "a plugstack.conf without gpushare" 's/spank_gpushare/spank_other/' plugstack.conf plugstack 'does not name spank_gpushare.so' 'add the line'
broken "another socket in plugstack.conf" 's#socket=[^ ]*/gpushared.sock#socket=/run/other.sock#' plugstack.conf plugstack 'socket=/run/other.sock' 'the same'
fresh
sed -i 's/^required/optional/' "$ALT/plugstack.conf"
check "an optional plugin is a doubt" doubts plugstack 'leaves jobs unmanaged'
fresh
sed -i '/^JobSubmitPlugins/d' "$ALT/slurm.conf"
check "no job_submit/gpushare is a doubt" doubts slurm.conf 'without job_submit/gpushare'
past='jobs without shares use the GPUs past gpushare'
constrained() { # TASK-PLUGIN CONSTRAIN GRES-TYPES GRES-LINE
	fresh
	sed -i "s#^TaskPlugin=.*#TaskPlugin=$1#; s/^GresTypes=.*/GresTypes=$3/" "$ALT/slurm.conf"
	echo "ConstrainDevices=$2" >>"$ALT/cgroup.conf"
	echo "$4" >"$ALT/gres.conf"
}
# The rest of the cluster may have something wrong then.
devices_are() { # FINDING TEXT
	{ look || [ $? = 1 ]; } | tee "$TMP/devices" | grep -E "^$1 +devices +.*$2" || { cat "$TMP/devices"; return 1; }
}
unconstrained() { constrained "${@:2}" && devices_are doubtful "$1"; }
line='Name=gpu File=/dev/null'
check "devices: without ConstrainDevices it says who gets past" unconstrained "ConstrainDevices=no, .*: $past" task/cgroup no gpu,gpushare "$line"
check "devices: without task/cgroup, too" unconstrained "TaskPlugin=task/affinity: $past" task/affinity yes gpu,gpushare "$line"
check "devices: where no GPU is gres/gpu's Slurm constrains none" unconstrained "no GPU is gres/gpu's: $past" task/cgroup yes gpushare "$line"
check "devices: nor where gres.conf names no device" unconstrained "no GPU is gres/gpu's: $past" task/cgroup yes gpu,gpushare "Name=gpu Count=1"
check "devices: nor where nothing looks for any" unconstrained "no GPU is gres/gpu's: $past" task/cgroup yes gpu,gpushare "AutoDetect=off"
good_devices() { constrained task/affinity,task/cgroup yes gpu,gpushare "$1" && devices_are good 'jobs have the GPUs that they have asked for only'; }
check "devices: constrained, it is good" good_devices "$line"
check "devices: so it is with AutoDetect" good_devices "AutoDetect=nvml"
included() { # what a file includes counts
	fresh
	grep -v '^GresTypes' "$ALT/slurm.conf" >"$ALT/rest.conf"
	printf 'Include rest.conf\nGresTypes=gpu\\\nshare\n' >"$ALT/slurm.conf"
	look | tee /dev/stderr | grep -E '^good +slurm.conf +GresTypes=gpushare$'
}
check "included files and joined lines are read" included

# --- plugins ---

plugins() { # a copy of the plugins for this configuration
	fresh
	rm -rf "$TMP/plugins"
	cp -a "$D/plugins" "$TMP/plugins"
	sed -i "s#$D/plugins#$TMP/plugins#" "$ALT/slurm.conf" "$ALT/plugstack.conf"
}
patch_bytes() { # FILE OLD NEW: strings of equal length
	python3 - "$@" <<-'PY'
	import sys
	path, old, new = sys.argv[1], sys.argv[2].encode() + b"\0", sys.argv[3].encode() + b"\0"
	data = open(path, "rb").read()
	assert len(old) == len(new) and old in data, (old, new)
	open(path, "wb").write(data.replace(old, new))
	PY
}
version=$("$BUILD/gpusharectl" --version | sed 's/.* //')
other=9${version:1}
plugins
rm "$TMP/plugins/gres_gpushare.so"
check "no gres plugin" finds plugins 'gres_gpushare.so is in no folder of PluginDir' 'PluginDir'
for plugin in gres job_submit spank; do
	plugins
	patch_bytes "$TMP/plugins/${plugin}_gpushare.so" "$version" "$other"
	check "a $plugin plugin of another gpushare" finds plugins "${plugin}_gpushare.so is of gpushare $other, this is $version" 'plugins of this gpushare'
done
for plugin in gres job_submit spank; do
	plugins
	# The release, Slurm's second byte: no plugin may differ in it.
	python3 - "$TMP/plugins/${plugin}_gpushare.so" <<-'PY'
	import struct, subprocess, sys
	path = sys.argv[1]
	syms = subprocess.run(["readelf", "-sW", "--dyn-syms", path], capture_output=True, text=True, check=True).stdout
	value, index = next((int(f[1], 16), int(f[6])) for f in map(str.split, syms.splitlines()) if len(f) == 8 and f[7] == "plugin_version")
	data = bytearray(open(path, "rb").read())
	shoff = struct.unpack_from("<Q", data, 40)[0]
	addr, off = struct.unpack_from("<QQ", data, shoff + index * 64 + 16)
	data[value - addr + off + 1] += 1
	open(path, "wb").write(data)
	PY
	check "a $plugin plugin for another Slurm" finds plugins "${plugin}_gpushare.so was built for Slurm [0-9.]+, installed is [0-9.]+" 'installed Slurm'
	[ $plugin != gres ] || check "which slurmd refuses as well" finds loading '[Ii]ncompatible Slurm plugin'
done
plugins
: >"$TMP/plugins/gres_gpushare.so"
check "an empty file for a plugin" finds plugins 'is no library'
plugins
head -c 3000 "$D/plugins/gres_gpushare.so" >"$TMP/plugins/gres_gpushare.so"
check "half a file for a plugin" finds plugins 'is no library for this machine'
plugins
cp -L "$BUILD/src/device/shim/.libs/libcuda.so.1" "$TMP/plugins/gres_gpushare.so"
check "a library that is no plugin" finds plugins "is no plugin of Slurm's"

# gpushared says so when it starts.
second() { # a daemon beside the first, with the broken plugins
	sed -i -e "s#$D/run/gpushared#$ALT/gpushared#" -e "s#$D/log/gpushared.log#$ALT/gpushared.log#" "$ALT/gpushare.conf"
	timeout 20 "$BUILD/gpushared" --config "$ALT/gpushare.conf" && until_true 5 test -s "$ALT/gpushared.pid" || return 1
	kill "$(cat "$ALT/gpushared.pid")"
	until_true 5 test ! -e "$ALT/gpushared.pid"
	cat "$ALT/gpushared.log"
}
plugins
patch_bytes "$TMP/plugins/gres_gpushare.so" "$version" "$other"
check "gpushared's log says at its start that a plugin is of another gpushare" \
	eval "second | grep -E 'error: .*gres_gpushare.so is of gpushare $other, this is $version: see gpusharectl check'"
plugins
check "and is silent when all fit" eval "second && ! grep -E 'see gpusharectl check' $ALT/gpushared.log"

# --- services ---

broken "munge's socket is not there" 's#^MungeSocket=.*#MungeSocket=/nonexistent/munge#' gpushare.conf munge '/nonexistent/munge' 'start munged'
broken "gpushared does not answer" 's#^Socket=.*#Socket=/run/nonexistent/sock#' gpushare.conf gpushared 'does not answer at /run/nonexistent/sock' 'systemctl start gpushared'
broken "gpushared runs with other GPUs than are configured" '$aGpu=1 Memory=1G' gpushare.conf gpushared 'it runs with 1 GPUs, .* has 2' restart
broken "slurmctld does not answer" 's/^SlurmctldPort=.*/SlurmctldPort=1/' slurm.conf slurmctld '.' 'scontrol ping'
as_user() {
	fresh
	chmod 755 "$ALT" && as_nobody timeout 40 "$BUILD/gpusharectl" check --config "$ALT/gpushare.conf" --slurm-conf "$ALT/slurm.conf"
}
check "a user may check as well; what only root sees is unchecked" eval "as_user | grep -E '^unchecked +loading .*only root'"
controller() { # a machine without GPUs: only Slurm's part
	fresh
	sed -i 's/^Gpu=0.*/NodeType=a Nodes=n1 Memory=1G/' "$ALT/gpushare.conf"
	look | tee /dev/stderr | grep -E '^unchecked +device .*no node with GPUs' && ! look | grep -E '^[a-z]+ +(shim|gpushared|node) '
}
check "on a machine without GPUs the node's part is not looked at" controller
# A site that has built Slurm itself has its programs in a folder of their own, beside the distribution's or not.
own_slurm() {
	local program
	mkdir -p "$TMP/own"
	for program in slurmd scontrol; do
		printf '#!/bin/sh\necho %s >>%s\nexec %s "$@"\n' $program "$TMP/own/called" "$(command -v $program)" >"$TMP/own/$program"
		chmod 755 "$TMP/own/$program"
	done
	fresh
	PATH=$TMP/own:$PATH look && [ "$(sort -u "$TMP/own/called" | xargs)" = 'scontrol slurmd' ]
}
check "the Slurm that is asked is the one of PATH" own_slurm
no_path() {
	local finding=unchecked
	fresh
	! PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin command -v slurmd || finding='(good|wrong)' # another Slurm's does not fit
	{ env -u PATH "$BUILD/gpusharectl" check --config "$ALT/gpushare.conf" --slurm-conf "$ALT/slurm.conf" || true; } | grep -E "^$finding +loading "
}
check "without a PATH it is the system's" no_path
check "and in the end nothing is wrong still" good

start_cluster two GPUS=2
unset GPUSHARE_SOCKET GPUSHARE_CONF
ETC=$D/etc
check "nor with two GPUs, gres/gpu and the primer" good
broken "gres/gpu with another number of GPUs" 's/gpu:2,/gpu:1,/' slurm.conf node '1 of gres/gpu and 2 GPUs'
broken "two GPUs without the primer" '/^PrEpPlugins/d' slurm.conf slurm.conf 'without prep/gpushare a restart'
finish
