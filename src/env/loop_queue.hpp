// SPDX-License-Identifier: Apache-2.0
#pragma once
// LoopQueue: what is to be done at a loop, one thing after the other, as in a strand of Asio's. The
// difference: a thread that does not run the loop can do what it brings along itself, while the
// loop sleeps and nobody else is at it. Nobody has to be woken for that.
//
// What its executor is given runs in order, never two at a time, and what one does is seen by the
// next, whichever threads they run on. What comes from the loop itself (a socket, a timer) runs at
// once if nothing else does.

#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace holt {

namespace asio = boost::asio;

class LoopQueue {
 public:
  using Task = std::move_only_function<void()>;

  /// For any_io_executor. It counts no work: who runs the loop keeps it going.
  class Executor {
   public:
    explicit Executor(LoopQueue& queue) : queue_(&queue) {}

    [[nodiscard]] asio::execution_context& query(asio::execution::context_t) const noexcept {
      return queue_->loop_;
    }
    [[nodiscard]] Executor require(asio::execution::blocking_t::possibly_t) const noexcept {
      return Executor(queue_, true);
    }
    [[nodiscard]] Executor require(asio::execution::blocking_t::never_t) const noexcept {
      return Executor(queue_, false);
    }
    template <class Function>
    void execute(Function&& function) const {
      if (at_once_ && queue_->is_here()) {
        std::forward<Function>(function)();
      } else {
        queue_->add(Task(std::forward<Function>(function)), at_once_);
      }
    }
    friend bool operator==(Executor const&, Executor const&) noexcept = default;

   private:
    Executor(LoopQueue* queue, bool at_once) : queue_(queue), at_once_(at_once) {}

    LoopQueue* queue_;
    bool at_once_ = true;
  };

  explicit LoopQueue(asio::io_context& loop) : loop_(loop) {}

  [[nodiscard]] Executor executor() { return Executor(*this); }

  /// Calls `bring`, and does on this thread what that gives to the executor, and what comes of it,
  /// unless somebody else is at it: then they do that too. Not from inside a task.
  template <class Bring>
  void do_here(Bring&& bring) {
    Bringing const bringing(*this);
    std::forward<Bring>(bring)();
  }

  /// The loop is not run any more: what is left, and what still comes, goes with it. Coroutines
  /// that end with a loop post what is left of them, so this has to outlive it.
  void close();

 private:
  /// While it lives, what this thread adds does not wake the loop; when it goes, it is done here.
  class Bringing {
   public:
    explicit Bringing(LoopQueue& queue);
    ~Bringing();
    Bringing(Bringing const&) = delete;
    Bringing& operator=(Bringing const&) = delete;

   private:
    LoopQueue& queue_;
  };

  /// Whether this thread works here just now.
  [[nodiscard]] bool is_here() const noexcept { return worker_ == std::this_thread::get_id(); }
  void add(Task task, bool at_once);
  void work();
  void work_through() noexcept;
  void call_loop();

  asio::io_context& loop_;
  std::mutex mutex_;
  std::vector<Task> tasks_;  ///< guarded, as the rest is
  bool busy_ = false;        ///< somebody works
  bool called_ = false;      ///< the loop will
  std::vector<std::thread::id> bringing_;
  bool closed_ = false;
  std::atomic<std::thread::id> worker_;  ///< not guarded: who is asked about knows its own id
};

}  // namespace holt
