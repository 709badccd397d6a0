// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a lock stays free between processes: after a clean release, and after the holder was
// killed. The same on every store.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace holt::bench {

/// Who wants the lock: so many processes, with so many threads each. One of all these holds, the
/// others wait.
struct Crowd {
  int processes = 2;
  int threads = 1;

  [[nodiscard]] int waiting() const { return processes * threads - 1; }
};

struct HandOvers {
  std::vector<double> gaps;  ///< seconds, from before a release to the lock in another process
  double counted = 0;        ///< hand-overs while commands were counted
  double commands = 0;       ///< that clients sent, per hand-over
};

/// How many commands clients have sent to the store so far.
using CommandCount = std::function<std::uint64_t()>;

/// `wanted` hand-overs after a warm-up. Each holds for 2 ms and stands in line again at once.
/// Throws when that takes longer than a minute.
HandOvers hand_overs(std::string const& url, Crowd crowd, std::uint64_t wanted,
                     CommandCount const& sent = {});

/// How much longer than the rest of its ttl a killed holder kept the lock from a waiter, in
/// seconds.
double after_kill(std::string const& url, std::chrono::milliseconds ttl);

/// Two rows, p50 and p99, each with its target.
void gap_rows(std::string const& what, std::vector<double> const& gaps, std::string const& p50,
              std::string const& p99);

}  // namespace holt::bench
