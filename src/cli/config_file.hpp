// SPDX-License-Identifier: Apache-2.0
#pragma once
// A configuration file as a list of keys and values. TOML itself (toml++) is known to
// config_file.cpp alone.

#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {

struct ConfigEntry {
  std::string key;    ///< with the tables it is in: "lock.try.ttl"
  std::string value;  ///< as it would be written behind the flag
  int line = 0;
};

/// What the text of a file says, in the order of its keys. Throws UsageError, with file and line,
/// for text that is no TOML and for values that no flag could have (lists, dates).
[[nodiscard]] std::vector<ConfigEntry> parse_config(std::string const& path, std::string_view text);

}  // namespace holt::cli
