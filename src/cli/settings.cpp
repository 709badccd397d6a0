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
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

using Keys = std::map<std::string, Flag, std::less<>>;

/// All that a file may set.
Keys known_keys() {
  Keys keys;
  for (auto const* const command : all_commands()) {
    for (auto const& flag : declared(*command).flags) {
      if (flag.scope != Flag::Scope::none) keys.try_emplace(key_name(*command, flag), flag);
    }
  }
  return keys;
}

/// The right word in the wrong table ([run] store, ttl without [run]), or a typo.
std::string meant(std::string_view key, Keys const& keys) {
  std::vector<std::string_view> known;
  std::string_view same;  // the shortest that ends as the key does
  auto const word = [](std::string_view text) { return text.substr(text.rfind('.') + 1); };
  for (auto const& [name, flag] : keys) {
    known.push_back(name);
    bool const shorter = same.empty() || name.size() < same.size();
    if (word(name) == word(key) && shorter) same = name;
  }
  auto const close = nearest(key, known);
  return std::string(same.empty() || word(close) == word(key) ? close : same);
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

void Settings::add(ConfigText const& file, Keys const& known) {
  for (auto& entry : parse_config(file.path, file.text)) {
    auto const where = file.path + ':' + std::to_string(entry.line) + ": ";
    auto const found = known.find(entry.key);
    if (found == known.end()) {
      auto message = where + "unknown key " + in_quotes(entry.key);
      auto const right = meant(entry.key, known);
      if (!right.empty()) message += "; did you mean \"" + right + "\"?";
      throw UsageError(message, "holt config show --all, which lists every key");
    }
    auto const wrong = complaint_about(found->second, entry.value);
    if (!wrong.empty())
      throw UsageError(std::string(where).append(entry.key).append(": ").append(wrong));
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
