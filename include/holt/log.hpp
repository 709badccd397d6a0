// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the library tells about leases while it works. It links no logger: the events go to a
// callback, on a thread of the library, one at a time; what the callback throws is ignored.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace holt {

enum class LogLevel { debug, info, warn, error };
[[nodiscard]] std::string_view to_string(LogLevel level) noexcept;

/// One thing that happened to a lease.
struct LogEvent {
  LogLevel level = LogLevel::info;
  std::string event;  ///< acquired, renewed, at_risk, lost, released, broken, waiting, warning,
                      ///< error
  std::string instance;
  std::string name;  ///< its hash instead when OpenOptions::hash_names is set
  std::string owner;
  std::uint64_t fence = 0;
  std::string reason;  ///< empty where there is none
};

using LogCallback = std::function<void(LogEvent const&)>;

}  // namespace holt
#pragma GCC visibility pop
