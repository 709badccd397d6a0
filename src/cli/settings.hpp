// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is set outside the command line: by variables and by configuration files. Their names are
// made from the flags that the commands declare (flag.hpp), so there is no list of them.

#include "cli/command_line.hpp"
#include "cli/config_place.hpp"
#include "cli/flag.hpp"
#include "cli/setting.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace holt::cli {

class Settings {
 public:
  /// Reads the files. Throws UsageError, with file and line, for a file that is no TOML, for a key
  /// that no command has, with the nearest that one has, and for a value that cannot be right.
  [[nodiscard]] static Settings read();

  /// The value that wins: an environment variable (an empty one counts as not set), else the
  /// project's, the user's, the system's file.
  [[nodiscard]] std::optional<Setting> find(Command const& command, Flag const& flag) const;

 private:
  void add(ConfigText const& file, std::map<std::string, Flag, std::less<>> const& known);

  std::map<std::string, Setting, std::less<>> in_files_;
};

}  // namespace holt::cli
