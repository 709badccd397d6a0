// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view top_examples =
    "  holt demo                                 see it work, in thirteen seconds\n"
    "  holt run --lock deploy -- ./deploy.sh     run a command, one at a time in the fleet\n"
    "  holt run --lock backup --no-wait -- make backup\n"
    "  holt lock list                            who holds what\n"
    "  holt elect scheduler -- ./scheduler       run it on one machine, the leader\n"
    "  holt poll --endpoints feeds.txt -- ./fetch.sh {}\n"
    "  holt work --queue mail -- ./send.sh       do the tasks that holt queue add has added\n"
    "  holt up --name myproject                  a name that nobody else has, until holt down\n";

constexpr std::string_view top_settings =
    "Options that mean the same in every command that has them:\n"
    "  --store URL           where leases and tasks are kept; without it a file of yours,\n"
    "                        $XDG_STATE_HOME/holt/holt.db. @FILE or - (stdin) for a URL that\n"
    "                        carries a password\n"
    "  --instance INSTANCE   whose leases and tasks; instances do not see each other\n"
    "                        (\"default\")\n"
    "  --color WHEN          auto, always or never; auto is on a terminal, and heeds NO_COLOR\n"
    "                        and CLICOLOR_FORCE\n"
    "  --progress FORM       what it waits for, on stderr: auto, plain, quiet or json; auto is a\n"
    "                        line that is kept up to date on a terminal, plain lines else\n"
    "Durations are written 500ms, 30s, 5m, 1h30m.\n"
    "\n"
    "Every flag can be set by a variable or in a file; holt config show --all lists them:\n"
    "  --store URL of any command    HOLT_STORE      store = \"URL\"\n"
    "  holt run --ttl 5m             HOLT_RUN_TTL    [run] and below it ttl = \"5m\"\n"
    "A flag wins over its variable, that over the project's .holt.toml (in this folder or above),\n"
    "that over $XDG_CONFIG_HOME/holt/config.toml, that over /etc/holt/config.toml.\n"
    "\n"
    "Variables without a flag:\n"
    "  HOLT_LOG_LEVEL        which lease events are logged on stderr: debug, info, warn (the\n"
    "                        default; info for holt up and serve), error or off\n"
    "  HOLT_LOG_FORMAT       text (the default) or json\n"
    "  HOLT_PROJECT_CONFIG   the project's file, instead of the .holt.toml that is searched for\n"
    "  HOLT_SYSTEM_CONFIG    the system's file, instead of /etc/holt/config.toml\n"
    "  HOLT_ENGINE_PATH      folders of engine modules, with : between them, instead of\n"
    "                        lib/holt/engines beside holt\n"
    "  HOLT_QUEUE_WORKERS    of holt work and programs with workers: how many tasks at a time (5)\n"
    "  HOLT_QUEUE_LOCK_DURATION  how long a claim outlives its worker (10s)\n"
    "  HOLT_QUEUE_POLL_INTERVAL  how often one looks that cannot be woken (1s)\n";

struct Group {
  std::string_view word;
  std::string_view summary;
  std::string_view examples;
};

constexpr std::string_view lock_examples =
    "  holt lock list                            who holds what\n"
    "  holt lock show deploy                     who holds it, since when, until when\n"
    "  holt lock break deploy --reason \"host is gone\"\n"
    "  holt lock try deploy --ttl 10m -o json    for scripts: take it, keep the owner\n"
    "  holt lock release deploy --owner OWNER\n";

constexpr std::string_view election_examples =
    "  holt election list                        who leads what\n"
    "  holt election show scheduler              who leads, since when, how healthy\n"
    "  holt election watch scheduler             whenever that changes\n"
    "  holt election resign scheduler --to web-2\n";

constexpr std::string_view queue_examples =
    "  holt queue add mail --kind welcome --payload '{\"to\":\"ada\"}'\n"
    "  holt queue list mail --state dead\n"
    "  holt queue show mail/42\n"
    "  holt queue cancel mail/42\n";

constexpr std::string_view bench_examples =
    "  holt bench lock                           how fast is my store?\n";

constexpr std::string_view config_examples =
    "  holt config show --origin                 what is set, and where\n";

constexpr std::array groups{
    Group{"", "Holt coordinates replicas on the database they already run.", top_examples},
    Group{"lock", "Take, show and break locks.", lock_examples},
    Group{"election", "See who leads, and ask for another leader.", election_examples},
    Group{"queue", "Add, show, list and cancel tasks.", queue_examples},
    Group{"bench", "Measure your own store.", bench_examples},
    Group{"config", "See what is configured, and where.", config_examples},
};

std::string two_columns(Rows const& rows) {
  std::size_t width = 0;
  for (auto const& row : rows) width = std::max(width, columns(row.first));
  std::string text;
  for (auto const& [left, right] : rows) text += "  " + padded(left, width + 3) + right + '\n';
  return text;
}

Rows option_rows(CommandLine const& line) {
  Rows rows;
  for (auto const& flag : line.declarations().flags) {
    std::string names(flag.names);
    if (auto const comma = names.find(','); comma != std::string::npos)
      names.insert(comma + 1, " ");
    if (flag.takes_value()) names.append(" ").append(flag.placeholder);
    rows.emplace_back(std::move(names), flag.help);
  }
  return rows;
}

/// Of the group's commands, or (group empty) of all.
Rows command_rows(std::string_view group) {
  Rows rows;
  for (auto const* const command : all_commands()) {
    bool const inside = group.empty() || command->words.starts_with(std::string(group) + ' ');
    if (inside && !command->hidden) rows.emplace_back(command->words, command->summary);
  }
  return rows;
}

template <class Meanings>
std::string exit_codes(Meanings const& meanings) {
  Rows rows;
  for (auto const& row : meanings) rows.emplace_back(std::to_string(number(row.code)), row.meaning);
  return two_columns(rows);
}

}  // namespace

std::string command_help(CommandLine const& line) {
  auto const& command = line.command();
  std::string text(command.summary);
  text += ".\n\nExamples:\n";
  text += command.examples;
  text += "\nUsage:\n  holt ";
  text.append(command.words).append(command.synopsis.empty() ? "" : " ").append(command.synopsis);
  text += "\n\nOptions:\n" + two_columns(option_rows(line));
  if (!command.details.empty()) text.append("\n").append(command.details);
  if (is_group(command.words)) {
    text += "\nMore commands (holt COMMAND --help says more):\n";
    text += two_columns(command_rows(command.words));
  }
  if (command.runs_many) {
    text += "\nExit codes:\n" + exit_codes(many_exit_meanings);
  } else if (command.runs_child) {
    text += "\nExit codes: those of the command, and\n" + exit_codes(run_exit_meanings);
  }
  return text;
}

std::string_view group_summary(std::string_view group) {
  auto const found = std::ranges::find(groups, group, &Group::word);
  return found == groups.end() ? std::string_view() : found->summary;
}

std::string_view group_examples(std::string_view group) {
  auto const found = std::ranges::find(groups, group, &Group::word);
  return found == groups.end() ? std::string_view() : found->examples;
}

std::string group_help(std::string_view group) {
  std::string text(group_summary(group));
  text.append("\n\nExamples:\n").append(group_examples(group));
  text += "\nCommands (holt COMMAND --help says more):\n" + two_columns(command_rows(group));
  if (!group.empty()) return text;
  text.append("\n").append(top_settings);
  text += "\nExit codes:\n" + exit_codes(exit_meanings);
  text += "and of commands that run a child, whose own status is passed on:\n";
  return text + exit_codes(run_exit_meanings);
}

}  // namespace holt::cli
