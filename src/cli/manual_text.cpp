// SPDX-License-Identifier: Apache-2.0
// The prose of holt(1) that belongs to no single command.
#include "cli/manual.hpp"

#include <string_view>

namespace holt::cli {

constinit std::string_view const manual_description =
    "A lock is a lease: a right that one owner holds until a deadline, and that is renewed while\n"
    "it is used. Every grant carries a fence, a number that grows with every holder. A resource\n"
    "that refuses a lower fence than it has seen is safe even from a holder that was paused and\n"
    "goes on too late.\n"
    "\n"
    "The leases are kept in a store. Without any setting that is an SQLite file of the user,\n"
    "$XDG_STATE_HOME/holt/holt.db, shared by all processes of the machine. Another is named by a\n"
    "URL: sqlite:///absolute/path.db or sqlite:relative.db.\n"
    "\n"
    "Names are UTF-8, at most 512 bytes, without control characters; one that starts with - goes\n"
    "after --. Durations are written 500ms, 30s, 5m, 1h30m, 1d.\n"
    "\n"
    "Data goes to standard output, talk to standard error. In JSON a fence is a string of 19\n"
    "digits, zero padded: it compares as text as it compares as a number. Keys are only ever\n"
    "added.\n";

constinit std::string_view const manual_notes =
    "Every flag can be set by a variable or in a file. Their names are made from the flag's: of\n"
    "one command with the command's words, --ttl of holt run is HOLT_RUN_TTL, and\n"
    "  [run]\n"
    "  ttl = \"30s\"\n"
    "in a file; those that mean the same in every command without, --store is HOLT_STORE and\n"
    "store = \"URL\". A flag that takes no value is set to true or false. An empty variable "
    "counts\n"
    "as not set. holt config show --all lists every key, holt config show --origin what is set.\n"
    "\n"
    "A flag wins over its variable, that over the project's file, that over the user's, that over\n"
    "the system's:\n"
    "- .holt.toml in the current folder or the nearest one above it that has one, up to the first\n"
    "folder that has a .git; or the file that HOLT_PROJECT_CONFIG names\n"
    "- $XDG_CONFIG_HOME/holt/config.toml, or ~/.config/holt/config.toml\n"
    "- /etc/holt/config.toml, or the file that HOLT_SYSTEM_CONFIG names\n"
    "\n"
    "A URL with a password in it is refused on the command line, where every user of the machine\n"
    "can read it. Give --store @FILE, a file that only its owner can read, or --store - with the\n"
    "URL as the first line of standard input. Passwords are never printed.\n"
    "\n"
    "Variables without a flag:\n"
    "- HOLT_LOG_LEVEL, which lease events are logged on standard error: debug, info, warn (the\n"
    "default; info for holt up and serve), error or off\n"
    "- HOLT_LOG_FORMAT, text (the default) or json: time, level, event, instance, name, owner,\n"
    "fence, reason\n"
    "- HOLT_PROJECT_CONFIG and HOLT_SYSTEM_CONFIG, files as above; /dev/null is one without\n"
    "settings\n"
    "- HOLT_ENGINE_PATH, folders with colons between them in which the modules of engines that "
    "are\n"
    "not built in are looked for, holt-engine-SCHEME.so; without it lib/holt/engines beside the\n"
    "program. A set-user-ID program does not heed it.\n"
    "- HOLT_QUEUE_WORKERS, HOLT_QUEUE_LOCK_DURATION and HOLT_QUEUE_POLL_INTERVAL, for programs "
    "that\n"
    "work on a queue of tasks: handlers at a time, how long a claim outlives its worker, and how\n"
    "often a worker looks that cannot be woken\n"
    "\n"
    "The command of holt run gets HOLT_LOCK_NAME and HOLT_FENCE, that of holt elect HOLT_ELECTION\n"
    "and HOLT_FENCE, those of holt poll HOLT_ENDPOINT, HOLT_POLLING, HOLT_NODE and HOLT_FENCE.\n"
    "\n"
    "Colour is for terminals; NO_COLOR, CLICOLOR=0 and CLICOLOR_FORCE are heeded unless --color\n"
    "says always or never.\n"
    "\n"
    "The first Ctrl-C (or TERM, HUP, QUIT) ends a command within 100 ms, also while another\n"
    "process blocks the store; what could not be cleaned up by then ends with its ttl. A second\n"
    "one ends it at once. holt run and holt elect pass it on to their command; holt poll ends its\n"
    "commands and hands over first, which takes a few seconds at the most.\n";

}  // namespace holt::cli
