// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same operations for coroutines: awaitables of Boost.Asio that resume on the executor of the
// coroutine that awaits them. No thread of yours ever blocks, not even on the embedded store.
//
//   holt::AsyncHolt holt(holt::open());
//   auto lock = co_await holt.lock("deploy", {.ttl = 30s, .wait = 10s});
//   if (lock) co_await write(lock->fence());
//
// Cancellation (a cancellation slot, `||` of awaitable operators, a time-out) ends a wait in line:
// it answers Busy{cancelled}, and nothing of it is left in the store. Whatever the store grants
// reaches either you or nobody: an answer that cannot be delivered is a guard that goes, which
// releases. (A guard's destructor may block for up to 50 ms; co_await release() first.)
//
// Safe under g++ 12 by construction: options are trivially destructible, names are classes with a
// constructor (docs/adr/0005-coroutine-rules.md). Needs Boost 1.81 headers; everything else in
// Holt does not.

#include <holt/detail/async_calls.hpp>
#include <holt/detail/async_elections.hpp>
#include <holt/holt.hpp>

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

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace holt {
namespace detail {

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

/// Starts an operation and suspends until its outcome. `start(stop_token, Done<T>)`.
template <class T, class Start>
boost::asio::awaitable<Outcome<T>> outcome_of(Start start) {
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
  co_return outcome;
}

/// The answer, or what failed, thrown.
template <class T>
T answer_of(Outcome<T> outcome) {
  if (outcome.error) std::rethrow_exception(outcome.error);
  return std::move(*outcome.answer);
}

template <class T, class Start>
boost::asio::awaitable<T> answer_of_call(Start start) {
  Outcome<T> outcome = co_await outcome_of<T>(std::move(start));
  co_return answer_of(std::move(outcome));
}

}  // namespace detail

/// The events of an election, each kept until it is asked for. Move-only.
class ElectionEvents {
 public:
  /// The next one. Nothing: this was cancelled, or the client is closed. One coroutine at a time;
  /// this must live until it is answered.
  boost::asio::awaitable<std::optional<ElectionEvent>> next() {
    return detail::answer_of_call<std::optional<ElectionEvent>>(
        [stream = stream_.get()](std::stop_token stop, auto done) {
          stream->next(std::move(stop), std::move(done));
        });
  }

 private:
  friend class AsyncElection;
  explicit ElectionEvents(std::unique_ptr<detail::EventStream> stream)
      : stream_(std::move(stream)) {}
  std::unique_ptr<detail::EventStream> stream_;
};

/// One candidate of one election. Move-only; the comments of Election hold for what has the same
/// name. It must live until what is awaited of it is answered. Its destructor may block for up to
/// 50 ms while it leads; co_await stop() first.
class AsyncElection {
 public:
  explicit AsyncElection(Election election) : election_(std::move(election)) {}

  boost::asio::awaitable<void> start() {
    auto standing = detail::answer_of_call<bool>([this](std::stop_token const&, auto done) {
      detail::start_standing(election_, std::move(done));
    });
    [[maybe_unused]] bool const stands = co_await std::move(standing);
  }
  boost::asio::awaitable<Resignation> stop(
      std::chrono::milliseconds deadline = std::chrono::seconds(5)) {
    return detail::answer_of_call<Resignation>([this, deadline](std::stop_token const&, auto done) {
      detail::start_stop(election_, deadline, std::move(done));
    });
  }
  boost::asio::awaitable<Resignation> resign(
      std::string to = {}, std::chrono::milliseconds deadline = std::chrono::seconds(5)) {
    return detail::answer_of_call<Resignation>(
        [this, to = std::move(to), deadline](std::stop_token const&, auto done) {
          detail::start_resign(election_, to, deadline, std::move(done));
        });
  }

  /// Waits until this candidate leads: the event by which the term began, with its `term` and the
  /// token that fires at its end; at once while it leads. Nothing: this was cancelled, or the
  /// client is closed. It does not start the candidate.
  boost::asio::awaitable<std::optional<ElectionEvent>> leadership() {
    ElectionEvents events = co_await this->events();
    std::optional<ElectionEvent> event = co_await events.next();
    while (event && !begins_term(*event)) event = co_await events.next();
    co_return event;
  }

  /// All events from now on; first, while it leads, the one by which this term began. Of a stream
  /// `in_turn` an event counts as heard when the next one is asked for, or when the stream goes:
  /// until then nobody else leads.
  boost::asio::awaitable<ElectionEvents> events(Election::Listen how = Election::Listen::at_once) {
    auto opening = detail::answer_of_call<std::unique_ptr<detail::EventStream>>(
        [this, how](std::stop_token const&, auto done) {
          detail::start_events(election_, how, std::move(done));
        });
    std::unique_ptr<detail::EventStream> stream = co_await std::move(opening);
    ElectionEvents events(std::move(stream));
    co_return events;
  }

  [[nodiscard]] bool is_leader() const noexcept { return election_.is_leader(); }
  [[nodiscard]] ElectionState state() const { return election_.state(); }
  [[nodiscard]] Fence term() const { return election_.term(); }
  [[nodiscard]] Instant deadline() const { return election_.deadline(); }
  [[nodiscard]] std::string const& id() const noexcept { return election_.id(); }
  [[nodiscard]] Name const& name() const noexcept { return election_.name(); }
  /// The blocking one behind it.
  [[nodiscard]] Election& blocking() noexcept { return election_; }

 private:
  static bool begins_term(ElectionEvent const& event) {
    return event.kind == ElectionEventKind::leadership_acquired && !event.stop.stop_requested();
  }

  Election election_;
};

/// A client for coroutines; a handle like Holt, which it may share a client with. The comments of
/// Holt hold for the operations of the same name; what throws there throws here when awaited.
class AsyncHolt {
 public:
  explicit AsyncHolt(Holt holt) : holt_(std::move(holt)) {}

  /// The blocking client behind it. Opening and closing block: do that outside of your executor.
  [[nodiscard]] Holt& blocking() noexcept { return holt_; }

  boost::asio::awaitable<std::expected<Lock, Busy>> try_lock(Name name, LockOptions options = {}) {
    options.wait = std::chrono::milliseconds(0);
    return lock(std::move(name), options);
  }

  boost::asio::awaitable<std::expected<Lock, Busy>> lock(Name name, LockOptions options = {}) {
    return detail::answer_of_call<std::expected<Lock, Busy>>(
        [holt = holt_, name = std::move(name), options](std::stop_token stop, auto done) {
          detail::start_lock(holt, name, options, std::nullopt, std::move(stop), std::move(done));
        });
  }

  boost::asio::awaitable<std::expected<Lock, Busy>> retry_lock(Name name, LockOptions options = {},
                                                               RetryOptions retry = {}) {
    return detail::answer_of_call<std::expected<Lock, Busy>>(
        [holt = holt_, name = std::move(name), options, retry](std::stop_token stop, auto done) {
          detail::start_lock(holt, name, options, retry, std::move(stop), std::move(done));
        });
  }

  /// Of a guard, which must live until it is answered.
  boost::asio::awaitable<std::expected<void, Lost>> extend(Lock& lock,
                                                           std::chrono::milliseconds ttl) {
    return detail::answer_of_call<std::expected<void, Lost>>(
        [&lock, ttl](std::stop_token const&, auto done) {
          detail::start_extend(lock, ttl, std::move(done));
        });
  }
  boost::asio::awaitable<std::expected<void, Lost>> release(Lock& lock) {
    return detail::answer_of_call<std::expected<void, Lost>>(
        [&lock](std::stop_token const&, auto done) {
          detail::start_release(lock, std::move(done));
        });
  }

  boost::asio::awaitable<std::expected<void, Lost>> extend(Handle const& handle,
                                                           std::chrono::milliseconds ttl) {
    return detail::answer_of_call<std::expected<void, Lost>>(
        [holt = holt_, handle, ttl](std::stop_token const&, auto done) {
          detail::start_extend(holt, handle, ttl, std::move(done));
        });
  }
  boost::asio::awaitable<std::expected<void, Lost>> release(Handle const& handle) {
    return detail::answer_of_call<std::expected<void, Lost>>(
        [holt = holt_, handle](std::stop_token const&, auto done) {
          detail::start_release(holt, handle, std::move(done));
        });
  }

  boost::asio::awaitable<std::optional<LeaseInfo>> find(Name name) {
    return look(std::move(name), Observation::Operation::lookup);
  }

  boost::asio::awaitable<std::optional<LeaseSummary>> lookup(Name name) {
    auto const found = co_await find(std::move(name));
    std::optional<LeaseSummary> summary;
    if (found) summary = summary_of(*found);
    co_return summary;
  }

  boost::asio::awaitable<bool> is_locked(Name name) {
    auto const found = co_await look(std::move(name), Observation::Operation::is_locked);
    co_return found.has_value();
  }

  boost::asio::awaitable<bool> owns(Handle handle) {
    auto const found = co_await find(handle.name);
    co_return found && found->owner == handle.owner && !found->offered;
  }

  boost::asio::awaitable<LeasePage> list(std::string prefix = {}, std::string cursor = {},
                                         std::uint32_t limit = 100) {
    return detail::answer_of_call<LeasePage>([holt = holt_, prefix = std::move(prefix),
                                              cursor = std::move(cursor),
                                              limit](std::stop_token const&, auto done) {
      detail::start_list(holt, prefix, cursor, limit, std::move(done));
    });
  }

  boost::asio::awaitable<BreakResult> break_lock(Name name, std::string reason,
                                                 BreakOptions options = {}) {
    return detail::answer_of_call<BreakResult>([holt = holt_, name = std::move(name),
                                                reason = std::move(reason),
                                                options](std::stop_token const&, auto done) {
      detail::start_break(holt, name, reason, options, std::move(done));
    });
  }

  /// A candidate, which is to be started. Does not block.
  [[nodiscard]] AsyncElection election(Name const& name, ElectionOptions options = {}) {
    return AsyncElection(holt_.election(name, options));
  }
  boost::asio::awaitable<std::optional<LeaderInfo>> leader(Name name) {
    return detail::answer_of_call<std::optional<LeaderInfo>>(
        [holt = holt_, name = std::move(name)](std::stop_token const&, auto done) {
          detail::start_leader(holt, name, std::move(done));
        });
  }

 private:
  boost::asio::awaitable<std::optional<LeaseInfo>> look(Name name, Observation::Operation why) {
    return detail::answer_of_call<std::optional<LeaseInfo>>(
        [holt = holt_, name = std::move(name), why](std::stop_token const&, auto done) {
          detail::start_find(holt, name, why, std::move(done));
        });
  }

  Holt holt_;
};

}  // namespace holt
#pragma GCC visibility pop
