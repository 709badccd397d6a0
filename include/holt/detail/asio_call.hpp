// SPDX-License-Identifier: Apache-2.0
#pragma once
// How <holt/asio.hpp> awaits: a call of the library is started, and its coroutine resumed on its
// own executor with what became of it. Not for users. The only other header that needs Asio.

#include <holt/detail/async_calls.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace holt::detail {

/// A call that a loop of the user's waits for.
class OpenCall {
 public:
  OpenCall() = default;
  virtual ~OpenCall() = default;
  OpenCall(OpenCall const&) = delete;
  OpenCall& operator=(OpenCall const&) = delete;
  std::stop_source stop;
  std::uint64_t number = 0;  ///< of the list it is in
};

/// What a loop of the user's waits for. A loop may be destroyed with calls of ours open, or run out
/// of work and go while the thread of ours that gave it the last piece is still on its way out of
/// post(): then this service asks the calls to end, waits for them, and drops their outcomes.
class OpenCalls : public boost::asio::execution_context::service {
 public:
  inline static boost::asio::execution_context::id id;

  /// Shared with the calls, which may outlive the loop.
  class List {
   public:
    void add(OpenCall& call) {
      std::scoped_lock const lock(mutex_);
      call.number = next_++;
      calls_.emplace(call.number, call.stop);
    }
    /// True: the loop is being destroyed and has taken the call, to drop it there.
    template <class Call>
    bool took(std::shared_ptr<Call>& call) {
      std::scoped_lock const lock(mutex_);
      if (!closed_) return false;
      auto const number = call->number;
      dropped_.push_back(std::move(call));
      forget(number);
      return true;
    }
    void remove(std::uint64_t number) {
      std::scoped_lock const lock(mutex_);
      forget(number);
    }
    void close() {
      std::unique_lock lock(mutex_);
      closed_ = true;
      auto ending = calls_;
      lock.unlock();
      for (auto& [number, stop] : ending) stop.request_stop();
      lock.lock();
      none_.wait(lock, [this] { return calls_.empty(); });
      auto const dropped = std::move(dropped_);
      lock.unlock();
    }

   private:
    void forget(std::uint64_t number) {
      calls_.erase(number);
      if (calls_.empty()) none_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable none_;
    std::map<std::uint64_t, std::stop_source> calls_;
    std::uint64_t next_ = 1;
    std::vector<std::shared_ptr<OpenCall>> dropped_;
    bool closed_ = false;
  };

  explicit OpenCalls(boost::asio::execution_context& of) : service(of) {}
  [[nodiscard]] std::shared_ptr<List> const& list() const { return list_; }

 private:
  void shutdown() override { list_->close(); }
  std::shared_ptr<List> list_ = std::make_shared<List>();
};

/// What waits for an outcome: the coroutine's handler, kept where it may be copied, and the work
/// that keeps its executor running meanwhile.
template <class T, class Handler>
class Waiter final : public OpenCall {
 public:
  explicit Waiter(Handler handler)
      : handler_(std::move(handler)),
        executor_(boost::asio::get_associated_executor(handler_)),
        work_(executor_),
        open_(boost::asio::use_service<OpenCalls>(executor_.context()).list()) {
    open_->add(*this);
  }

  /// Called on a thread of the library: goes over to the coroutine's executor, with all it has.
  static void resume(std::shared_ptr<Waiter> self, Outcome<T> outcome) {
    auto const executor = self->executor_;
    auto const open = self->open_;
    auto const number = self->number;
    self->outcome_ = std::move(outcome);
    if (open->took(self)) return;
    boost::asio::post(executor, [self = std::move(self)]() mutable {
      auto const slot = boost::asio::get_associated_cancellation_slot(self->handler_);
      if (slot.is_connected()) boost::asio::cancellation_slot(slot).clear();
      auto handler = std::move(self->handler_);
      auto answer = std::move(self->outcome_);
      self.reset();
      std::move(handler)(std::move(answer));
    });
    open->remove(number);
  }

 private:
  Handler handler_;
  boost::asio::any_io_executor executor_;
  boost::asio::executor_work_guard<boost::asio::any_io_executor> work_;
  std::shared_ptr<OpenCalls::List> open_;
  Outcome<T> outcome_;
};

/// Starts an operation and suspends until its outcome: answers it, or throws what failed.
/// `start(stop_token, Done<T>)`. One coroutine does it all: each frame costs every call.
template <class T, class Start>
boost::asio::awaitable<T> answer_of_call(Start start) {
  auto initiate = [](auto handler, Start* operation) {
    using Handler = decltype(handler);
    auto const slot = boost::asio::get_associated_cancellation_slot(handler);
    auto waiter = std::make_shared<Waiter<T, Handler>>(std::move(handler));
    auto const stop = waiter->stop;
    if (slot.is_connected()) {
      boost::asio::cancellation_slot(slot).assign(
          [stop](boost::asio::cancellation_type) mutable { stop.request_stop(); });
    }
    try {
      (*operation)(stop.get_token(), Done<T>([waiter](Outcome<T> outcome) mutable {
                     Waiter<T, Handler>::resume(std::move(waiter), std::move(outcome));
                   }));
    } catch (...) {  // refused before it began; Asio wants no exceptions from here
      Waiter<T, Handler>::resume(std::move(waiter), Outcome<T>(std::current_exception(), nullptr));
    }
  };
  Outcome<T> outcome =
      co_await boost::asio::async_initiate<boost::asio::use_awaitable_t<> const, void(Outcome<T>)>(
          std::move(initiate), boost::asio::use_awaitable, &start);
  if (outcome.error) std::rethrow_exception(outcome.error);
  co_return std::move(*outcome.answer);
}

}  // namespace holt::detail
#pragma GCC visibility pop
