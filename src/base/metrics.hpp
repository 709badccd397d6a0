// SPDX-License-Identifier: Apache-2.0
#pragma once
// The book behind Metrics: few families with few labels, each with a fixed meaning, and the text
// that Prometheus reads. The series of a family are made when they are first counted.
// Why not prometheus-cpp: docs/dependencies.md.

#include <holt/metrics.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt {

/// Counts durations by size. Any thread; a reader may see a count before its sum.
class Histogram {
 public:
  void observe(std::chrono::nanoseconds value) noexcept;
  void write(std::string& text, std::string_view name, std::string_view labels) const;

  /// Upper bounds in seconds: from a hundred microseconds to an hour.
  static constexpr std::array<double, 14> bounds{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1,
                                                 0.5,    1,      5,     10,    60,   600,  3600};

 private:
  std::array<std::atomic<std::uint64_t>, bounds.size() + 1> counts_{};
  std::atomic<std::uint64_t> sum_ns_{0};
};

class Counter {
 public:
  void add(std::int64_t value = 1) noexcept { value_.fetch_add(value, std::memory_order_relaxed); }
  void write(std::string& text, std::string_view name, std::string_view labels) const;

 private:
  std::atomic<std::int64_t> value_{0};
};

/// All series of one name, by their labels.
template <class Series>
class Family {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

  Family(std::string_view name, std::string_view type, std::string_view help)
      : name_(name), type_(type), help_(help) {}

  /// The series with these labels; it lives as long as the family.
  Series& with(Labels const& labels);
  void write(std::string& text) const;

 private:
  std::string_view name_;
  std::string_view type_;
  std::string_view help_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Series>, std::less<>> series_;
};

struct Metrics::Book {
  Family<Histogram> wait{"holt_lock_wait_seconds", "histogram",
                         "Time from asking for a lock to the answer."};
  Family<Histogram> hold{"holt_lock_hold_seconds", "histogram",
                         "Time a lock was held, until it was released or lost."};
  Family<Histogram> renew_lag{"holt_lock_renew_lag_seconds", "histogram",
                              "How much later than planned a renewal was confirmed."};
  Family<Counter> held{"holt_locks_held", "gauge", "Locks held now."};
  Family<Counter> at_risk{"holt_lock_at_risk_total", "counter",
                          "Times a lock was in danger of being lost."};
  Family<Counter> lost{"holt_lock_lost_total", "counter", "Locks lost, by reason."};
  Family<Histogram> store{"holt_store_call_seconds", "histogram",
                          "Time of the calls to the store."};
};

}  // namespace holt
