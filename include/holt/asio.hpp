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

#include <holt/detail/asio_call.hpp>
#include <holt/detail/async_elections.hpp>
#include <holt/detail/async_tasks.hpp>
#include <holt/holt.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace holt {
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

/// A queue for coroutines; a handle like Queue, which it may share a client with. The comments of
/// Queue hold for the operations of the same name; what throws there throws here when awaited.
/// Texts are copied when an operation is called, those of options as well: whatever they belong to
/// may go before it is awaited, and so may this. Many coroutines of one thread that add at the same
/// time share commits as threads do.
class AsyncQueue {
 public:
  explicit AsyncQueue(Queue queue) : queue_(std::move(queue)) {}

  boost::asio::awaitable<AddedTask> add(std::string kind, std::string payload,
                                        TaskOptions options = {}) {
    return detail::answer_of_call<AddedTask>(
        [queue = queue_, task = detail::TaskToAdd(std::move(kind), std::move(payload), options)](
            std::stop_token const&, auto done) mutable {
          detail::start_add(queue, std::move(task), std::move(done));
        });
  }
  /// Drafts want a name: as a list in braces within the co_await g++ 12 destroys them twice.
  boost::asio::awaitable<std::vector<AddedTask>> add_many(std::span<TaskDraft const> drafts) {
    return detail::answer_of_call<std::vector<AddedTask>>(
        [queue = queue_, tasks = std::vector<detail::TaskToAdd>(drafts.begin(), drafts.end())](
            std::stop_token const&, auto done) mutable {
          detail::start_add_many(queue, std::move(tasks), std::move(done));
        });
  }

  boost::asio::awaitable<Cancellation> cancel(TaskId id) {
    return detail::answer_of_call<Cancellation>(
        [queue = queue_, id = std::move(id)](std::stop_token const&, auto done) {
          detail::start_cancel(queue, id, std::move(done));
        });
  }
  boost::asio::awaitable<std::optional<TaskInfo>> find(TaskId id) {
    return detail::answer_of_call<std::optional<TaskInfo>>(
        [queue = queue_, id = std::move(id)](std::stop_token const&, auto done) {
          detail::start_find(queue, id, std::move(done));
        });
  }
  boost::asio::awaitable<TaskPage> list(std::optional<TaskState> state = {},
                                        std::string cursor = {}, std::uint32_t limit = 100) {
    return detail::answer_of_call<TaskPage>([queue = queue_, state, cursor = std::move(cursor),
                                             limit](std::stop_token const&, auto done) {
      detail::start_list(queue, state, cursor, limit, std::move(done));
    });
  }
  boost::asio::awaitable<TaskCounts> count() {
    return detail::answer_of_call<TaskCounts>([queue = queue_](std::stop_token const&, auto done) {
      detail::start_count(queue, std::move(done));
    });
  }

  /// Nothing also when this was cancelled, or the client was closed meanwhile.
  boost::asio::awaitable<std::optional<TaskInfo>> wait(
      TaskId id, std::chrono::milliseconds wait = wait_forever) {
    return detail::answer_of_call<std::optional<TaskInfo>>(
        [queue = queue_, id = std::move(id), wait](std::stop_token stop, auto done) {
          detail::start_wait(queue, id, wait, std::move(stop), std::move(done));
        });
  }

  [[nodiscard]] std::string const& name() const noexcept { return queue_.name(); }
  /// The blocking one behind it.
  [[nodiscard]] Queue& blocking() noexcept { return queue_; }

 private:
  Queue queue_;
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
    return take(std::move(name), options, std::nullopt);
  }

  boost::asio::awaitable<std::expected<Lock, Busy>> retry_lock(Name name, LockOptions options = {},
                                                               RetryOptions retry = {}) {
    return take(std::move(name), options, retry);
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

  /// The queue of this name. Does not block, and throws as Holt::queue() does.
  [[nodiscard]] AsyncQueue queue(std::string_view name) { return AsyncQueue(holt_.queue(name)); }

 private:
  /// The note is copied: what it belongs to may go before this is awaited.
  boost::asio::awaitable<std::expected<Lock, Busy>> take(Name name, LockOptions options,
                                                         std::optional<RetryOptions> retry) {
    return detail::answer_of_call<std::expected<Lock, Busy>>(
        [holt = holt_, name = std::move(name), options, note = std::string(options.note), retry](
            std::stop_token stop, auto done) mutable {
          options.note = note;
          detail::start_lock(holt, name, options, retry, std::move(stop), std::move(done));
        });
  }
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
