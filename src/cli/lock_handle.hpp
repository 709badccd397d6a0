// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `holt lock extend` and `holt lock release` share: acting on a lock by name and owner.

#include "cli/command_line.hpp"
#include "cli/setting.hpp"

#include <holt/lease.hpp>
#include <holt/open.hpp>

#include <optional>
#include <string>

namespace holt::cli {

class HandleOptions {
 public:
  /// Declares NAME and --owner.
  void declare(CommandLine& line);

  /// The handle they make. Throws UsageError and InvalidArgument.
  [[nodiscard]] Handle handle() const;

  [[nodiscard]] std::string const& name() const noexcept { return name_; }

 private:
  std::string name_;
  std::optional<Setting> owner_;
};

/// Throws the Failure for a lock that this owner does not hold: not_found when nobody holds it,
/// else conflict.
[[noreturn]] void refuse_lost(Holt& holt, Handle const& handle);

}  // namespace holt::cli
