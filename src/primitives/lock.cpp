// SPDX-License-Identifier: Apache-2.0
#include "primitives/lock.hpp"

#include "base/check.hpp"
#include "base/random_text.hpp"
#include "primitives/backoff.hpp"
#include "primitives/trust.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace holt {
namespace {
/// A place in line lives this many ttl unless its owner asks again, and the owner asks every
/// `looks` of them: losing one question costs nothing.
constexpr int place_lives = 15;
constexpr int looks = 5;
constexpr std::chrono::seconds min_place_life{10};
/// How many in line arm a timer at the holder's expiry, in case nobody tells them.
/// Each a little after the one before it, who takes the name or gets it offered once more; the
/// place may be an old one, so the step is small.
constexpr std::uint32_t alert = 3;
constexpr std::chrono::milliseconds alert_step{1};
/// Who came near the head looks this much later: where the name changes hands fast, it has had it
/// by then, and its look would only have been in the way of the others.
constexpr std::chrono::milliseconds near_delay{20};
/// Where a store has no line, a waiter asks again after these pauses.
constexpr RetryOptions polling{.max_delay = std::chrono::seconds(1)};
constexpr int end_spread = 10;
/// How long one compare-release behind a call may take.
constexpr std::chrono::seconds give_back_patience{2};
}  // namespace

/// One call of acquire: who asks, and what is known so far.
struct Locks::Attempt {
  Attempt(Owner by, Env& env) : owner(std::move(by)), wake(env) {}

  Owner owner;
  Event wake;
  bool heard = false;                 ///< the store answered at least once
  bool in_line = false;               ///< ask for a place, too
  std::uint32_t placeless = 0;        ///< how often it asked and got none, one after the other
  Instant started;                    ///< of the last question
  std::optional<LeaseGrant> granted;  ///< its answer: one of these three
  Busy busy;
  std::optional<EngineError> failure;
  Instant failing_since = Instant::max();
  bool in_store = false;             ///< the store may know this owner
  std::shared_ptr<KeptLease> lease;  ///< the end, if all went well
};

/// Wakes whoever waits for one owner, at an offer or when Locks close, as long as it lives.
class Locks::Ear {
 public:
  Ear(Locks& locks, Owner const& owner, Event const& wake) : locks_(locks), owner_(owner.text()) {
    std::scoped_lock const lock(locks_.mutex_);
    locks_.waiting_.emplace(owner_, wake);
  }
  ~Ear() {
    std::scoped_lock const lock(locks_.mutex_);
    locks_.waiting_.erase(owner_);
  }
  Ear(Ear const&) = delete;
  Ear& operator=(Ear const&) = delete;

 private:
  Locks& locks_;
  std::string owner_;
};

Locks::Locks(Env& env, LeaseStore& store, SignalBus& signals, Keeper& keeper, EventLog const& log)
    : env_(env),
      store_(store),
      signals_(signals),
      keeper_(keeper),
      log_(log),
      nursery_(env),
      offers_(signals.subscribe(std::string(topic::offer),
                                [this](Signal const& signal) { wake(signal.text); })),
      rises_(signals.subscribe(std::string(topic::near),
                               [this](Signal const& signal) { wake_soon(signal.text); })) {}

void Locks::end_waits() {
  std::scoped_lock const lock(mutex_);
  closing_ = true;
  for (auto& [owner, event] : waiting_) event.set();
}

bool Locks::closing() {
  std::scoped_lock const lock(mutex_);
  return closing_;
}

asio::awaitable<void> Locks::close() {
  end_waits();
  nursery_.spawn(unsubscribe());
  bool const closed = co_await nursery_.close(Instant::max());
  HOLT_CHECK(closed);
}

/// On the executor: afterwards none is under way and none will start.
asio::awaitable<void> Locks::unsubscribe() {
  signals_.unsubscribe(offers_);
  signals_.unsubscribe(rises_);
  co_return;
}

Owner Locks::new_owner() {
  return {signals_.inbox(), random_token([this] { return env_.random(); })};
}

void Locks::wake(std::string_view owner) {
  std::scoped_lock const lock(mutex_);
  if (owner.empty()) {
    for (auto& [waiter, event] : waiting_) event.set();
    return;
  }
  auto const found = waiting_.find(owner);
  if (found != waiting_.end()) found->second.set();
}

void Locks::wake_soon(std::string_view owner) {
  std::scoped_lock const lock(mutex_);
  auto const found = waiting_.find(owner);
  if (found == waiting_.end()) return;
  env_.call_at(env_.now() + near_delay, [event = found->second]() mutable { event.set(); });
}

asio::awaitable<std::expected<std::shared_ptr<KeptLease>, Busy>> Locks::acquire(
    LockRequest request) {
  Attempt attempt(new_owner(), env_);
  std::optional<Ear> ear;
  std::stop_callback const on_stop(request.stop, [&attempt] { attempt.wake.set(); });
  // Who finds the name free needs neither an ear nor a place; who has an ear asks for both at once.
  if (request.wait && has_ear_.load(std::memory_order_relaxed)) stand_in_line(attempt, ear);
  while (true) {
    co_await ask(request, attempt);
    if (attempt.granted) accept(request, attempt);
    if (request.on_busy && !attempt.granted && !attempt.failure) request.on_busy(attempt.busy);
    if (attempt.lease) co_return attempt.lease;
    if (over(request, attempt)) break;
    if (request.wait && !ear) {
      stand_in_line(attempt, ear);
      continue;
    }
    [[maybe_unused]] bool const woken =
        co_await attempt.wake.wait_until(next_look(request, attempt));
    if (over(request, attempt)) break;
  }
  co_await leave(request, attempt);
  if (attempt.failure && attempt.busy.why == Busy::Why::held) throw *attempt.failure;
  co_return std::unexpected(std::move(attempt.busy));
}

asio::awaitable<std::expected<std::shared_ptr<KeptLease>, Busy>> Locks::retry(
    LockRequest request, RetryOptions options) {
  Event wake(env_);
  std::stop_callback const on_stop(request.stop, [&wake] { wake.set(); });
  std::expected<std::shared_ptr<KeptLease>, Busy> answer = std::unexpected(Busy());
  for (std::uint32_t tries = 1; !request.stop.stop_requested(); ++tries) {
    answer = co_await acquire(request);
    if (answer) co_return answer;
    auto const next = env_.now() + backoff::pause(options, tries, env_.random());
    if (tries >= options.attempts || next >= request.give_up) {
      answer.error().why = Busy::Why::timed_out;
      co_return answer;
    }
    [[maybe_unused]] bool const woken = co_await wake.wait_until(next);
  }
  answer.error().why = Busy::Why::cancelled;
  co_return answer;
}

void Locks::listen() {
  signals_.listen();
  has_ear_.store(true, std::memory_order_relaxed);
}

void Locks::stand_in_line(Attempt& attempt, std::optional<Ear>& ear) {
  listen();
  ear.emplace(*this, attempt.owner, attempt.wake);
  attempt.in_line = true;
}

asio::awaitable<void> Locks::ask(LockRequest const& request, Attempt& attempt) {
  LeaseRequest question({request.name}, attempt.owner, request.ttl);
  question.names.insert(question.names.end(), request.also.begin(), request.also.end());
  question.stand_in_line = attempt.in_line;
  question.ticket_ttl = std::max<Nanos>(request.ttl * place_lives, min_place_life);
  question.priority = request.priority;
  question.delay = request.delay;
  question.note = request.note;
  attempt.granted.reset();
  attempt.failure.reset();
  attempt.started = env_.now();
  auto const deadline = std::min(request.give_up, attempt.started + request.patience);
  try {
    std::expected<LeaseGrant, Busy> answer =
        co_await store_.acquire(std::move(question), std::max(deadline, attempt.started));
    attempt.failing_since = Instant::max();
    attempt.heard = true;
    attempt.in_store = attempt.in_store || attempt.in_line || answer.has_value();
    if (answer) {
      attempt.granted = std::move(*answer);
    } else {
      attempt.busy = std::move(answer.error());
      attempt.placeless = attempt.in_line && attempt.busy.place == 0 ? attempt.placeless + 1 : 0;
    }
  } catch (EngineError const& error) {
    attempt.failure = error;
    attempt.in_store = attempt.in_store || error.outcome() == Outcome::unknown;
    attempt.failing_since = std::min(attempt.failing_since, attempt.started);
  }
}

/// A grant is good if it can still be trusted and its fence is above all that we saw. One that
/// came too late is asked for again with the same owner, which gives it a fresh deadline.
void Locks::accept(LockRequest const& request, Attempt& attempt) {
  if (closing()) return;
  if (trust::deadline(attempt.started, request.ttl) <= env_.now()) {
    attempt.failing_since = std::min(attempt.failing_since, attempt.started);
    attempt.failure.emplace(ErrorCode::network_timeout, Outcome::unknown, "store", "acquire",
                            "the grant came too late to be trusted",
                            "use a longer ttl than the store takes to answer");
    return;
  }
  if (!admit(request, attempt)) return;
  auto const& fences = attempt.granted->fences;
  if (!attempt.granted->warning.empty()) {
    log_.report(LogLevel::warn, "warning", request.name, attempt.owner, fences.front(),
                attempt.granted->warning);
  }
  auto const keep = [&](Name const& name, Fence fence) {
    return keeper_.keep(name, attempt.owner, fence, attempt.started, request.ttl,
                        request.renew_every);
  };
  attempt.lease = keep(request.name, fences.front());
  for (std::size_t i = 0; i < request.also.size(); ++i) {
    request.also_kept->push_back(keep(request.also[i], fences.at(i + 1)));
  }
}

/// False, with the failure set: the store gave a fence that is not above the last one seen.
bool Locks::admit(LockRequest const& request, Attempt& attempt) {
  for (std::size_t i = 0; i <= request.also.size(); ++i) {
    auto const& name = i == 0 ? request.name : request.also[i - 1];
    auto const fence = attempt.granted->fences.at(i);
    if (fences_.admit(name, fence)) continue;
    attempt.failure.emplace(
        ErrorCode::fence_regression, Outcome::not_applied, "store", "acquire",
        "fence " + fence.decimal() + " is not above the last one seen for \"" + name.text() + "\"",
        "was the store restored from a backup?");
    return false;
  }
  return true;
}

/// Whether to stop asking. Sets why in `busy`; a failure that is left there is thrown.
bool Locks::over(LockRequest const& request, Attempt& attempt) {
  auto const now = env_.now();
  auto const late = now >= request.give_up;
  if (closing()) {
    attempt.failure.emplace(ErrorCode::aborted, Outcome::not_applied, "holt", "lock",
                            "this client was closed", "open a new one");
  }
  if (attempt.failure) {
    if (request.stop.stop_requested()) attempt.busy.why = Busy::Why::cancelled;
    // The last question of a wait may be cut off by the end of it: no failure of the store.
    if (late && attempt.heard && attempt.failure->retryable()) {
      attempt.busy.why = Busy::Why::timed_out;
    }
    if (!attempt.failure->retryable() || late || request.stop.stop_requested()) return true;
    // One try asks again only to learn what became of it; a wait bears a store that is away.
    if (!request.wait && attempt.failure->outcome() == Outcome::not_applied) return true;
    return now >= attempt.failing_since + request.patience;
  }
  if (!request.wait) return true;
  if (!late && !request.stop.stop_requested()) return false;
  attempt.busy.why = late ? Busy::Why::timed_out : Busy::Why::cancelled;
  return true;
}

Instant Locks::next_look(LockRequest const& request, Attempt const& attempt) {
  auto const now = env_.now();
  if (attempt.failure) return std::min(request.give_up, now + trust::retry_after(request.ttl));
  if (attempt.placeless > 0) {
    // At the holder's end it is free for all: the pause, which chance made, keeps them apart.
    auto const pause = backoff::pause(polling, attempt.placeless, env_.random());
    auto const at_its_end = attempt.busy.expires_in + pause / end_spread;
    return std::min(request.give_up, now + std::min<Nanos>(pause, at_its_end));
  }
  auto look = now + request.ttl * looks;
  if (attempt.busy.place <= alert) {
    auto const before = static_cast<int>(std::max(attempt.busy.place, 1U)) - 1;
    // From when we asked: the next question takes as long to get there as this one did, and the
    // answer, behind which there may be a commit, is no part of it.
    look = std::min(look, attempt.started + attempt.busy.expires_in + alert_step * before);
  }
  return std::min(look, request.give_up);
}

/// Nothing of a call that ended without the lock stays in the store.
asio::awaitable<void> Locks::leave(LockRequest const& request, Attempt const& attempt) {
  if (!attempt.in_store) co_return;
  bool left = false;
  if (!attempt.failure) left = co_await let_go(request, attempt.owner);
  if (left) co_return;
  give_back(request.name, attempt.owner, request.ttl);
  for (auto const& name : request.also) give_back(name, attempt.owner, request.ttl);
}

/// False: the store has not answered for each name.
asio::awaitable<bool> Locks::let_go(LockRequest const& request, Owner const& owner) {
  auto const deadline = env_.now() + request.patience;
  try {
    [[maybe_unused]] auto const answer = co_await store_.release(request.name, owner, deadline);
    for (auto const& name : request.also) {
      [[maybe_unused]] auto const other = co_await store_.release(name, owner, deadline);
    }
  } catch (EngineError const&) {
    co_return false;
  }
  co_return true;
}

void Locks::give_back(Name name, Owner owner, Nanos ttl) {
  nursery_.spawn(keep_giving_back(std::move(name), std::move(owner), ttl));
}

/// Until the store answers, the lease must have ended by itself, or we close.
asio::awaitable<void> Locks::keep_giving_back(Name name, Owner owner, Nanos ttl) {
  auto const until = env_.now() + ttl * 2;
  Event pause(env_);
  Ear const ear(*this, owner, pause);
  while (env_.now() < until) {
    try {
      [[maybe_unused]] auto const answer = co_await store_.release(
          name, owner, env_.now() + std::min<Nanos>(ttl / 3, give_back_patience));
      co_return;
    } catch (EngineError const& error) {
      log_.report(LogLevel::warn, "error", name, owner, Fence(), error.what());
    }
    if (closing()) co_return;
    [[maybe_unused]] bool const woken =
        co_await pause.wait_until(env_.now() + trust::retry_after(ttl));
  }
}

/// Not a coroutine: the user hears of it on the thread that calls, wherever the rest will run.
asio::awaitable<std::expected<void, Lost>> Locks::release(std::shared_ptr<KeptLease> lease,
                                                          Instant deadline, std::string_view why) {
  auto const before = keeper_.drop(*lease, LossReason::released, why);
  return tell_released(std::move(lease), before, deadline);
}

asio::awaitable<std::expected<void, Lost>> Locks::tell_released(std::shared_ptr<KeptLease> lease,
                                                                LossReason before,
                                                                Instant deadline) {
  if (before == LossReason::released || before == LossReason::store_gone) {
    Lost lost{before, {}};
    co_return std::unexpected(std::move(lost));
  }
  std::expected<void, Lost> answer;
  std::optional<EngineError> failure;
  try {
    answer = co_await store_.release(lease->name(), lease->owner(), deadline);
  } catch (EngineError const& error) {
    failure = error;
  }
  if (failure) {
    give_back(lease->name(), lease->owner(), lease->ttl());
    throw *failure;
  }
  if (before == LossReason::none) co_return answer;
  Lost lost{before, {}};
  co_return std::unexpected(std::move(lost));
}

asio::awaitable<std::expected<void, Lost>> Locks::extend(std::shared_ptr<KeptLease> lease,
                                                         Nanos ttl, Instant deadline) {
  auto const started = env_.now();
  std::expected<void, Lost> answer;
  bool kept = lease->held(started);
  if (kept) {
    std::vector<LeaseRenewal> renewals;
    renewals.emplace_back(lease->name(), lease->owner(), ttl);
    std::vector<std::expected<void, Lost>> const answers =
        co_await store_.renew(std::move(renewals), deadline);
    answer = answers.front();
    if (!answer) keeper_.drop(*lease, answer.error().reason, answer.error().detail);
    kept = answer && keeper_.extend(*lease, started, ttl);
  }
  if (answer && !kept) {
    auto const loss = lease->loss();
    answer = std::unexpected(Lost{loss == LossReason::none ? LossReason::expired : loss, {}});
  }
  co_return answer;
}

}  // namespace holt
