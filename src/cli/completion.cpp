// SPDX-License-Identifier: Apache-2.0
// holt completion: scripts for shells that ask `holt __complete`, so that they never grow old.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/stream.hpp"

#include <array>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

/// bash splits words at ':' and '=' as well; they are put together again, and what stands before
/// the last piece is cut from the answers, as readline keeps it.
constexpr std::string_view bash_script =
    R"sh(# bash completion for holt. In ~/.bashrc: source <(holt completion bash)
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
)sh";

constexpr std::string_view zsh_script = R"sh(#compdef holt
# zsh completion for holt. In ~/.zshrc, after compinit: source <(holt completion zsh)
_holt() {
  local -a lines described
  local line
  lines=("${(@f)$(${(Q)words[1]} __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $lines[1] == :command* ]]; then
    local -i first=${lines[1]#:command }
    shift $first words
    ((CURRENT -= first))
    _normal
    return
  fi
  for line in $lines; do
    if [[ $line == *$'\t'* ]]; then
      described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    else
      described+=("${line//:/\\:}")
    fi
  done
  if (($#described)); then
    _describe -V holt described
  else
    _files
  fi
}
if [[ $funcstack[1] == _holt ]]; then
  _holt "$@"
else
  compdef _holt holt
fi
)sh";

constexpr std::string_view fish_script =
    R"sh(# fish completion for holt. In ~/.config/fish/config.fish: holt completion fish | source
function __holt_complete
    set -l words (commandline -opc)
    set -l lines ($words[1] __complete -- $words[2..-1] (commandline -ct) 2>/dev/null)
    if string match -q ':command *' -- $lines[1]
        set -l first (math 1 + (string replace ':command ' '' -- $lines[1]))
        complete -C (string join ' ' -- (string escape -- $words[$first..-1]) (commandline -ct))
    else
        printf '%s\n' $lines
    end
end
complete -c holt -f -a '(__holt_complete)'
)sh";

constexpr std::array<std::string_view, 3> shells{"bash", "zsh", "fish"};
constexpr std::array scripts{bash_script, zsh_script, fish_script};

int completion(CommandLine& line) {
  std::string shell;
  line.word("SHELL", shells, shell);
  if (!line.parse()) return number(ExitCode::ok);
  for (std::size_t i = 0; i < shells.size(); ++i) {
    if (shell == shells.at(i)) write_data(scripts.at(i));
  }
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const completion_command{
    .words = "completion",
    .synopsis = "bash|zsh|fish",
    .summary = "Print a script that completes holt's commands in a shell",
    .examples =
        "  source <(holt completion bash)              for this shell; or in ~/.bashrc\n"
        "  source <(holt completion zsh)               in ~/.zshrc, after compinit\n"
        "  holt completion fish | source               in ~/.config/fish/config.fish\n",
    .details =
        "Completes commands, flags and their values, and the names of locks that are held now.\n"
        "For all users: put the output into /usr/share/bash-completion/completions/holt, into a\n"
        "file _holt in zsh's $fpath, or into /usr/share/fish/vendor_completions.d/holt.fish.\n",
    .run = &completion,
    .without_files = true,
};

}  // namespace holt::cli
