// SPDX-License-Identifier: Apache-2.0
#pragma once
// The story that `holt demo` tells, and the books it keeps: who held the lock and who led from when
// to when, and a resource that refuses a lower fence than it has seen.

#include "cli/demo_stage.hpp"
#include "cli/progress.hpp"

#include <holt/clock.hpp>
#include <holt/open.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {

inline constexpr char const* demo_lock = "demo";
inline constexpr char const* demo_election = "demo";
inline constexpr std::chrono::milliseconds demo_ttl{2'000};
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

/// One worker's time with the lock, or as the leader: then the fence is its term.
struct Stay {
  int worker = 0;
  std::uint64_t fence = 0;
  Instant from;
  Instant until;  ///< when it left, was killed, or had to stop believing
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

  void clean_handovers();
  void killed_holder();
  void stopped_holder();
  void election();
  void stopped_leader();
  void killed_leader();

  [[nodiscard]] Message expect(std::string_view word, Instant end = {});
  /// Waits for the next holder; how long after `since` it came, which `what` says in words.
  std::chrono::nanoseconds enter_next(Instant since, std::string const& what);
  /// The same for the next leader.
  std::chrono::nanoseconds lead_next(Instant since, std::string const& what);
  [[nodiscard]] Write write(Stay const& stay);
  void print_write(Stay const& stay, Write const& write) const;
  Stay leave();
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
  std::deque<Message> unread_;  ///< came before one that was waited for
};

}  // namespace holt::cli
