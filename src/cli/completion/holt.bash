# SPDX-License-Identifier: Apache-2.0
# bash completion for holt. In ~/.bashrc: source <(holt completion bash)
# bash splits words at ':' and '=' as well: they are put together again, and what stands before the
# last piece is cut from the answers, as readline keeps it.
_holt() {
  local rest=$COMP_LINE words=() word i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i > 0)) && [[ $rest && $rest != [[:space:]]* ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
    rest=${rest#"${rest%%[![:space:]]*}"}
    rest=${rest#"$word"}
  done
  local last=${COMP_WORDS[COMP_CWORD]}
  [[ $last == [:=] ]] && last=
  local before=${words[-1]%"$last"} lines line
  mapfile -t lines < <("$1" __complete -- "${words[@]:1}" 2>/dev/null)
  COMPREPLY=()
  if [[ ${lines[0]} == :command* ]]; then
    if declare -F _command_offset >/dev/null; then
      _command_offset "${lines[0]#:command }"
    elif ((${#words[@]} - 1 == ${lines[0]#:command })); then
      mapfile -t COMPREPLY < <(compgen -c -- "$last")
    fi
    return
  fi
  for line in "${lines[@]}"; do
    line=${line%%$'\t'*}
    line=${line#"$before"}
    [[ $line ]] && COMPREPLY+=("$(printf %q "$line")")
  done
}
complete -o bashdefault -o default -F _holt holt
