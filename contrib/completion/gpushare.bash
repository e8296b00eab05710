# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion of gpushared and the gpushare-* tools: verbs, options and files from each program's own --help, so that they agree.

# What the program and its verb say; those that print their help on standard error, or that have none for the verb, as well.
_gpushare_help()
{
	"$@" --help 2>/dev/null </dev/null || "$1" --help 2>/dev/null </dev/null
}

_gpushare()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]}
	local name=${COMP_WORDS[0]##*/} verbs= verb= words i

	COMPREPLY=()
	case $name in
	gpushare-nvcc | gpushare-emu)
		# Behind their own options is another program's command line.
		for ((i = 1; i < COMP_CWORD; i++)); do
			[[ ${COMP_WORDS[i]} == -- ]] && break
		done
		if [ $i -lt "$COMP_CWORD" ] || [[ $cur != -* ]]; then
			if [ $name = gpushare-emu ]; then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			fi
			return
		fi
		;;
	gpushare-bench | gpushare-ptx) verbs=$("$program" --help 2>/dev/null </dev/null | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p') ;;
	gpushare-mem) verbs='estimate checkpoint restore state' ;;
	esac
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ " ${verbs//$'\n'/ } " == *" ${COMP_WORDS[i]} "* ]] && verb=${COMP_WORDS[i]} && break
	done
	case $prev in
	-p | --policy)
		# The benchmarks take the same ones, but only the simulator's help lists them, below this option.
		words=$("${program%"$name"}gpushare-sim" --help 2>/dev/null </dev/null | sed -n '/--policy P  /,/^  -/s/^ \{20,\}\([a-z][a-z0-9_]*\) .*/\1/p')
		mapfile -t COMPREPLY < <(compgen -W "all $words" -- "$cur")
		return
		;;
	--isolation) mapfile -t COMPREPLY < <(compgen -W 'none contexts mps' -- "$cur"); return ;;
	esac
	if [[ $cur == -* ]]; then
		# shellcheck disable=SC2086
		words=$(_gpushare_help "$program" $verb | grep -oE -- '(^|[^[:alnum:]-])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u)
	elif [ -n "$verbs" ] && [ -z "$verb" ]; then
		words=$verbs
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o filenames -F _gpushare gpushared gpushare-bench gpushare-emu gpushare-mem gpushare-nvcc gpushare-ptx gpushare-sim
