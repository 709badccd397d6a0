// SPDX-License-Identifier: Apache-2.0
#pragma once
// Core: what stands behind Holt and Lock. Joins the engine, the machine and the primitives, checks
// input at the edge, and lets the caller's thread do the caller's work.
// A forked child inherits the memory but not the threads: there every call throws and destructors
// do nothing.

#include "base/log.hpp"
#include "base/trust_word.hpp"
#include "client/caller_loops.hpp"
#include "client/metered_lease_store.hpp"
#include "client/telemetry.hpp"
#include "contracts/engine.hpp"
#include "contracts/home.hpp"
#include "env/real_env.hpp"
#include "primitives/election.hpp"
#include "primitives/instance_register.hpp"
#include "primitives/keeper.hpp"
#include "primitives/lock.hpp"
#include "primitives/polling.hpp"
#include "primitives/task_calls.hpp"
#include "primitives/watcher.hpp"

#include <holt/detail/async_calls.hpp>
#include <holt/instance.hpp>
#include <holt/open.hpp>

#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holt::client {

class Serving;

/// A guard's inside: the lease and what keeps its client alive.
class HeldLease {
 public:
  HeldLease(std::shared_ptr<Core> core, std::shared_ptr<KeptLease> lease)
      : core_(std::move(core)), lease_(std::move(lease)) {}
  /// Releases, waiting 50 ms at most; in a forked child nothing.
  ~HeldLease();
  HeldLease(HeldLease const&) = delete;
  HeldLease& operator=(HeldLease const&) = delete;

  [[nodiscard]] Core& core() const noexcept { return *core_; }
  [[nodiscard]] std::shared_ptr<KeptLease> const& lease() const noexcept { return lease_; }

 private:
  std::shared_ptr<Core> core_;
  std::shared_ptr<KeptLease> lease_;
};

/// A call that was checked and is ready to run, by its caller's thread or behind it.
template <class T>
struct Job {
  Call call;
  asio::awaitable<T> work;
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  static std::shared_ptr<Core> open(std::string url, std::string instance,
                                    OpenOptions const& options);
  Core(std::string url, std::string instance, OpenOptions const& options);
  ~Core();
  Core(Core const&) = delete;
  Core& operator=(Core const&) = delete;

  using Kept = std::expected<std::shared_ptr<KeptLease>, Busy>;
  using Answer = std::expected<void, Lost>;

  // The calls. Each throws InvalidArgument, or EngineError when the client cannot be used.
  Job<Kept> lock(Name const& name, LockOptions const& options, std::stop_token stop);
  Job<Kept> retry_lock(Name const& name, LockOptions const& options, RetryOptions const& retry,
                       std::stop_token stop);
  Job<Answer> extend(std::shared_ptr<KeptLease> const& lease, std::chrono::milliseconds ttl);
  Job<Answer> release(std::shared_ptr<KeptLease> const& lease, Nanos patience);
  Job<Answer> extend(Handle const& handle, std::chrono::milliseconds ttl);
  Job<Answer> release(Handle const& handle);
  Job<std::optional<LeaseInfo>> find(Name const& name, Call::Operation why);
  Job<std::optional<LeaseInfo>> find(Handle const& handle);
  asio::awaitable<LeasePage> list(std::string_view prefix, std::string const& cursor,
                                  std::uint32_t limit);
  asio::awaitable<BreakResult> break_lock(Name const& name, std::string_view reason,
                                          BreakOptions options);

  /// Runs it, at the engine's home or else on this thread, and waits for its end.
  template <class T>
  T run(Job<T> job) {
    try {
      T answer = run_at_home(std::move(job.work));
      job.call.ended(answer);
      return answer;
    } catch (...) {
      job.call.failed();
      throw;
    }
  }
  template <class T>
  T run(asio::awaitable<T> work) {
    return loops_.run(std::move(work));
  }
  template <class T>
  T run_at_home(asio::awaitable<T> work) {
    return home_ != nullptr ? run_at(*home_, std::move(work)) : loops_.run(std::move(work));
  }

  /// Runs it on Env::executor() and waits for its end.
  template <class T>
  T run_on_executor(asio::awaitable<T> work) {
    return loops_.run(elsewhere(std::move(work)));
  }
  void on_executor(std::function<void()> const& work) { loops_.run(elsewhere(call(work))); }

  /// Runs it behind the caller; `done`, called with an Outcome<T>, as in
  /// holt/detail/async_calls.hpp.
  template <class T, class Ended>
  void start(Job<T> job, Ended done) {
    start(std::move(job.work),
          [done = std::move(done), call = std::move(job.call)](detail::Outcome<T> outcome) mutable {
            outcome.answer ? call.ended(*outcome.answer) : call.failed();
            done(std::move(outcome));
          });
  }
  template <class T, class Ended>
  void start(asio::awaitable<T> work, Ended done) {
    auto ended = [self = shared_from_this(), done = std::move(done),
                  attention = home_ != nullptr ? home_->attention() : nullptr](
                     std::exception_ptr error, T answer) mutable {
      detail::Outcome<T> outcome(std::move(error), std::move(self));
      if (!outcome.error) outcome.answer.emplace(std::move(answer));
      attention.reset();
      done(std::move(outcome));
    };
    asio::co_spawn(home_ != nullptr ? home_->home() : env_.executor(), std::move(work),
                   std::move(ended));
  }

  /// Throws unless this client is open and belongs to this process.
  void check_usable(std::string_view operation) const;

  /// What the user gets for a lease.
  [[nodiscard]] std::expected<Lock, Busy> guard(Kept kept);
  void detach(KeptLease& lease);
  void close(std::chrono::milliseconds deadline);
  Watch watch(std::string_view prefix);
  std::vector<LeaseEvent> next(Watcher& watcher, std::chrono::milliseconds wait,
                               std::stop_token const& stop);
  std::unique_ptr<Candidate> candidate(Name const& name, ElectionOptions const& options);
  Election election(Name const& name, ElectionOptions const& options);
  std::optional<LeaderInfo> leader(Name const& name);
  std::vector<LeaderInfo> leaders(std::string_view prefix, std::string_view after,
                                  std::uint32_t limit);
  Watch observe(Name const& name);
  Resignation resign_leader(Name const& name, std::string_view to,
                            std::chrono::milliseconds deadline);
  Polling polling(Name const& name, PollingOptions const& options);
  std::vector<NodeInfo> nodes(std::string_view polling);
  std::vector<EndpointInfo> endpoints(Name const& polling);
  bool add_endpoint(Name const& polling, std::string_view endpoint);
  bool remove_endpoint(Name const& polling, std::string_view endpoint);
  bool pause_endpoint(Name const& polling, std::string_view endpoint, bool paused);
  Queue queue(std::string_view name);
  Worker worker(WorkerOptions const& options);
  // Of tasks: checked now, and ready to run.
  asio::awaitable<std::vector<Added>> add_tasks(AddRequest request);
  asio::awaitable<Cancellation> cancel_task(TaskId const& id);
  asio::awaitable<std::optional<TaskInfo>> find_task(TaskId const& id);
  asio::awaitable<TaskPage> list_tasks(std::string const& queue, std::optional<TaskState> state,
                                       std::string const& cursor, std::uint32_t limit);
  asio::awaitable<TaskCounts> count_tasks(std::string const& queue);
  asio::awaitable<std::optional<TaskInfo>> wait_for_task(TaskId const& id,
                                                         std::chrono::milliseconds wait,
                                                         std::stop_token stop);
  std::unique_ptr<Serving> serving(InstanceOptions const& options, Instances::Listener listener);
  /// For a client of the register.
  InstanceRegister instances();
  /// As leader(), behind the caller.
  void start_leader(Name const& name, detail::Done<std::optional<LeaderInfo>> done);
  /// Fires when the client is closed.
  [[nodiscard]] std::stop_token closing() const { return closing_.get_token(); }
  [[nodiscard]] Instant now() const { return env_.now(); }
  std::optional<CountedRun> last_run(Name const& name);
  bool count_run(Lock const& lock, CountOptions const& options);
  std::vector<Finding> diagnose(DiagnoseOptions options);
  FenceRaise raise_fence();

  [[nodiscard]] Capabilities capabilities() const { return engine_->capabilities(); }
  [[nodiscard]] Nanos timeout() const noexcept { return timeout_; }
  [[nodiscard]] std::string const& url() const noexcept { return engine_->url(); }
  [[nodiscard]] std::string const& instance() const noexcept { return instance_; }
  /// True in a child that was forked from the process that opened this.
  [[nodiscard]] bool forked() const noexcept { return ours_.until() == Instant(); }

 private:
  [[nodiscard]] Instant call_deadline() const { return env_.now() + timeout_; }
  /// Throws InvalidArgument where the store has no place for tasks.
  [[nodiscard]] TaskStore& tasks();
  void hear_of_ends();
  asio::awaitable<std::optional<TaskInfo>> wait_while_open(TaskId id, Instant give_up,
                                                           std::stop_token stop);
  [[nodiscard]] LeaseStore& leases() { return metered_ ? *metered_ : engine_->leases(); }
  LockRequest request(Name const& name, LockOptions const& options, std::stop_token stop);

  template <class T>
  asio::awaitable<T> elsewhere(asio::awaitable<T> work) {
    co_return co_await asio::co_spawn(env_.executor(), std::move(work), asio::use_awaitable);
  }
  static asio::awaitable<void> call(std::function<void()> const& work) {
    work();
    co_return;
  }

  std::string instance_;
  Nanos timeout_;
  TrustWord ours_;  ///< reads 0 after a fork
  std::atomic<bool> closed_ = false;
  std::atomic<bool> waits_for_tasks_ = false;  ///< has waited for the end of one
  std::stop_source closing_;                   ///< fires when closed_ is set: who watches wakes up
  std::string gone_reason_;                    ///< set before gone_ fires
  std::stop_source gone_;  ///< the store was deleted or replaced: it does not come back
  CallerLoops loops_;      ///< outlives env_, whose threads may be inside a post to one of them
  RealEnv env_;
  Telemetry telemetry_;
  EventLog log_;
  std::unique_ptr<Engine> engine_;
  Home* home_;                                  ///< the engine's; null: it has none
  std::unique_ptr<MeteredLeaseStore> metered_;  ///< null: nobody counts
  Keeper keeper_;
  Locks locks_;
  std::unique_ptr<TaskCalls> task_calls_;  ///< null: the store has no place for tasks
};

}  // namespace holt::client
