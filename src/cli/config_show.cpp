// SPDX-License-Identifier: Apache-2.0
// holt config show

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/flag.hpp"
#include "cli/output.hpp"
#include "cli/secret.hpp"
#include "cli/setting.hpp"
#include "cli/settings.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

struct Shown {
  std::string key;
  std::string variable;
  std::optional<Setting> setting;
};

/// Every key that a command has, once; those of all commands first.
std::vector<Shown> all_settings(CommandLine const& line) {
  auto const settings = Settings::read();
  std::vector<Shown> all;
  for (auto const* const command : all_commands()) {
    if (command->hidden) continue;
    for (auto const& flag : declared(*command).flags) {
      auto key = key_name(*command, flag);
      if (key.empty() || std::ranges::find(all, key, &Shown::key) != all.end()) continue;
      auto setting = line.given(flag);
      if (!setting) setting = settings.find(*command, flag);
      all.push_back({std::move(key), variable_name(*command, flag), std::move(setting)});
    }
  }
  std::ranges::stable_partition(
      all, [](Shown const& shown) { return shown.key.find('.') == std::string::npos; });
  return all;
}

Record record_of(Shown const& shown, bool with_variable, bool with_origin) {
  constexpr std::array<std::string_view, 5> kinds{"flag", "environment", "project", "user",
                                                  "system"};
  auto const& setting = shown.setting;
  std::string const value = setting ? without_passwords(setting->value) : "";
  std::string const origin = setting ? setting->origin.text() : "";
  std::string kind = "default";
  if (setting) kind = kinds.at(static_cast<std::size_t>(setting->origin.kind));
  std::string const place = origin.empty() ? "(default)" : origin;
  return {
      {"key", "key", shown.key, shown.key},
      {"value", "value", value, printable(value)},
      {"variable", with_variable ? "variable" : "", shown.variable, shown.variable},
      {"set_by", with_origin ? "set by" : "", kind, kind},
      {"origin", with_origin ? "origin" : "", origin, printable(place)},
  };
}

int config_show(CommandLine& line) {
  bool with_origin = false;
  bool all = false;
  StoreOptions store;
  OutputOption output;
  line.flag("--origin", with_origin, "also show the variable, and where the value comes from");
  line.flag("--all", all, "also show what is set nowhere, and every variable");
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  std::vector<Record> records;
  for (auto const& shown : all_settings(line)) {
    if (all || shown.setting) records.push_back(record_of(shown, all || with_origin, with_origin));
  }
  if (records.empty() && output.form() == Output::table) talk("nothing is set: all is as it comes");
  write_records(output.form(), records);
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const config_show_command{
    .words = "config show",
    .synopsis = "[options]",
    .summary = "Show what is set by flags, variables and files",
    .examples =
        "  holt config show\n"
        "  holt config show --origin       and where it is set\n"
        "  holt config show --all          and what could be set\n",
    .details =
        "A flag wins over its variable, a variable over the project's file (.holt.toml in this\n"
        "folder or above), that over yours ($XDG_CONFIG_HOME/holt/config.toml), and that over the\n"
        "system's (/etc/holt/config.toml).\n"
        "\n"
        "The variable of --ttl of holt run is HOLT_RUN_TTL, and in a file it is\n"
        "  [run]\n"
        "  ttl = \"30s\"\n"
        "Flags that mean the same in every command have HOLT_STORE and store = \"...\", with no\n"
        "command's name in them. Passwords are not shown.\n",
    .run = &config_show,
};

}  // namespace holt::cli
