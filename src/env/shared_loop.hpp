// SPDX-License-Identifier: Apache-2.0
#pragma once
// SharedLoop: a loop that is run by a thread of its own or by a caller who waits for what the loop
// does. A caller who runs it needs no other thread to send its question, and none to wake it when
// the answer comes; each of these wake-ups may cost as much as the question itself.
//
// One thread runs it at a time. A caller runs it if nobody else does, or if the thread does and the
// caller is alone: several would only pass it on to each other. Where all wait for long, in line
// for a lock say, the one that came first runs it, as it is likely to be done first. When a caller
// leaves, the thread takes it back, but not at once unless somebody needs it: the next call may
// come soon.
//
// What a caller brings along it does itself (LoopQueue), whoever runs the loop; only where callers
// come thick and fast the runner does it, for all of them at once.
//
// Callers whose calls ended in one turn of the loop are woken together, by one system call, and
// need no lock to leave: one by one, each would be in the way of the next.

#include "env/loop_queue.hpp"
#include "env/worker_thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace holt {

namespace asio = boost::asio;

/// See contracts/home.hpp for what host() and attention() promise.
class SharedLoop {
 public:
  using Task = std::move_only_function<void()>;

  /// Starts the thread. Throws std::system_error when there is none.
  SharedLoop();
  /// Ends it; what is left in the loop is dropped. No caller is inside.
  ~SharedLoop();
  SharedLoop(SharedLoop const&) = delete;
  SharedLoop& operator=(SharedLoop const&) = delete;

  [[nodiscard]] asio::any_io_executor executor() { return queue_.executor(); }
  void host(std::move_only_function<void(Task done)> start);
  [[nodiscard]] std::shared_ptr<void> attention();

 private:
  /// A caller who waits; it comes and goes with its life.
  struct Guest {
    explicit Guest(SharedLoop& loop);
    ~Guest();
    Guest(Guest const&) = delete;
    Guest& operator=(Guest const&) = delete;

    using Clock = std::chrono::steady_clock;
    [[nodiscard]] bool waits_long(Clock::time_point now) const;

    SharedLoop& host;
    Clock::time_point const came = Clock::now();
    std::uint32_t bit = 0;           ///< by which it is woken
    bool hurries = false;            ///< no other came just before: it does what it brings along
    std::atomic<bool> runs = false;  ///< the loop; changed with the mutex held
    std::atomic<bool> done = false;  ///< it may be gone from then on, unless it runs the loop
  };
  enum class Runner { nobody, thread, guest };
  using Lock = std::unique_lock<std::mutex>;

  // With the mutex held:
  [[nodiscard]] Guest* alone() const;
  [[nodiscard]] Guest* first_in_long_wait() const;
  void look_after(Lock& lock);
  void run_until_a_guest_can(Lock& lock);
  bool pass_to_guest(Lock& lock);
  void pass_to(Guest& guest);
  void want();
  void wake_finished(Lock& lock);

  void finish(Guest& guest);
  void bring(Guest& guest, std::move_only_function<void(Task done)>& start);
  void wait_for_wake(Guest const& guest);
  void wake(std::uint32_t bits);
  void wake_runner();

  LoopQueue queue_{io_};  // outlives it
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::mutex mutex_;
  std::condition_variable thread_wake_;
  Runner runner_ = Runner::nobody;
  std::vector<Guest*> guests_;
  std::uint64_t visits_ = 0;              ///< of guests, so far
  std::atomic<std::uint32_t> wakes_ = 0;  ///< so far; guests sleep on it
  std::uint32_t finished_ = 0;            ///< bits of guests to be woken at the end of this turn
  std::shared_ptr<std::atomic<int>> const attentions_ = std::make_shared<std::atomic<int>>(0);
  bool wanted_ = false;  ///< the thread is to run it now
  bool asleep_ = false;  ///< the thread, until the guest that runs it leaves
  bool ending_ = false;
  std::optional<WorkerThread> thread_;
};

}  // namespace holt
