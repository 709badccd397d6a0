// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writer: runs steps in transactions, many steps per commit when many call.
//
// Whoever finds the writer free leads, on its own thread: it begins, runs all steps that have
// queued meanwhile, commits once, and wakes the others. It passes the gate first if another process
// writes. One caller alone pays for no thread switch; a crowd shares the cost of the commit, and
// where that goes to the disk the leader waits a moment for callers that come back. A leader serves
// a few batches and then hands over to Env::blocking(), so nobody leads for ever. Loops on
// Env::executor() never lead: nothing may block there.
//
// While the gate or SQLite's lock is not to be had, steps whose deadline passes leave with an error
// that names the process in the way; the others go on waiting.

#include "contracts/env.hpp"
#include "engines/sqlite/committer.hpp"
#include "engines/sqlite/gate.hpp"
#include "engines/sqlite/store_file.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace holt::sqlite {

class Writer {
 public:
  /// `connection` may be empty: then it is opened when first needed.
  Writer(Env& env, StoreFile& file, Place const& place, std::unique_ptr<Connection> connection);
  /// No call may be under way. Not on Env::executor().
  ~Writer();
  Writer(Writer const&) = delete;
  Writer& operator=(Writer const&) = delete;

  /// Runs the step in a transaction; when it returns, it is committed. Throws what the step threw,
  /// or EngineError. `step` must live until then. Resumes on the awaiting coroutine's executor.
  asio::awaitable<void> run(Step& step);

  /// How many transactions were committed; for tests.
  [[nodiscard]] std::uint64_t commits() const noexcept { return committer_.commits(); }

 private:
  using Clock = std::chrono::steady_clock;

  bool try_lead(Step& step);
  void enqueue(Step& step);
  void lead(Step const* own);
  void lead_elsewhere();
  bool serve_batch();
  void gather();
  void finish(Batch const& batch, Clock::duration took);
  bool enter();
  Instant patience();
  void leave_gate() noexcept;
  bool expire();
  void fail_all(std::exception_ptr const& error);
  Batch take();

  Env& env_;
  StoreFile& file_;
  // The leader's, down to the empty line.
  Gate gate_;
  bool const commits_fast_;
  Committer committer_;
  bool at_gate_ = false;
  int past_gate_ = 0;             // transactions since we were at the gate
  Clock::time_point wait_until_;  // for callers that come back
  int waits_in_vain_ = 0;         // in a row
  int waits_to_skip_ = 0;

  std::mutex mutex_;
  std::condition_variable idle_;
  std::deque<Step*> queue_;
  bool leading_ = false;
  std::size_t expected_ = 0;  // callers that were served last, and those who waited meanwhile
  bool gathering_ = false;    // the leader waits for them
  std::condition_variable crowd_;
};

}  // namespace holt::sqlite
