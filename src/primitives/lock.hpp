// SPDX-License-Identifier: Apache-2.0
#pragma once
// Locks: takes and gives back fenced leases, standing in line where asked.
//
// Waiting. A waiter stands in the store's line and sleeps. It wakes when the store offers it the
// name or it comes near the head of the line (a signal), or by a timer: the first three in line at
// the holder's expiry as last heard, the rest every five ttl. Awake, it asks again with the same
// owner, which confirms an offer, finds an expired lease, or renews its place.
// Where the store has no line, it asks again by the clock: after 0.1 s at first, 1 s at most,
// chance included.
//
// Lost replies. Within one call the same owner asks again, which is harmless; when the call ends
// without knowing, a compare-release of that owner runs behind it and the owner is never used
// again.

#include "base/fence_memory.hpp"
#include "base/log.hpp"
#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "contracts/signal_bus.hpp"
#include "primitives/event.hpp"
#include "primitives/keeper.hpp"
#include "primitives/nursery.hpp"

#include <holt/retry.hpp>

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holt {

struct LockRequest {
  LockRequest(Name of, Nanos time_to_live) : name(std::move(of)), ttl(time_to_live) {}
  Name name;
  Nanos ttl;
  /// Taken with it, all or none; with a wait the place is in the line of whichever is busy.
  std::vector<Name> also;
  bool wait = false;  ///< stand in line until `give_up`; else `give_up` ends the one try
  Instant give_up;
  Nanos patience{};  ///< how long one store call may take, and how long a store may fail
  Nanos renew_every = usual_renewal;
  std::int32_t priority = LeaseRequest::usual_priority;  ///< in line
  Nanos delay{};                                         ///< as in LeaseRequest
  std::string note;
  std::stop_token stop;
  /// Called with each answer that somebody else has it, where the caller's coroutine runs.
  std::function<void(Busy const&)> on_busy;
  /// Gets the leases of `also`, in order, with the grant.
  std::vector<std::shared_ptr<KeptLease>>* also_kept = nullptr;
};

class Locks {
 public:
  Locks(Env& env, LeaseStore& store, SignalBus& signals, Keeper& keeper, EventLog const& log);

  /// From now on offers and wishes to break a lease are heard at once: for who will hold one for
  /// long. Others listen when they need it. Throws EngineError.
  void listen();

  /// Takes the lock or answers why not; see Holt::try_lock and Holt::lock.
  asio::awaitable<std::expected<std::shared_ptr<KeptLease>, Busy>> acquire(LockRequest request);

  /// Tries, pauses and tries again as `options` say, until `request.give_up` at the latest; see
  /// Holt::retry_lock. A store that fails is not asked again.
  asio::awaitable<std::expected<std::shared_ptr<KeptLease>, Busy>> retry(LockRequest request,
                                                                         RetryOptions options);

  /// Lets go: at once held() turns false and lost() fires, on this thread; then, awaited, the store
  /// is told. Answers Lost when it had been lost before; the store is told all the same. `why` goes
  /// to the log.
  asio::awaitable<std::expected<void, Lost>> release(std::shared_ptr<KeptLease> lease,
                                                     Instant deadline, std::string_view why = {});

  /// Sets a new ttl from now on.
  asio::awaitable<std::expected<void, Lost>> extend(std::shared_ptr<KeptLease> lease, Nanos ttl,
                                                    Instant deadline);

  /// Ends the waits of all callers, who get EngineError{aborted}, and lets nobody in any more.
  void end_waits();

  /// end_waits(), then waits for what still runs behind calls; needed before Locks goes.
  asio::awaitable<void> close();

 private:
  struct Attempt;
  class Ear;

  Owner new_owner();
  bool closing();
  void wake(std::string_view owner);
  void wake_soon(std::string_view owner);
  void stand_in_line(Attempt& attempt, std::optional<Ear>& ear);
  asio::awaitable<void> ask(LockRequest const& request, Attempt& attempt);
  void accept(LockRequest const& request, Attempt& attempt);
  bool admit(LockRequest const& request, Attempt& attempt);
  bool over(LockRequest const& request, Attempt& attempt);
  Instant next_look(LockRequest const& request, Attempt const& attempt);
  asio::awaitable<void> leave(LockRequest const& request, Attempt const& attempt);
  asio::awaitable<std::expected<void, Lost>> tell_released(std::shared_ptr<KeptLease> lease,
                                                           LossReason before, Instant deadline);
  asio::awaitable<bool> let_go(LockRequest const& request, Owner const& owner);
  void give_back(Name name, Owner owner, Nanos ttl);
  asio::awaitable<void> keep_giving_back(Name name, Owner owner, Nanos ttl);
  asio::awaitable<void> unsubscribe();

  Env& env_;
  LeaseStore& store_;
  SignalBus& signals_;
  Keeper& keeper_;
  EventLog const& log_;
  FenceMemory fences_;
  Nursery nursery_;
  std::mutex mutex_;
  std::atomic<bool> has_ear_ = false;  ///< somebody waited before: signals arrive already
  bool closing_ = false;               ///< guarded, as the map is
  std::map<std::string, Event, std::less<>> waiting_;  ///< who waits for an offer, by owner
  SignalBus::Subscription offers_;
  SignalBus::Subscription rises_;
};

}  // namespace holt
