// SPDX-License-Identifier: Apache-2.0
#pragma once
// A queue of tasks: work that is stored until somebody has done it.
//   auto queue = holt.queue("mail");
//   queue.add("welcome", R"({"to":"ada"})", {.delay = 5s});
//   auto worker = holt.worker({.queue = "mail"});
//   worker.handle("welcome", [](holt::Job& job) { send(job.task().payload, job.fence()); });
//   worker.start();
// A task is started at least once and completed by one fence: a handler should bear being started
// twice, and hand its fence to what it changes. docs/primitives/queue.md says what follows from it.

#include <holt/clock.hpp>
#include <holt/lock.hpp>
#include <holt/task.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)
namespace holt {

#pragma GCC visibility push(hidden)
class HeldTask;
#pragma GCC visibility pop

namespace [[gnu::visibility("hidden")]] client {
class Core;
class QueueWork;
struct Inside;
}  // namespace client

/// How a task is added. Trivially destructible on purpose: docs/adr/0005-coroutine-rules.md.
struct TaskOptions {
  std::int32_t priority = 5;                 ///< 1 is the most urgent, 10 the least
  std::chrono::milliseconds delay{0};        ///< does not run before it has passed
  std::chrono::system_clock::time_point at;  ///< nor before then; the later of the two counts
  std::uint32_t max_attempts = 3;            ///< 1 to 100
  std::chrono::milliseconds timeout{0};      ///< of an attempt: then its stop token fires; 0: none
  std::chrono::milliseconds keep{std::chrono::hours(24)};  ///< when it is completed or cancelled
  std::string_view metadata{};                             ///< at most 4 KiB
  std::string_view unique{};  ///< no second one with this key while `unique_while` says so
  Unique unique_while = Unique::unfinished;
  std::chrono::milliseconds unique_period{0};  ///< for Unique::period
};
static_assert(std::is_trivially_destructible_v<TaskOptions>);

/// One of many that are added together.
struct TaskDraft {
  std::string kind;
  std::string payload;
  TaskOptions options;  ///< its texts must live until add_many returns
};

/// The task that was added, or the one that has its unique key.
struct AddedTask {
  TaskId id;
  bool duplicate = false;
};

/// A queue by its name. Copies share it. Any thread. Calls block the caller and nothing else.
/// All throw InvalidArgument before any I/O, and EngineError when the store fails.
class Queue {
 public:
  [[nodiscard]] std::string const& name() const noexcept;

  /// Stores the task, durably when it returns. A reply that gets lost is asked for again within the
  /// call and adds nothing twice. Callers at the same time share a commit.
  AddedTask add(std::string_view kind, std::string_view payload, TaskOptions options = {});
  /// All or none of at most 20,000, in one round trip; answers in the order given.
  std::vector<AddedTask> add_many(std::span<TaskDraft const> drafts);

  /// A waiting task does not run any more; the handler of a running one is asked to stop.
  Cancellation cancel(TaskId const& id);
  /// Nothing: no such task, or it is not kept any more.
  std::optional<TaskInfo> find(TaskId const& id);
  /// In the order of adding, at most 1000 a page; without payloads, results and errors.
  TaskPage list(std::optional<TaskState> state = {}, std::string const& cursor = {},
                std::uint32_t limit = 100);
  TaskCounts count();

  /// Waits until the task is completed, dead or cancelled. Nothing: `wait` passed, `stop` fired, or
  /// the task is not there. A client that waited before hears of its own at once; else within 1 s.
  std::optional<TaskInfo> wait(TaskId const& id, std::chrono::milliseconds wait = wait_forever,
                               std::stop_token stop = {});

 private:
  friend class client::Core;
  friend struct client::Inside;
  Queue(std::shared_ptr<client::Core> core, std::string name) noexcept;
  std::shared_ptr<client::Core> core_;
  std::string name_;
};

/// When a task that failed is tried again.
struct RetryPolicy {
  /// The n-th failure waits a random part of min(first * 2^(n-1), longest): full jitter.
  std::chrono::milliseconds first{1'000};
  std::chrono::milliseconds longest{std::chrono::hours(1)};
  /// Not empty: the n-th failure waits the n-th of these, or the last, exactly.
  std::span<std::chrono::milliseconds const> delays{};
};
static_assert(std::is_trivially_destructible_v<RetryPolicy>);

/// How to work. Zero: from the environment, else what is said here.
/// Trivially destructible on purpose: docs/adr/0005-coroutine-rules.md.
struct WorkerOptions {
  std::string_view queue{};       ///< must be given
  std::string_view name{};        ///< who this is, for people; empty: `<host>-<pid>`
  std::uint32_t concurrency = 0;  ///< handlers at a time; HOLT_QUEUE_WORKERS, else 5; at most 1000
  /// Of a claim: a worker that died is noticed so much later. HOLT_QUEUE_LOCK_DURATION, else 10 s;
  /// 1 s to 24 h.
  std::chrono::milliseconds ttl{0};
  /// How often an idle worker looks where the store cannot wake it; elsewhere the longest it takes
  /// to notice what no signal told of. HOLT_QUEUE_POLL_INTERVAL, else 1 s; 10 ms to 1 h.
  std::chrono::milliseconds poll{0};
  /// Tasks taken ahead, at most: as many as some 20 ms of work, found out by itself. 0: none.
  std::uint32_t prefetch = 1000;
  RetryPolicy retry{};
};
static_assert(std::is_trivially_destructible_v<WorkerOptions>);

/// Thrown by a handler: the task is dead at once, for trying again cannot help.
class RejectTask : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown by a handler: try again after `delay`, at no cost; from the 101st time on that is a
/// failed attempt.
class TryAgain : public std::runtime_error {
 public:
  TryAgain(std::string const& why, std::chrono::milliseconds after)
      : std::runtime_error(why), delay(after) {}
  std::chrono::milliseconds delay;
};

/// An attempt, as its handler sees it. Any thread, until the handler has returned.
class Job {
 public:
  [[nodiscard]] Task const& task() const noexcept;
  /// Above that of every attempt of this task before. Let what you change refuse a lower one.
  [[nodiscard]] Fence fence() const noexcept;
  /// True while nobody else can have been given the task. No I/O.
  [[nodiscard]] bool held() const noexcept;
  /// When held() turns false unless the claim is renewed before.
  [[nodiscard]] Instant deadline() const noexcept;
  /// Fires when the claim is lost, before anybody else can have the task; when the task is
  /// cancelled; when its timeout is over; when the worker stops and its patience is over.
  [[nodiscard]] std::stop_token stop() const noexcept;
  /// Tells onlookers; at most 1 KiB. Sent along with the next renewal, soon; does not wait. False:
  /// the claim is lost.
  bool progress(std::string_view text);
  /// What completes with the task when the handler returns; at most 1 MiB.
  void result(std::string bytes);

 private:
  friend class client::QueueWork;
  explicit Job(std::shared_ptr<HeldTask> held) noexcept;
  std::shared_ptr<HeldTask> held_;
};

/// Why what a handler did was not accepted.
struct LateFinish {
  TaskId id;
  Fence fence;  ///< the one that was refused
};

/// Runs handlers for the tasks of one queue. Move-only; any thread, moving aside. Destroying it is
/// stop() with 50 ms.
class Worker {
 public:
  using Handler = std::function<void(Job&)>;
  using OnLate = std::function<void(LateFinish const&)>;

  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;
  ~Worker();

  /// Who does tasks of this kind. Returning completes the task; what is thrown is the error of a
  /// failed attempt. Only kinds with a handler are claimed. At most 32; before start().
  void handle(std::string_view kind, Handler handler);
  /// Who does tasks of kinds without a handler of their own: all kinds of the queue are claimed,
  /// those that nobody has thought of yet as well. Before start().
  void handle_others(Handler handler);
  /// Called, on a thread of the library, when an attempt ended too late: the task was taken back,
  /// and what the handler reported counts for nothing. Before start().
  void on_late(OnLate late);

  /// Works from now on; does not wait. Again after stop() as well. Throws InvalidArgument without a
  /// handler.
  void start();
  /// Claims nothing more, gives back what was not started, lets handlers go on for `patience`, then
  /// fires their stop tokens. False: some had not returned a second later; their claims end by
  /// themselves, and cost an attempt. Not from a handler.
  bool stop(std::chrono::milliseconds patience = std::chrono::seconds(5));

  [[nodiscard]] std::string const& name() const noexcept;

 private:
  friend class client::Core;
  explicit Worker(std::unique_ptr<client::QueueWork> work) noexcept;
  std::unique_ptr<client::QueueWork> work_;
};

}  // namespace holt
#pragma GCC visibility pop
