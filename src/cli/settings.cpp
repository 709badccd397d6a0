// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.hpp"

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/config_file.hpp"
#include "cli/config_place.hpp"
#include "cli/failure.hpp"
#include "cli/flag.hpp"
#include "cli/nearest.hpp"
#include "cli/setting.hpp"
#include "cli/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

std::vector<std::string> known_keys() {
  std::vector<std::string> keys;
  for (auto const* const command : all_commands()) {
    for (auto const& flag : declared(*command).flags) {
      if (flag.scope != Flag::Scope::none) keys.push_back(key_name(*command, flag));
    }
  }
  return keys;
}

/// The right word in the wrong table ([run] store, ttl without [run]), or a typo.
std::string meant(std::string_view key, std::vector<std::string> const& known) {
  auto const word = [](std::string_view text) { return text.substr(text.rfind('.') + 1); };
  auto const same = std::ranges::find(known, word(key), word);
  if (same != known.end()) return *same;
  return std::string(nearest(key, {known.begin(), known.end()}));
}

}  // namespace

Settings Settings::read() {
  Settings settings;
  auto const files = read_config_files();
  if (files.empty()) return settings;
  auto const known = known_keys();
  for (auto const& file : files) settings.add(file, known);
  return settings;
}

void Settings::add(ConfigText const& file, std::vector<std::string> const& known) {
  for (auto& entry : parse_config(file.path, file.text)) {
    if (std::ranges::find(known, entry.key) == known.end()) {
      std::string message =
          file.path + ':' + std::to_string(entry.line) + ": unknown key " + in_quotes(entry.key);
      auto const right = meant(entry.key, known);
      if (!right.empty()) message += "; did you mean \"" + right + "\"?";
      throw UsageError(message, "holt config show --all, which lists every key");
    }
    // The first to set it has won.
    in_files_.try_emplace(std::move(entry.key), std::move(entry.value),
                          Origin{file.kind, file.path, entry.line});
  }
}

std::optional<Setting> Settings::find(Command const& command, Flag const& flag) const {
  if (flag.scope == Flag::Scope::none) return std::nullopt;
  auto variable = variable_name(command, flag);
  auto const* const value = std::getenv(variable.c_str());
  if (value != nullptr && *value != '\0') {
    return Setting{value, {Origin::Kind::environment, std::move(variable)}};
  }
  if (in_files_.empty()) return std::nullopt;
  auto const found = in_files_.find(key_name(command, flag));
  return found == in_files_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace holt::cli
