// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskStore: durable tasks in queues, handed out under leases. docs/adr/0020-task-queue.md says
// why. Every promise below is a clause that tests/contract checks on every engine.
//
// For all methods the rules of LeaseStore hold: one instance; one atomic step; a deadline; an
// EngineError with a truthful outcome; signals after the step, which may get lost. And:
// - Durable: what add, claim and cancel answered survives what the store's level (ADR 0008) says.
//   Renewals and progress may be lost in a crash.
// - The engine's clock decides: claims end by its lease clock, run times and periods by its wall
//   clock. Nothing happens by itself: claims that have ended are taken back, and due tasks come to
//   the front, in steps of `claim` on their queue, a bounded number in each.
// - A task is in one state at any time. One whose run time has come is pending; one whose claim has
//   ended is running until a step takes it back.
// - Input that task_rules.hpp refuses throws InvalidArgument before any I/O.

#include "base/request_id.hpp"

#include <holt/clock.hpp>
#include <holt/lease.hpp>
#include <holt/task.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holt {

namespace asio = boost::asio;

using Nanos = std::chrono::nanoseconds;

/// A task to be added. A class with a constructor, as all below that hold text: safe as a temporary
/// beside co_await.
struct NewTask {
  static constexpr Nanos usual_keep = std::chrono::hours(24);

  NewTask(std::string of_kind, std::string with_payload)
      : kind(std::move(of_kind)), payload(std::move(with_payload)) {}
  std::string kind;
  std::string payload;
  std::string metadata;
  std::int32_t priority = 5;
  Nanos delay{};                                     ///< from now on, by the engine's wall clock
  std::chrono::system_clock::time_point not_before;  ///< the later of the two counts
  std::uint32_t max_attempts = 3;
  Nanos timeout{};          ///< of an attempt; 0: none. Kept for workers, not enforced here.
  Nanos keep = usual_keep;  ///< how long it is kept when it is completed or cancelled
  std::string unique;       ///< empty: none
  Unique unique_while = Unique::unfinished;
  Nanos unique_period{};  ///< for Unique::period
  std::string tell;       ///< an inbox that hears when it has ended (topic::task_ended); or empty
};

struct AddRequest {
  AddRequest(std::string to_queue, std::vector<NewTask> which)
      : queue(std::move(to_queue)), tasks(std::move(which)) {}
  std::string queue;
  std::vector<NewTask> tasks;  ///< 1 to max_add
  RequestId request;           ///< empty: the caller will never repeat itself
};

/// What became of a task that was to be added.
struct Added {
  TaskId id;               ///< the new task, or the one that has its unique key
  bool duplicate = false;  ///< nothing was added: `id` has the key
};

/// How an attempt ended, in the worker's word.
enum class TaskOutcome {
  completed,  ///< `text` is the result
  failed,     ///< retried after `delay` if attempts are left, else dead; `text` is the error
  rejected,   ///< dead at once; `text` is the error
  again,      ///< wants to be tried after `delay` at no cost (bounded); `text` says why
  untouched   ///< was never started: back to its place in front, at no cost
};

/// Hands in one task of a claim.
struct TaskFinish {
  TaskFinish(TaskId which, Owner by, Fence with, TaskOutcome how)
      : task(std::move(which)), owner(std::move(by)), fence(with), outcome(how) {}
  TaskId task;
  Owner owner;  ///< of the claim
  Fence fence;  ///< of the claim
  TaskOutcome outcome;
  Nanos delay{};
  std::string text;
};

/// One exchange of a worker with one queue: hands in, and takes what is next.
struct ClaimRequest {
  ClaimRequest(std::string from_queue, Owner by, std::uint32_t how_many, Nanos time_to_live)
      : queue(std::move(from_queue)), owner(std::move(by)), want(how_many), ttl(time_to_live) {}
  std::string queue;
  Owner owner;                     ///< new for each exchange; it names the claim that comes of it
  std::uint32_t want;              ///< 0 to max_claim; 0: only hands in
  Nanos ttl;                       ///< 1 s to 24 h
  std::vector<std::string> kinds;  ///< at most max_kinds; empty: all of the queue
  std::uint64_t max_bytes = 8ULL << 20U;  ///< of payloads; the first task comes whatever its size
  Nanos idle_for{};                       ///< above 0: wake us if there is nothing (see claim)
  std::vector<TaskFinish> finishes;       ///< of this queue, each task once; at most max_claim
  std::vector<Owner> give_back;           ///< claims whose other tasks are all untouched
  Owner answered;                         ///< an exchange whose answer arrived: may be forgotten
  Owner next;                             ///< tasks may be handed over under it (see claim)
  std::string worker;                     ///< for people; at most 128 bytes
};

/// What an exchange gave.
struct Claimed {
  Fence fence;  ///< of every task in it; none when there are no tasks
  Owner owner;  ///< of the claim, if it is not the exchange's: it was handed over
  Instant since = Instant::max();  ///< its time counts from then on, if that is before the question
  std::vector<Task> tasks;         ///< in the order in which they should be started
  /// One for each of `finishes`, in order: the state that the task is in now, or why it was
  /// refused.
  std::vector<std::expected<TaskState, Lost>> finishes;
  /// Less than `want` came: ask again by then, woken or not. Until the next task of these kinds is
  /// due or the next claim of the queue ends; at most idle_for, or a minute without it. At once
  /// (above zero, at most 100 ms) when there is more, which did not fit or must be alone; then
  /// nobody is marked idle.
  Nanos ask_again{};
  /// Others idle for one of these kinds: who holds tasks that were not started should give them
  /// back.
  bool others_idle = false;
  /// From now on a task may be handed over under `next`.
  bool hands_over = false;
};

/// A note on a task of a claim that is renewed.
struct TaskProgress {
  TaskProgress(TaskId of, std::string said) : task(std::move(of)), text(std::move(said)) {}
  TaskId task;
  std::string text;
};

/// Keeps one claim; several in one call.
struct ClaimRenewal {
  ClaimRenewal(std::string of_queue, Owner by, Fence with, Nanos time_to_live)
      : queue(std::move(of_queue)), owner(std::move(by)), fence(with), ttl(time_to_live) {}
  std::string queue;
  Owner owner;
  Fence fence;
  Nanos ttl;
  std::vector<TaskProgress> progress;
};

/// A claim that was renewed.
struct RenewedClaim {
  std::vector<TaskId> cancelled;  ///< tasks in it whose handlers are to stop
  std::vector<TaskId> refused;    ///< tasks that progress was told of and that are not in it
};

/// Which tasks a listing shows.
struct TaskFilter {
  explicit TaskFilter(std::optional<TaskState> in = {}, std::string of_kind = {})
      : state(in), kind(std::move(of_kind)) {}
  std::optional<TaskState> state;  ///< nothing: all
  std::string kind;                ///< empty: all
};

class TaskStore {
 public:
  static constexpr std::size_t max_add = 20'000;
  static constexpr std::size_t max_add_bytes = 16UL << 20U;  ///< of payloads in one call
  static constexpr std::uint32_t max_claim = 1000;
  static constexpr std::size_t max_kinds = 32;
  static constexpr std::size_t max_renewals = 512;
  /// How long an add's request and an exchange that was not answered are remembered.
  static constexpr std::chrono::minutes memory{10};
  /// Of completed and cancelled tasks without a result a queue keeps the last so many at least;
  /// older ones may go before `keep`.
  static constexpr std::size_t kept_without_result = 1000;

  virtual ~TaskStore() = default;

  /// Adds all tasks or, when it throws not_applied, none.
  /// - Answers in the order asked; numbers grow in that order, so tasks of one adder and priority
  ///   are claimed first in, first out. Across adders the order is approximate.
  /// - A unique key that is taken: that task is not added, and the answer names the one that has
  ///   the key; so too between tasks of one call, of which the first is added.
  /// - The same queue and request within `memory`: the same answer, and nothing is added, also when
  ///   the two calls overlap and whichever comes first. (So who does not know what became of a
  ///   call repeats it.) All but the first call with it must say that it is not `fresh`.
  /// - A kind past task_limits::kinds_per_queue: EngineError{rate_limited, not_applied}.
  /// - Signals idle workers (topic::work): those whose wants the new tasks fill, and no more; none
  ///   where nobody idles. A task for later signals one, if it is due before all others.
  virtual asio::awaitable<std::vector<Added>> add(AddRequest request, Instant deadline) = 0;

  /// One step, in this order: hands in, takes back what has ended, claims.
  /// - Unique::waiting keys are free while their task runs. One that comes back takes its key again
  ///   if it is free, else it goes on without.
  /// - Handing in: accepted if the task is in the claim of this owner with this fence and the claim
  ///   was not taken back; that its time is over does not matter. Else Lost{taken}, and nothing of
  ///   that task changes. Each is decided for itself; refusing one touches no other.
  ///   - completed: completed, be it cancelled meanwhile or not. The result is kept.
  ///   - failed: retrying after `delay`, or dead when that was the last attempt. rejected: dead.
  ///   - again: retrying after `delay`; attempt as before, returns + 1. From task_limits::returns
  ///     on it is as failed.
  ///   - A delay of zero: pending at once, which is also the answer.
  ///   - untouched: pending, attempt as before, in its old place among its queue and priority.
  ///   - After a cancel all but completed are cancelled.
  /// - Taking back: each unfinished task of a claim that has ended is cancelled if that was asked;
  ///   else, if it was alone in its claim when that was made, it failed with no delay and an error
  ///   that says so; else it is pending at no cost, and from then on is only claimed alone. (Of
  ///   many it is not known which was started, and one that kills its worker must not take the
  ///   others with it.)
  /// - Claiming: pending tasks of the kinds, by priority, then number; at most `want` and
  ///   max_bytes; a task that must be alone comes alone. Nobody else has them, and nobody gets them
  ///   while the claim lasts: ttl from now by the engine's clock. Each counts as an attempt from
  ///   then on; what comes back at no cost is counted off again in the step that brings it back.
  /// - The fence is drawn after the tasks are locked, is above that of every claim answered before
  ///   it in the queue, and was never handed out before, also when that claim was lost in a crash.
  /// - The same owner again: nothing is done; the same answer, as long as it is not said to be
  ///   `answered` and for `memory`. Of its tasks only those still in the claim, whose end moves to
  ///   now + ttl; none once that end has come: who asks would trust what others may have at once.
  /// - Fewer than `want`, and idle_for above zero: the owner's inbox is idle for these kinds until
  ///   idle_for is over, it is woken, or it asks again for them; written in the same step. Waking
  ///   is Signal{topic::work, queue} to the inbox, once; from then on it is not idle. Who hears it
  ///   asks again. A store where an add and this can miss each other answers a short ask_again.
  ///   An exchange that wants nothing leaves the mark as it is.
  /// - `next`, with an inbox that is idle: the step that adds a task may make it a claim of this
  ///   owner at once, for ttl from then on; then it wakes the inbox. The next exchange of that
  ///   worker that wants tasks and has the same `next` answers that claim, as if its owner asked
  ///   again, and claims nothing else. Who has had it uses another one; who wants no more gives it
  ///   back.
  /// - Tasks that a step brings back to pending and does not claim itself wake idle workers, but
  ///   not its own inbox, as added ones do.
  virtual asio::awaitable<Claimed> claim(ClaimRequest request, Instant deadline) = 0;

  /// Moves each claim's end to now + ttl, never back, and stores the progress, if the claim is this
  /// owner's with this fence and has not ended; else Lost{taken} or Lost{expired}, and nothing of
  /// it changes. Answers in the order asked. As LeaseStore::renew where a store is on several
  /// servers.
  virtual asio::awaitable<std::vector<std::expected<RenewedClaim, Lost>>> renew(
      std::vector<ClaimRenewal> renewals, Instant deadline) = 0;

  /// A waiting task is cancelled and its unique key free (a period goes on). A running one is
  /// marked, and the inbox of its claim's owner is signalled (topic::task_check): the next renewal
  /// names it. Twice is harmless.
  virtual asio::awaitable<Cancellation> cancel(TaskId id, Instant deadline) = 0;

  /// The task as it is: an unfinished or dead one always, a completed or cancelled one as long as
  /// it is kept. Writes nothing.
  virtual asio::awaitable<std::optional<TaskInfo>> find(TaskId id, Instant deadline) = 0;

  /// Tasks of a queue by number after `cursor`, at most `limit` (1 to 1000), without payloads,
  /// results and errors. Writes nothing. Not a snapshot across pages; a task that is there all the
  /// time is in one page.
  virtual asio::awaitable<TaskPage> list(std::string queue, TaskFilter filter, std::string cursor,
                                         std::uint32_t limit, Instant deadline) = 0;

  /// Of one moment. Writes nothing.
  virtual asio::awaitable<TaskCounts> count(std::string queue, Instant deadline) = 0;
};

/// Topics of signals about tasks.
namespace topic {
inline constexpr std::string_view work = "work";  ///< there is work; the text is the queue
inline constexpr std::string_view task_check =
    "task-check";  ///< renew this claim (text: owner) now
inline constexpr std::string_view task_ended = "task-ended";  ///< the text is the task's id
}  // namespace topic

}  // namespace holt
