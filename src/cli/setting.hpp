// SPDX-License-Identifier: Apache-2.0
#pragma once
// A value that a user has set, and where: on the command line, in a variable, in a file.

#include <string>

namespace holt::cli {

struct Origin {
  /// In order of precedence: an earlier one wins.
  enum class Kind { flag, environment, project, user, system };

  Kind kind = Kind::flag;
  std::string place;  ///< the flag, the variable or the file
  int line = 0;       ///< in a file

  [[nodiscard]] bool in_file() const noexcept { return kind >= Kind::project; }

  /// `--ttl`, `HOLT_RUN_TTL` or `/home/me/app/.holt.toml:3`.
  [[nodiscard]] std::string text() const {
    return in_file() ? place + ':' + std::to_string(line) : place;
  }
};

struct Setting {
  std::string value;
  Origin origin;
};

}  // namespace holt::cli
