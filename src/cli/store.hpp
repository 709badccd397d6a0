// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options that say which store and which instance, and the opening of it.

#include "cli/command_line.hpp"
#include "cli/setting.hpp"

#include <holt/open.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace holt::cli {

class StoreOptions {
 public:
  void declare(CommandLine& line);

  /// Only the store, for commands that are about all instances.
  void declare_store(CommandLine& line);

  /// What a command of ours must find in its environment, NAME=value each, to mean the same store
  /// and instance: what was set elsewhere than by flags it finds where we did. A store on standard
  /// input is not passed on, for it was not to be seen.
  [[nodiscard]] std::vector<std::string> environment() const;

  /// Opens the store, with lease events going to the log. Throws as holt::open() does, and
  /// UsageError for a log setting that is no setting. Standard input is read if --store says so:
  /// call it once.
  [[nodiscard]] Holt open() const;

  /// What open() opens, for who opens it by other means. Throws UsageError.
  struct Opening {
    std::string url;
    OpenOptions options;
  };
  [[nodiscard]] Opening opening() const;
  /// The same without a log.
  [[nodiscard]] Opening opening_unlogged() const;

  /// For what must be quick and quiet: no log, and calls give up after `timeout`. Nothing when the
  /// URL would have to be read from standard input.
  [[nodiscard]] std::optional<Opening> opening_quickly(std::chrono::milliseconds timeout) const;

 private:
  [[nodiscard]] OpenOptions options() const;

  std::optional<Setting> url_;
  std::optional<Setting> instance_;
};

}  // namespace holt::cli
