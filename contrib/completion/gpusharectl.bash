# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion of gpusharectl: verbs and options from its own --help, so that both agree.
_gpusharectl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]}
	local verb= i help

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-s | --socket) i=$((i + 1)) ;;
		-*) ;;
		*) verb=${COMP_WORDS[i]}; break ;;
		esac
	done
	case $prev in
	-s | --socket | -c | --config | --slurm-conf) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	-u | --user) mapfile -t COMPREPLY < <(compgen -u -- "$cur"); return ;;
	-o | --format | -S | --sort)
		# Of LIST only the last word is being typed.
		mapfile -t COMPREPLY < <(compgen -P "${cur%"${cur##*[,-]}"}" -W "$("$program" "$verb" --format help 2>/dev/null | sed 's/ .*//')" -- "${cur##*[,-]}")
		return
		;;
	--by) mapfile -t COMPREPLY < <(compgen -W 'step job user partition gpu' -- "$cur"); return ;;
	esac
	if [ -z "$verb" ] && [[ "$cur" != -* ]]; then
		help=$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
	elif [ "$verb" = policy ] && [[ "$cur" != -* ]]; then
		help=$("$program" policy --help 2>/dev/null | sed -n 's/^  \([a-z][a-z0-9_]*\)[[:space:]].*/\1/p')
	elif [ "$verb" = run ] && [[ "$cur" != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		return
	elif [ "$verb" = plot ] && [[ "$cur" != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	else
		# shellcheck disable=SC2086
		help=$("$program" $verb --help 2>/dev/null | grep -oE -- '(^|[^[:alnum:]-])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u)
	fi
	mapfile -t COMPREPLY < <(compgen -W "$help" -- "$cur")
}
complete -F _gpusharectl gpusharectl
