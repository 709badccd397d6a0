// SPDX-License-Identifier: Apache-2.0
#pragma once
// The story that `holt demo` tells, and the books it keeps: who held the lock, led, polled and
// worked from when to when, and a resource that refuses a lower fence than it has seen.

#include "cli/demo_polled.hpp"
#include "cli/demo_stage.hpp"
#include "cli/progress.hpp"

#include <holt/clock.hpp>
#include <holt/open.hpp>
#include <holt/queue.hpp>
#include <holt/task.hpp>

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
inline constexpr char const* demo_queue = "demo";
inline constexpr char const* demo_short = "short";  // kinds of tasks
inline constexpr char const* demo_long = "long";
inline constexpr std::chrono::milliseconds demo_short_takes{100};
inline constexpr std::chrono::milliseconds demo_long_takes{500};
inline constexpr std::chrono::milliseconds demo_claim_ttl{1'000};  // the shortest
inline constexpr std::size_t demo_tasks = 12;                      // a, b, c ...
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
  std::chrono::nanoseconds task_again{};                 ///< from the end of the killed one's lease
  PolledSide attempts{demo_tasks};                       ///< at tasks: judged as polls are
  std::vector<int> done = std::vector<int>(demo_tasks);  ///< how often each came to its end
  bool all_completed = false;                            ///< the store says so

  /// Fences grew, and no stay began before the one before it had ended.
  [[nodiscard]] bool one_at_a_time() const noexcept;
  /// The same of terms.
  [[nodiscard]] bool one_leader_at_a_time() const noexcept;

  /// Each task was done by one worker at a time, to its end once, and the store knows it.
  [[nodiscard]] bool each_done_once() const noexcept;

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
  void queue();
  void killed_worker(Queue& queue, TaskId const& task);
  void finish_work();

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
  /// A message while many talk: a poll or a task for the books, or one for later.
  void write_down(Message message);
  void write_down_task(Message const& message);
  [[nodiscard]] bool heard(std::string_view word, int worker) const;
  /// Writes down what comes until `enough`, and tells meanwhile when the leases will end.
  /// Throws Failure when that takes too long.
  void watch(std::function<bool()> const& enough, Instant end = {});
  void watch_for(std::chrono::milliseconds time);
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
  std::vector<int> pollers_;    ///< those that live; in the end they work
  Instant task_lease_end_;      ///< of the task of the killed one
  std::deque<Message> unread_;  ///< came before one that was waited for
};

}  // namespace holt::cli
