# SPDX-License-Identifier: Apache-2.0
# fish completion for holt. In ~/.config/fish/config.fish: holt completion fish | source
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
