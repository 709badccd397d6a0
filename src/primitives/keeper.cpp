// SPDX-License-Identifier: Apache-2.0
#include "primitives/keeper.hpp"

#include "base/check.hpp"
#include "primitives/trust.hpp"

#include <holt/error.hpp>

#include <algorithm>

namespace holt {
namespace {
/// Leases renewed in one call; more wait for the next call.
constexpr std::size_t max_batch = 512;
/// A lease held for less than this never needs to hear signals.
constexpr std::chrono::milliseconds listen_after{100};
}  // namespace

Instant KeptLease::deadline() const noexcept {
  return Instant(Instant::duration(deadline_.load(std::memory_order_acquire)));
}

void KeptLease::on_at_risk(std::function<void()> callback) {
  std::scoped_lock const lock(callback_mutex_);
  if (loss() == LossReason::none) at_risk_callback_ = std::move(callback);
}

std::function<void()> KeptLease::take_callback() {
  std::scoped_lock const lock(callback_mutex_);
  return std::exchange(at_risk_callback_, nullptr);
}

Keeper::Keeper(Env& env, LeaseStore& store, SignalBus& signals, EventLog const& log)
    : env_(env),
      store_(store),
      signals_(signals),
      log_(log),
      checks_(signals.subscribe(std::string(topic::check),
                                [this](Signal const& signal) { check(signal.text); })),
      renew_wake_(env),
      watch_wake_(env),
      listen_wake_(env),
      nursery_(env) {}

std::shared_ptr<KeptLease> Keeper::keep(Name name, Owner owner, Fence fence,
                                        Instant attempt_started, Nanos ttl, Nanos renew_every) {
  auto lease =
      std::make_shared<KeptLease>(std::move(name), std::move(owner), fence, attempt_started);
  {
    std::scoped_lock const lock(mutex_);
    if (closing_) {
      lease->loss_ = LossReason::closed;
      lease->stop_.request_stop();
      return lease;
    }
    lease->id_ = next_id_++;
    lease->ttl_ = ttl.count();
    lease->renew_every_ = renew_every;
    leases_.emplace(lease->id_, lease);
    trust(*lease, attempt_started, ttl);
    start();
  }
  if (watcher_ != nullptr) watcher_->kept(*lease);
  log_.report(LogLevel::info, "acquired", lease->name(), lease->owner(), fence);
  return lease;
}

/// The store never moves the end of a lease back, so neither does its holder.
void Keeper::trust(KeptLease& lease, Instant attempt_started, Nanos ttl) {
  auto const until = std::max(lease.trust_.until(), trust::deadline(attempt_started, ttl));
  lease.deadline_.store(until.time_since_epoch().count(), std::memory_order_release);
  lease.trust_.set(until);
  lease.at_risk_ = !lease.renews();
  auto const every =
      lease.renew_every_ == usual_renewal ? trust::renew_every(ttl) : lease.renew_every_;
  auto const watch = lease.renews() ? trust::at_risk_at(attempt_started, ttl, every) : until;
  schedule(watches_, lease.watch_at_, lease.id_, watch);
  if (watch < watch_alarm_) watch_wake_.set();
  if (!lease.renews()) return;
  auto const renewal = attempt_started + every;
  schedule(renewals_, lease.renew_at_, lease.id_, renewal);
  if (renewal < renew_alarm_) renew_wake_.set();
}

void Keeper::schedule(Schedule& where, Instant& current, std::uint64_t id, Instant when) {
  where.erase({current, id});
  current = when;
  if (when != Instant::max()) where.emplace(when, id);
}

void Keeper::forget(KeptLease& lease) {
  schedule(renewals_, lease.renew_at_, lease.id_, Instant::max());
  schedule(watches_, lease.watch_at_, lease.id_, Instant::max());
  leases_.erase(lease.id_);
}

/// Both loops and the ear start with the first lease: a client that only asks needs none of them.
void Keeper::start() {
  if (!started_) {
    started_ = true;
    nursery_.spawn(renew_loop());
    nursery_.spawn(watch_loop());
  }
  if (!listening_) {
    listening_ = true;
    if (!signals_.listening()) nursery_.spawn(listen_when_long());
  }
}

asio::awaitable<void> Keeper::listen_when_long() {
  [[maybe_unused]] bool const woken = co_await listen_wake_.wait_until(env_.now() + listen_after);
  {
    std::scoped_lock const lock(mutex_);
    listening_ = !leases_.empty() && !closing_;
    if (!listening_) co_return;
  }
  try {
    signals_.listen();
  } catch (EngineError const&) {
    co_return;  // deaf, not wrong: a break is then noticed at the next renewal
  }
}

bool Keeper::extend(KeptLease& lease, Instant attempt_started, Nanos ttl) {
  std::scoped_lock const lock(mutex_);
  if (lease.loss() != LossReason::none || !lease.held(env_.now())) return false;
  lease.ttl_ = ttl.count();
  trust(lease, attempt_started, ttl);
  return true;
}

LossReason Keeper::drop(KeptLease& lease, LossReason why, std::string_view detail) {
  {
    std::scoped_lock const lock(mutex_);
    if (lease.loss() != LossReason::none) return lease.loss();
    lease.loss_.store(why, std::memory_order_release);
    lease.trust_.clear();
  }
  auto const own = why == LossReason::released;
  log_.report(own ? LogLevel::info : LogLevel::warn, own ? "released" : "lost", lease.name(),
              lease.owner(), lease.fence(), detail.empty() ? to_string(why) : detail);
  if (watcher_ != nullptr) watcher_->dropped(lease, why);
  // What the user gave us goes where it may end anything, its client too: never on our own thread.
  auto callback = lease.take_callback();
  if (own) {
    lease.stop_.request_stop();
  } else {
    env_.call_user(
        [stop = lease.stop_, callback = std::move(callback)]() mutable { stop.request_stop(); });
  }
  std::scoped_lock const lock(mutex_);
  forget(lease);
  return LossReason::none;
}

Keeper::Leases Keeper::drop_all(LossReason why) {
  Leases all;
  {
    std::scoped_lock const lock(mutex_);
    for (auto const& [id, lease] : leases_) all.push_back(lease);
  }
  std::erase_if(all, [&](auto const& lease) { return drop(*lease, why) != LossReason::none; });
  return all;
}

asio::awaitable<void> Keeper::close() {
  {
    std::scoped_lock const lock(mutex_);
    closing_ = true;
  }
  renew_wake_.set();
  watch_wake_.set();
  listen_wake_.set();
  nursery_.spawn(unsubscribe());
  bool const closed = co_await nursery_.close(Instant::max());
  HOLT_CHECK(closed);
}

/// On the executor: afterwards none is under way and none will start.
asio::awaitable<void> Keeper::unsubscribe() {
  signals_.unsubscribe(checks_);
  co_return;
}

void Keeper::check(std::string_view owner) {
  std::scoped_lock const lock(mutex_);
  for (auto const& [id, lease] : leases_) {
    if (lease->owner().text() != owner || !lease->renews()) continue;
    schedule(renewals_, lease->renew_at_, id, env_.now());
    renew_wake_.set();
  }
}

asio::awaitable<void> Keeper::renew_loop() {
  while (true) {
    Leases due;
    Instant alarm;
    {
      std::scoped_lock const lock(mutex_);
      if (closing_) co_return;
      due = take_due(env_.now());
      alarm = renewals_.empty() ? Instant::max() : renewals_.begin()->first;
      renew_alarm_ = due.empty() ? alarm : Instant::min();
    }
    if (due.empty()) {
      [[maybe_unused]] bool const woken = co_await renew_wake_.wait_until(alarm);
    } else {
      co_await renew(std::move(due));
    }
  }
}

/// When one is due, those that will be soon go with it: many leases cost few calls.
Keeper::Leases Keeper::take_due(Instant now) {
  Leases due;
  while (!renewals_.empty() && due.size() < max_batch) {
    auto const [when, id] = *renewals_.begin();
    auto const& lease = leases_.at(id);
    auto const early = due.empty() ? Nanos(0) : lease->ttl() / 20;
    if (when > now + early) break;
    lease->planned_ = when;
    schedule(renewals_, lease->renew_at_, id, Instant::max());
    due.push_back(lease);
  }
  return due;
}

asio::awaitable<void> Keeper::renew(Leases due) {
  auto const started = env_.now();
  auto deadline = Instant::max();
  std::vector<LeaseRenewal> sent;
  for (auto const& lease : due) {
    sent.emplace_back(lease->name(), lease->owner(), lease->ttl());
    deadline = std::min({deadline, lease->deadline(), started + lease->ttl() / 3});
  }
  std::vector<std::expected<void, Lost>> answers;
  std::string failure;
  try {
    answers = co_await store_.renew(sent, deadline);
  } catch (EngineError const& error) {
    failure = error.what();
  }
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (failure.empty()) {
      settle(*due[i], sent[i], started, answers[i]);
    } else {
      retry(*due[i], failure);
    }
  }
}

/// What the store said of one renewal. A success that comes after the deadline is too late: the
/// holder may have seen held() false already, and it never turns true again.
void Keeper::settle(KeptLease& lease, LeaseRenewal const& sent, Instant attempt_started,
                    std::expected<void, Lost> const& answer) {
  if (!answer && answer.error().reason == LossReason::none) {
    retry(lease, answer.error().detail);
    return;
  }
  if (!answer) {
    drop(lease, answer.error().reason, answer.error().detail);
    return;
  }
  {
    std::unique_lock lock(mutex_);
    if (lease.loss() != LossReason::none) return;
    if (!lease.held(env_.now())) {
      lock.unlock();
      drop(lease, LossReason::expired);
      return;
    }
    trust(lease, attempt_started, sent.ttl);
    if (watcher_ != nullptr) watcher_->renewed(env_.now() - lease.planned_);
  }
  log_.report(LogLevel::debug, "renewed", lease.name(), lease.owner(), lease.fence());
}

void Keeper::retry(KeptLease& lease, std::string_view why) {
  bool tell = false;
  {
    std::scoped_lock const lock(mutex_);
    if (lease.loss() != LossReason::none) return;
    auto const pause = trust::retry_after(lease.ttl());
    auto const jitter = Nanos(env_.random() % static_cast<std::uint64_t>(pause.count()));
    schedule(renewals_, lease.renew_at_, lease.id_, env_.now() + pause / 2 + jitter);
    tell = !lease.at_risk_.exchange(true);
    if (tell) schedule(watches_, lease.watch_at_, lease.id_, lease.trust_.until());
  }
  if (tell) warn(lease, why);
}

asio::awaitable<void> Keeper::watch_loop() {
  while (true) {
    Leases due;
    Instant alarm;
    {
      std::scoped_lock const lock(mutex_);
      if (closing_) co_return;
      auto const now = env_.now();
      for (auto it = watches_.begin(); it != watches_.end() && it->first <= now; ++it) {
        due.push_back(leases_.at(it->second));
      }
      alarm = watches_.empty() ? Instant::max() : watches_.begin()->first;
      watch_alarm_ = due.empty() ? alarm : Instant::min();
    }
    for (auto const& lease : due) look_at(lease);
    if (!due.empty()) continue;
    [[maybe_unused]] bool const woken = co_await watch_wake_.wait_until(alarm);
  }
}

void Keeper::look_at(std::shared_ptr<KeptLease> const& lease) {
  bool lost = false;
  bool tell = false;
  {
    std::scoped_lock const lock(mutex_);
    if (lease->loss() != LossReason::none) {
      forget(*lease);
      return;
    }
    lost = !lease->held(env_.now());
    tell = !lost && !lease->at_risk_.exchange(true);
    if (!lost) schedule(watches_, lease->watch_at_, lease->id_, lease->trust_.until());
  }
  if (lost) drop(*lease, LossReason::expired);
  if (tell) warn(*lease, "no renewal confirmed yet");
}

void Keeper::warn(KeptLease& lease, std::string_view why) {
  if (watcher_ != nullptr) watcher_->at_risk();
  log_.report(LogLevel::warn, "at_risk", lease.name(), lease.owner(), lease.fence(), why);
  std::function<void()> callback;
  {
    std::scoped_lock const lock(lease.callback_mutex_);
    callback = lease.at_risk_callback_;
  }
  if (callback) env_.call_user([callback = std::move(callback)] { callback(); });
}

}  // namespace holt
