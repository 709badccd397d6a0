// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens a store and takes locks on it.
//   auto holt = holt::open();
//   if (auto lock = holt.lock("deploy", {.ttl = 30s, .wait = 10s})) write(lock->fence());
// Calls block the calling thread and nothing else. A Holt is a handle: copies share one client,
// any thread may use any copy. The last copy or guard to go closes the client.

#include <holt/capabilities.hpp>
#include <holt/diagnosis.hpp>
#include <holt/election.hpp>
#include <holt/error.hpp>
#include <holt/lock.hpp>
#include <holt/log.hpp>
#include <holt/metrics.hpp>
#include <holt/observer.hpp>
#include <holt/once.hpp>
#include <holt/polling.hpp>
#include <holt/queue.hpp>
#include <holt/retry.hpp>
#include <holt/watch.hpp>

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace holt {

struct OpenOptions {
  std::string instance;                          ///< empty: HOLT_INSTANCE, else "default"
  std::chrono::milliseconds timeout{5'000};      ///< for each call that has no deadline of its own
  LogCallback log;                               ///< may be empty
  LogLevel log_level = LogLevel::info;           ///< events below it are not made
  bool hash_names = false;                       ///< log the hash of a name instead of the name
  std::shared_ptr<Metrics> metrics;              ///< counts what is done; may be empty
  Observer observer;                             ///< sees every operation; may be empty
  std::function<bool(Name const&)> observe_raw;  ///< which names it sees as they are; empty: none
};

struct BreakOptions {
  Fence fence;       ///< break only this grant; none: whichever is held now
  bool now = false;  ///< free at once: the holder may still believe and work. Unsafe.
};
static_assert(std::is_trivially_destructible_v<BreakOptions>);

class Holt {
 public:
  /// Tries once. Answers Busy when somebody has the name or stands in line for it.
  /// Throws InvalidArgument (name, ttl, note) before any I/O, EngineError when the store fails.
  std::expected<Lock, Busy> try_lock(Name const& name, LockOptions options = {});

  /// Stands in line up to `options.wait` or until `stop` fires: first come, first served.
  /// Answers Busy{timed_out} or Busy{cancelled}; then nothing of the wait is left in the store.
  std::expected<Lock, Busy> lock(Name const& name, LockOptions options = {},
                                 std::stop_token stop = {});

  /// Tries, pauses and tries again as `retry` says, or until `stop` fires; it never stands in line
  /// (`options.wait` is not used), so those who do are served first. Answers Busy{timed_out} or
  /// Busy{cancelled}. A store that fails is not tried again: EngineError.
  std::expected<Lock, Busy> retry_lock(Name const& name, LockOptions options = {},
                                       RetryOptions retry = {}, std::stop_token stop = {});

  /// Runs `work(lock)` under the lock and releases it afterwards whatever happens.
  /// Answers what `work` returned, or Busy without having called it.
  template <class Work>
  auto with_lock(Name const& name, LockOptions options, Work&& work, std::stop_token stop = {})
      -> std::expected<std::invoke_result_t<Work, Lock&>, Busy> {
    auto held = lock(name, options, std::move(stop));
    if (!held) return std::unexpected(std::move(held.error()));
    if constexpr (std::is_void_v<std::invoke_result_t<Work, Lock&>>) {
      std::forward<Work>(work)(*held);
      return {};
    } else {
      return std::forward<Work>(work)(*held);
    }
  }

  /// True while somebody holds the name (or it is promised to the next in line).
  bool is_locked(Name const& name);

  /// What the store knows of the name; nothing when it is free.
  std::optional<LeaseInfo> find(Name const& name);

  /// The same, only if this owner holds it.
  std::optional<LeaseInfo> find(Handle const& handle);

  /// What may be shown to anybody: hashes instead of name and owner. find() is the raw variant.
  std::optional<LeaseSummary> lookup(Name const& name);
  std::optional<LeaseSummary> lookup(Handle const& handle);

  /// True while the store says that this owner holds the name.
  bool owns(Handle const& handle);

  /// Live leases whose name starts with `prefix`, in order of name, at most 1000 a page.
  LeasePage list(std::string_view prefix = {}, std::string const& cursor = {},
                 std::uint32_t limit = 100);

  /// Watches the leases whose name starts with `prefix`, from now on. Costs nothing while nothing
  /// happens, where the engine can tell that (docs/adr/0012-hints-of-change.md).
  Watch watch(std::string_view prefix = {});

  /// A candidate of the election `name`, which stands for it from start() on. Throws
  /// InvalidArgument for options that cannot be or cannot be safe.
  Election election(Name const& name, ElectionOptions options = {});

  /// Who leads; nothing when nobody does.
  std::optional<LeaderInfo> leader(Name const& name);

  /// Elections that have a leader, in order of name after `after`, at most `limit` (1 to 1000).
  std::vector<LeaderInfo> leaders(std::string_view prefix = {}, std::string_view after = {},
                                  std::uint32_t limit = 100);

  /// Watches one election: the lease of each event is the leadership, its fence the term, its note
  /// the leader's id.
  Watch observe(Name const& name);

  /// Asks whoever leads to step down, and waits up to `deadline` until another term has begun or
  /// nobody leads. `to` names the candidate that is to follow. `late`: it did not happen in time.
  Resignation resign_leader(Name const& name, std::string_view to = {},
                            std::chrono::milliseconds deadline = std::chrono::seconds(5));

  /// A node of the polling `name`, which takes part from start() on. Throws InvalidArgument for
  /// options that cannot be or cannot be safe, and for a name with a slash.
  Polling polling(Name const& name, PollingOptions options = {});

  /// The nodes that are alive, of one polling or (empty) of all, in order of polling and node.
  std::vector<NodeInfo> nodes(std::string_view polling = {});

  /// The endpoints of a polling: those that a node has, and those in the store; in order.
  std::vector<EndpointInfo> endpoints(Name const& polling);

  /// Endpoints in the store, for nodes with PollingOptions::stored: they hear of it at once. False:
  /// it was so already. Throws InvalidArgument, EngineError.
  bool add_endpoint(Name const& polling, std::string_view endpoint);
  bool remove_endpoint(Name const& polling, std::string_view endpoint);
  /// One that is not there is not changed: false.
  bool pause_endpoint(Name const& polling, std::string_view endpoint, bool paused = true);

  /// The queue of this name: letters, digits, `.`, `_`, `-`, at most 128. It needs no making.
  /// Throws InvalidArgument, also for a store that has no place for tasks.
  Queue queue(std::string_view name);

  /// A worker on `options.queue`, which works from start() on. Throws InvalidArgument for options,
  /// or settings in the environment, that cannot be.
  Worker worker(WorkerOptions options);

  /// Asks the holder to stop, with a reason of 1 to 256 bytes that it will see. The name is free
  /// when the holder has let go or its lease ends; with `now` at once, whatever the holder does.
  BreakResult break_lock(Name const& name, std::string_view reason, BreakOptions options = {});

  /// For those who keep only the handle (another process, a script): no guard, no renewal.
  std::expected<void, Lost> extend(Handle const& handle, std::chrono::milliseconds ttl);
  std::expected<void, Lost> release(Handle const& handle);

  /// The last run under the lock of this name that was counted, if its period is not over.
  std::optional<CountedRun> last_run(Name const& name);

  /// Counts a run under `lock`, a lock of this client: until its period is over last_run() answers
  /// it to everybody. False, and not counted: the lock is lost, or another run was counted since.
  /// Durable when it returns. Throws InvalidArgument, EngineError.
  bool count_run(Lock const& lock, CountOptions options);

  /// Looks at everything that could be wrong with the store and with this process as its client.
  /// Takes and releases locks under a name of its own to measure, and leaves none. What fails is a
  /// finding; throws InvalidArgument for options that cannot be, and EngineError{aborted} only.
  std::vector<Finding> diagnose(DiagnoseOptions options = {});

  /// Lets every later fence of this instance be above all that were given before, by 2^32, durably
  /// and in one step: for after a backup was restored, whose counter is behind the fences that
  /// resources have seen. Throws EngineError; then ask again, twice is harmless.
  FenceRaise raise_fence();

  /// Releases every lock this client holds, by the deadline at the latest. Later calls throw
  /// EngineError{aborted}; guards that are left report LossReason::closed.
  void close(std::chrono::milliseconds deadline = std::chrono::seconds(5));

  /// What this store can do and promises.
  [[nodiscard]] Capabilities capabilities() const;

  /// Where the store is, without secrets, and the instance.
  [[nodiscard]] std::string const& url() const noexcept;
  [[nodiscard]] std::string const& instance() const noexcept;

 private:
  friend Holt open(std::string_view url, OpenOptions options);
  friend struct client::Inside;
  explicit Holt(std::shared_ptr<client::Core> core) noexcept;
  std::shared_ptr<client::Core> core_;
};

/// Opens the store at `url`; empty: HOLT_STORE, else the embedded file in the user's state folder
/// (`$XDG_STATE_HOME/holt/holt.db`), which is made when it is not there.
/// Throws InvalidArgument for an address that cannot be right, EngineError when it does not open.
Holt open(std::string_view url = {}, OpenOptions options = {});

/// Opens the store as open() does, diagnoses it, and closes it. A store that does not open is a
/// finding ("store") with the reason and the way out. Throws InvalidArgument for options that
/// cannot be.
std::vector<Finding> diagnose(std::string_view url = {}, OpenOptions open_options = {},
                              DiagnoseOptions options = {});

/// The library's version, "0.1.0".
[[nodiscard]] std::string_view version() noexcept;

}  // namespace holt
#pragma GCC visibility pop
