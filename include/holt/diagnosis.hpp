// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is right and what is wrong with a store and with this process as its client, finding by
// finding. `holt doctor` prints these; docs/commands/doctor.md lists every id. An id never changes
// its meaning; new ones may come.

#include <chrono>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)
namespace holt {

enum class FindingStatus {
  ok,
  info,  ///< worth knowing; nothing has to be done
  warn,  ///< works, but something is in danger or will cost time
  fail,  ///< does not work, or does not give what is promised
};
[[nodiscard]] std::string_view to_string(FindingStatus status) noexcept;

/// One thing that was looked at.
struct Finding {
  std::string id;     ///< for programs: "latency"
  std::string title;  ///< for people: "Latency"
  FindingStatus status = FindingStatus::ok;
  std::string detail;  ///< what was found
  std::string fix;     ///< what to do about it; never empty for warn and fail
};

/// The worst status among them; ok when there are none.
[[nodiscard]] FindingStatus worst(std::vector<Finding> const& findings) noexcept;

/// What to judge by. Trivially destructible on purpose: docs/adr/0005-coroutine-rules.md.
struct DiagnoseOptions {
  std::chrono::milliseconds ttl{30'000};  ///< the shortest ttl that this fleet uses
  int samples = 50;                       ///< calls to measure, 1 to 10,000
};
static_assert(std::is_trivially_destructible_v<DiagnoseOptions>);

}  // namespace holt
#pragma GCC visibility pop
