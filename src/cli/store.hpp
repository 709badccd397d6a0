// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options that say which store and which instance, and the opening of it.

#include "cli/command_line.hpp"

#include <holt/open.hpp>

#include <optional>
#include <string>

namespace holt::cli {

class StoreOptions {
 public:
  void declare(CommandLine& line);

  /// Opens the store, with lease events going to the log. Throws as holt::open() does, and
  /// UsageError for a log setting that is no setting.
  [[nodiscard]] Holt open() const;

  /// What open() opens, for who opens it by other means. Throws UsageError.
  struct Opening {
    std::string url;
    OpenOptions options;
  };
  [[nodiscard]] Opening opening() const;

 private:
  std::optional<std::string> url_;
  std::optional<std::string> instance_;
};

}  // namespace holt::cli
