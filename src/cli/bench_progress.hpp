// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tells how far a measurement is, on stderr, in the form of --progress: a bar on a terminal.

#include "cli/bench_callers.hpp"
#include "cli/progress.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace holt::cli {

/// For people: "12.3 µs", "0.45 ms", "1.20 s".
[[nodiscard]] std::string latency_text(std::chrono::nanoseconds latency);

/// Whole pairs in a second.
[[nodiscard]] std::int64_t pairs_per_second(BenchCallers const& callers);

class BenchProgress {
 public:
  /// `duration` is when it will be done, if the pairs are not done before.
  BenchProgress(Progress form, std::chrono::milliseconds duration);
  ~BenchProgress();
  BenchProgress(BenchProgress const&) = delete;
  BenchProgress& operator=(BenchProgress const&) = delete;

  /// Says how far it is. The first time it says what is measured.
  void show(BenchCallers const& callers);

  /// When to show it again.
  [[nodiscard]] std::chrono::milliseconds pause() const noexcept { return pause_; }

  /// Nothing is shown any more. `how` is what a program is told ("measured", "interrupted").
  void finish(BenchCallers const& callers, std::string_view how);

 private:
  [[nodiscard]] std::string bar(BenchCallers const& callers) const;
  [[nodiscard]] std::string line(BenchCallers const& callers) const;

  Progress form_;
  std::chrono::milliseconds duration_;
  std::chrono::milliseconds pause_{0};
  bool begun_ = false;
};

}  // namespace holt::cli
