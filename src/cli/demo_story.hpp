// SPDX-License-Identifier: Apache-2.0
#pragma once
// The story that `holt demo` tells, and the books it keeps: who held the lock, led and polled from
// when to when, and a resource that refuses a lower fence than it has seen.

#include "cli/demo_polled.hpp"
#include "cli/demo_stage.hpp"
#include "cli/progress.hpp"

#include <holt/clock.hpp>
#include <holt/open.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {

inline constexpr char const* demo_lock = "demo";
inline constexpr char const* demo_election = "demo";
inline constexpr char const* demo_polling = "demo";
inline constexpr std::chrono::milliseconds demo_ttl{2'000};
inline constexpr std::chrono::milliseconds demo_poll_every{100};
inline constexpr std::size_t demo_endpoints = 9;  // a, b, c ...
inline constexpr int demo_workers = 4;
inline constexpr int demo_handovers = 12;

/// Accepts a write only under a fence that is not below the highest it has seen.
class FencedResource {
 public:
  [[nodiscard]] bool write(std::uint64_t fence) noexcept;
  [[nodiscard]] std::uint64_t highest() const noexcept { return highest_; }

 private:
  std::uint64_t highest_ = 0;
};

/// What the summary is made of.
struct Facts {
  std::vector<std::chrono::nanoseconds> handovers;  ///< clean ones
  std::chrono::nanoseconds after_kill{};  ///< from the end of the lease to the next holder
  std::chrono::nanoseconds after_stop{};
  bool stopped_one_knew = false;  ///< held() was false when it went on
  bool late_write_refused = false;
  bool other_writes_accepted = true;
  std::vector<Stay> stays;
  std::chrono::nanoseconds leader_stopped{};  ///< from before it stopped to the next leader
  std::chrono::nanoseconds leader_killed{};   ///< from the end of its lease
  std::vector<Stay> terms;
  std::chrono::nanoseconds poller_killed{};  ///< from the end of its leases to the last take-over
  PolledSide polled{demo_endpoints};

  /// Fences grew, and no stay began before the one before it had ended.
  [[nodiscard]] bool one_at_a_time() const noexcept;
  /// The same of terms.
  [[nodiscard]] bool one_leader_at_a_time() const noexcept;

  /// All that the demo claims.
  [[nodiscard]] bool all_true() const noexcept;
};

/// Plays it and prints it as it happens. Throws Failure when a worker does not play its part.
class Story {
 public:
  Story(Stage& stage, Holt& holt, Progress progress) noexcept;

  [[nodiscard]] Facts tell();

 private:
  /// What a worker found and what the resource said.
  struct Write {
    bool accepted;
    bool held;
    Instant deadline;  ///< until when the worker believed to hold the lock
  };

  /// What a dead node had, as letters, and when the last of its leases ends.
  struct Leavings {
    std::vector<char> endpoints;
    Instant end;
  };

  void clean_handovers();
  void killed_holder();
  void stopped_holder();
  void election();
  void stopped_leader();
  void killed_leader();
  void polling();
  void joining_poller();
  void killed_poller();

  [[nodiscard]] Message expect(std::string_view word, Instant end = {});
  /// Waits for the next holder; how long after `since` it came, which `what` says in words.
  std::chrono::nanoseconds enter_next(Instant since, std::string const& what);
  /// The same for the next leader.
  std::chrono::nanoseconds lead_next(Instant since, std::string const& what);
  [[nodiscard]] Write write(Stay const& stay);
  void print_write(Stay const& stay, Write const& write) const;
  Stay leave();
  [[nodiscard]] bool is_killed(int worker) const noexcept;
  /// The end of a worker: one that was not killed is a Failure.
  void expect_end_of(int worker) const;
  void start_polling(int worker);
  /// A message while there is polling: a poll for the books, or one for later.
  void write_down(Message message);
  [[nodiscard]] bool heard(std::string_view word, int worker) const;
  /// Writes down what comes until `enough`, and tells meanwhile when the leases will end.
  /// Throws Failure when that takes too long.
  void watch_polls(std::function<bool()> const& enough, Instant end = {});
  void watch_polls_for(std::chrono::milliseconds time);
  void print_pollers(std::function<std::string(int worker)> const& more) const;
  [[nodiscard]] std::string inheritance(Leavings const& left, int heir);
  [[nodiscard]] Leavings left_by(int worker);
  [[nodiscard]] Instant end_of_lease();
  /// Tells how long the lease that all wait for has to live.
  void count_down(Instant end) const;
  void print(Instant when, int worker, std::string_view what, std::string const& more) const;

  Stage& stage_;
  Holt& holt_;
  Progress progress_;
  Instant start_;
  FencedResource resource_;
  Facts facts_;
  std::vector<int> killed_;     ///< workers whose end is expected
  std::vector<int> pollers_;    ///< those that live
  std::deque<Message> unread_;  ///< came before one that was waited for
};

}  // namespace holt::cli
