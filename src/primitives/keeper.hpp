// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keeper: the one renewal loop for everything held. It renews leases in batches at a third of
// their ttl, retries while they may be trusted, and tells each holder once when its lease is at
// risk and once when it is lost. Two loops share the register of leases: one talks to the store,
// the other only watches deadlines, so that a store that hangs never delays a loss.
//
// Threads: callers on any thread add and drop leases (the embedded engine runs on the caller's
// thread), the loops run on Env::executor(); one mutex guards the register, never held across an
// await or a callback.

#include "base/log.hpp"
#include "base/trust_word.hpp"
#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "contracts/signal_bus.hpp"
#include "primitives/event.hpp"
#include "primitives/nursery.hpp"

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

namespace holt {

inline constexpr Nanos usual_renewal{0};              ///< at about a third of the ttl
inline constexpr Nanos never_renewed = Nanos::max();  ///< it simply ends after its ttl

/// One held lease as its holder sees it. Shared by the keeper and the guard. Any thread.
class KeptLease {
 public:
  KeptLease(Name of, Owner by, Fence with, Instant from)
      : name_(std::move(of)), owner_(std::move(by)), fence_(with), since_(from) {}

  [[nodiscard]] Name const& name() const noexcept { return name_; }
  [[nodiscard]] Owner const& owner() const noexcept { return owner_; }
  [[nodiscard]] Fence fence() const noexcept { return fence_; }
  /// When the request that got it was about to leave.
  [[nodiscard]] Instant since() const noexcept { return since_; }

  /// True while no other owner can have been granted the name.
  [[nodiscard]] bool held(Instant now) const noexcept { return now < trust_.until(); }
  /// True while no renewal is missing: none has failed and none is late.
  [[nodiscard]] bool confirmed() const noexcept {
    return !at_risk_.load(std::memory_order_acquire);
  }
  /// The last deadline that was trusted; it stays readable after the loss.
  [[nodiscard]] Instant deadline() const noexcept;
  /// The ttl it was last asked for.
  [[nodiscard]] Nanos ttl() const noexcept { return Nanos(ttl_.load(std::memory_order_relaxed)); }
  /// Why it is not held; `none` before the keeper noticed.
  [[nodiscard]] LossReason loss() const noexcept { return loss_.load(std::memory_order_acquire); }
  /// Fires with the loss.
  [[nodiscard]] std::stop_token lost() const noexcept { return stop_.get_token(); }
  /// Replaces what is called when the lease is at risk.
  void on_at_risk(std::function<void()> callback);

 private:
  friend class Keeper;
  std::function<void()> take_callback();
  [[nodiscard]] bool renews() const noexcept { return renew_every_ != never_renewed; }

  Name name_;
  Owner owner_;
  Fence fence_;
  Instant since_;
  TrustWord trust_;
  std::atomic<Instant::rep> deadline_{0};
  std::atomic<Nanos::rep> ttl_{0};
  std::atomic<LossReason> loss_{LossReason::none};
  std::atomic<bool> at_risk_ = false;  ///< written with the keeper's mutex held
  std::stop_source stop_;
  std::mutex callback_mutex_;
  std::function<void()> at_risk_callback_;

  // Guarded by the keeper's mutex:
  std::uint64_t id_ = 0;
  Nanos renew_every_{};
  Instant renew_at_ = Instant::max();
  Instant planned_;  ///< when the renewal under way was due
  Instant watch_at_ = Instant::max();
};

class Keeper {
 public:
  Keeper(Env& env, LeaseStore& store, SignalBus& signals, EventLog const& log);

  /// Takes a fresh grant into care. `attempt_started` is when the request was about to leave.
  std::shared_ptr<KeptLease> keep(Name name, Owner owner, Fence fence, Instant attempt_started,
                                  Nanos ttl, Nanos renew_every);

  /// The store confirmed an extension that was about to leave at `attempt_started`. Answers false
  /// when it came too late: the lease is lost.
  bool extend(KeptLease& lease, Instant attempt_started, Nanos ttl);

  /// Ends the care: held() is false from here on and lost() fires: on this thread when the holder
  /// let go itself, else on the user's. Answers what had ended it before, or `none`.
  LossReason drop(KeptLease& lease, LossReason why, std::string_view detail = {});

  /// The store is void or we close: all leases end now. Answers those that were held.
  std::vector<std::shared_ptr<KeptLease>> drop_all(LossReason why);

  /// Who watches the keeper at work, for telemetry: called on whatever thread it happens on, must
  /// be quick and must not throw.
  class Watcher {
   public:
    virtual void kept(KeptLease const& lease) = 0;
    /// Released or lost: once per lease.
    virtual void dropped(KeptLease const& lease, LossReason why) = 0;
    /// A renewal was confirmed, so much later than it was planned.
    virtual void renewed(Nanos lag) = 0;
    virtual void at_risk() = 0;

   protected:
    ~Watcher() = default;
  };
  /// To be set before the first lease.
  void watch(Watcher& watcher) { watcher_ = &watcher; }

  /// Ends the loops; needed before the keeper goes. What is kept from here on is lost at once.
  asio::awaitable<void> close();

 private:
  using Leases = std::vector<std::shared_ptr<KeptLease>>;
  using Schedule = std::set<std::pair<Instant, std::uint64_t>>;

  // Each of these is called with the mutex held:
  void trust(KeptLease& lease, Instant attempt_started, Nanos ttl);
  void schedule(Schedule& where, Instant& current, std::uint64_t id, Instant when);
  void forget(KeptLease& lease);
  Leases take_due(Instant now);
  void start();

  asio::awaitable<void> listen_when_long();
  asio::awaitable<void> unsubscribe();
  void check(std::string_view owner);
  asio::awaitable<void> renew_loop();
  asio::awaitable<void> watch_loop();
  asio::awaitable<void> renew(Leases due);
  void settle(KeptLease& lease, LeaseRenewal const& sent, Instant attempt_started,
              std::expected<void, Lost> const& answer);
  void retry(KeptLease& lease, std::string_view why);
  void look_at(std::shared_ptr<KeptLease> const& lease);
  void warn(KeptLease& lease, std::string_view why);

  Env& env_;
  LeaseStore& store_;
  SignalBus& signals_;
  EventLog const& log_;
  SignalBus::Subscription checks_;
  Watcher* watcher_ = nullptr;

  std::mutex mutex_;
  bool started_ = false;
  bool closing_ = false;
  bool listening_ = false;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, std::shared_ptr<KeptLease>> leases_;
  Schedule renewals_;                     ///< when each lease wants to be renewed
  Schedule watches_;                      ///< when each lease is at risk, then lost
  Instant renew_alarm_ = Instant::min();  ///< when the renew loop looks again; min: it is busy
  Instant watch_alarm_ = Instant::min();
  Event renew_wake_;
  Event watch_wake_;
  Event listen_wake_;
  Nursery nursery_;
};

}  // namespace holt
