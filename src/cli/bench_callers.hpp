// SPDX-License-Identifier: Apache-2.0
#pragma once
// Callers that take and release locks as fast as the store lets them, each a thread of its own, and
// what that took. They use the library as every program does; measuring a pair costs four readings
// of the clock.

#include "cli/latencies.hpp"

#include <holt/clock.hpp>
#include <holt/name.hpp>
#include <holt/open.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <latch>
#include <limits>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holt::cli {

struct BenchPlan {
  std::uint32_t callers = 1;
  bool shared = false;  ///< one name for all, who wait for each other in line; else one each
  std::uint64_t pairs = std::numeric_limits<std::uint64_t>::max();  ///< at most so many, of all
  std::chrono::milliseconds ttl{30'000};
  std::string prefix;  ///< of the names
};

class BenchCallers {
 public:
  /// They begin at once, and together. Throws std::system_error when there is no thread left.
  BenchCallers(Holt holt, BenchPlan plan);
  ~BenchCallers();  ///< as join()
  BenchCallers(BenchCallers const&) = delete;
  BenchCallers& operator=(BenchCallers const&) = delete;

  /// Waits for the time, or until all have ended by themselves (the pairs are done, or too many
  /// failed), or until `stop` fires. True: they have ended.
  bool wait(std::chrono::nanoseconds time, std::stop_token stop = {});

  /// Asks them to end. Pairs that are begun are ended and counted; who waits in line leaves it.
  void stop() noexcept { stop_.request_stop(); }

  /// Stops them and waits for their end. Then nothing of them is left in the store.
  void join();

  [[nodiscard]] BenchPlan const& plan() const noexcept { return plan_; }

  // What was measured, up to now if they have not ended.

  [[nodiscard]] std::uint64_t pairs() const noexcept { return release_.count(); }
  /// From the beginning to the end of the last pair.
  [[nodiscard]] std::chrono::nanoseconds took() const;
  [[nodiscard]] Latencies const& acquire() const noexcept { return acquire_; }
  [[nodiscard]] Latencies const& release() const noexcept { return release_; }
  /// From just before a holder lets go to the next one having it, who had asked for it by then.
  [[nodiscard]] Latencies const& handover() const noexcept { return handover_; }
  /// Pairs that did not come to an end, and what the first of them said.
  [[nodiscard]] std::uint64_t failures() const;
  [[nodiscard]] std::string first_failure() const;

 private:
  void run(Name const& name) noexcept;
  bool do_pair(Name const& name);  ///< false: stopped before it had the lock
  void note_handover(Instant asked, Instant granted) noexcept;
  void fail(std::string_view what);
  void end(Instant last_pair) noexcept;

  Holt holt_;
  BenchPlan plan_;
  std::stop_source stop_;
  std::latch begin_{1};
  Instant start_;
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::int64_t> let_go_{0};  ///< when the shared name was; 0: that has been noted

  Latencies acquire_;
  Latencies release_;
  Latencies handover_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable_any ended_;
  std::uint32_t running_;
  Instant last_pair_;
  std::uint64_t failures_ = 0;
  std::string first_failure_;

  std::vector<std::jthread> threads_;  // last: they use all the others
};

}  // namespace holt::cli
