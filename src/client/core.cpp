// SPDX-License-Identifier: Apache-2.0
#include "client/core.hpp"

#include "base/check.hpp"
#include "client/shortage.hpp"
#include "primitives/trust.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace holt::client {
namespace {

constexpr std::chrono::milliseconds guard_patience{50};
constexpr std::size_t max_reason_bytes = 256;

Nanos checked_ttl(std::chrono::milliseconds ttl) {
  // In milliseconds: a huge value would overflow in nanoseconds before it is refused.
  if (ttl < std::chrono::duration_cast<std::chrono::milliseconds>(trust::min_ttl) ||
      ttl > std::chrono::duration_cast<std::chrono::milliseconds>(trust::max_ttl)) {
    throw InvalidArgument(
        fmt::format("a ttl of {} ms is out of range: use 100 ms to 24 h", ttl.count()));
  }
  return ttl;
}

std::string checked_note(std::string_view note) {
  if (note.size() > LeaseStore::max_note_bytes) {
    throw InvalidArgument(fmt::format("a note of {} bytes is too long: use at most {}", note.size(),
                                      LeaseStore::max_note_bytes));
  }
  return std::string(note);
}

/// Wait times are added to now: what is near the end of the clock means "no limit".
Instant give_up_at(Instant now, std::chrono::milliseconds wait) {
  constexpr std::chrono::hours longest{24 * 365 * 100};
  return wait >= longest ? Instant::max() : now + wait;
}

void check_retry(RetryOptions const& retry) {
  constexpr std::chrono::milliseconds zero{0};
  if (retry.attempts < 1) throw InvalidArgument("zero attempts are not possible: use at least 1");
  if (retry.delay < zero || retry.max_delay < zero || retry.timeout < zero) {
    throw InvalidArgument("a delay or timeout below zero is not possible");
  }
  if (retry.max_delay > std::chrono::hours(24)) {
    throw InvalidArgument("a pause of more than 24 h is not possible: use a smaller max_delay");
  }
}

asio::awaitable<std::expected<void, Lost>> already_closed() {
  Lost lost{LossReason::closed, {}};
  co_return std::unexpected(std::move(lost));
}

asio::awaitable<std::optional<LeaseInfo>> only_of(Owner owner,
                                                  asio::awaitable<std::optional<LeaseInfo>> asked) {
  auto found = co_await std::move(asked);
  if (found && (found->owner != owner || found->offered)) found.reset();
  co_return found;
}

asio::awaitable<std::expected<void, Lost>> first_of(
    asio::awaitable<std::vector<std::expected<void, Lost>>> asked) {
  auto answers = co_await std::move(asked);
  co_return std::move(answers.front());
}

}  // namespace

std::shared_ptr<Core> Core::open(std::string url, std::string instance,
                                 OpenOptions const& options) {
  auto core = or_shortage(
      "open", [&] { return std::make_unique<Core>(std::move(url), std::move(instance), options); });
  // In a forked child the threads to join do not exist: the child leaves its copy alone.
  return {core.release(), [](Core* gone) {
            if (!gone->forked()) delete gone;
          }};
}

Core::Core(std::string url, std::string instance, OpenOptions const& options)
    : instance_(std::move(instance)),
      timeout_(options.timeout),
      telemetry_(env_, instance_, options.observer, options.observe_raw, options.metrics),
      log_(options.log ? LogCallback([this, log = options.log](LogEvent const& event) {
             env_.call_user([log, event] { log(event); });
           })
                       : LogCallback(),
           options.log_level, instance_, options.hash_names),
      engine_(open_engine(env_, {std::move(url), instance_})),
      home_(dynamic_cast<Home*>(engine_.get())),
      metered_(options.metrics ? std::make_unique<MeteredLeaseStore>(
                                     env_, engine_->leases(), options.metrics->book(), instance_)
                               : nullptr),
      keeper_(env_, leases(), engine_->signals(), log_),
      locks_(env_, leases(), engine_->signals(), keeper_, log_),
      task_calls_(engine_->tasks() != nullptr
                      ? std::make_unique<TaskCalls>(env_, *engine_->tasks(), engine_->signals())
                      : nullptr) {
  ours_.set(Instant::max());
  if (telemetry_.on()) keeper_.watch(telemetry_);
  engine_->on_gone([this](std::string reason) {
    keeper_.drop_all(LossReason::store_gone);
    gone_reason_ = std::move(reason);
    gone_.request_stop();
  });
}

Core::~Core() {
  engine_->on_gone({});
  keeper_.drop_all(LossReason::closed);
  loops_.run(locks_.close());
  loops_.run(keeper_.close());
}

void Core::check_usable(std::string_view operation) const {
  if (forked()) {
    throw EngineError(ErrorCode::aborted, Outcome::not_applied, "holt", operation,
                      "this client belongs to the process that forked this one",
                      "open a client after fork()");
  }
  if (closed_.load(std::memory_order_acquire)) {
    throw EngineError(ErrorCode::aborted, Outcome::not_applied, "holt", operation,
                      "this client was closed", "open a new one");
  }
}

LockRequest Core::request(Name const& name, LockOptions const& options, std::stop_token stop) {
  LockRequest request(name, checked_ttl(options.ttl));
  request.patience = timeout_;
  request.renew_every = options.renew ? usual_renewal : never_renewed;
  request.note = checked_note(options.note);
  request.stop = std::move(stop);
  return request;
}

Job<Core::Kept> Core::lock(Name const& name, LockOptions const& options, std::stop_token stop) {
  check_usable("lock");
  if (options.wait < std::chrono::milliseconds(0)) {
    throw InvalidArgument("a wait below zero is not possible: use 0 to try once");
  }
  auto asked = request(name, options, std::move(stop));
  asked.wait = options.wait > std::chrono::milliseconds(0);
  auto const now = env_.now();
  asked.give_up = asked.wait ? give_up_at(now, options.wait) : now + timeout_;
  return {Call(telemetry_, Call::Operation::acquire, name), locks_.acquire(std::move(asked))};
}

Job<Core::Kept> Core::retry_lock(Name const& name, LockOptions const& options,
                                 RetryOptions const& retry, std::stop_token stop) {
  check_usable("lock");
  check_retry(retry);
  auto asked = request(name, options, std::move(stop));
  asked.give_up = give_up_at(env_.now(), retry.timeout);
  return {Call(telemetry_, Call::Operation::acquire, name), locks_.retry(std::move(asked), retry)};
}

std::expected<Lock, Busy> Core::guard(Kept kept) {
  if (!kept) return std::unexpected(std::move(kept.error()));
  return Lock(std::make_shared<HeldLease>(shared_from_this(), std::move(*kept)));
}

Job<Core::Answer> Core::extend(std::shared_ptr<KeptLease> const& lease,
                               std::chrono::milliseconds ttl) {
  check_usable("extend");
  auto const checked = checked_ttl(ttl);
  return {Call(telemetry_, Call::Operation::extend, *lease),
          locks_.extend(lease, checked, call_deadline())};
}

Job<Core::Answer> Core::release(std::shared_ptr<KeptLease> const& lease, Nanos patience) {
  Call call(telemetry_, Call::Operation::release, *lease);
  if (lease->loss() == LossReason::closed) return {std::move(call), already_closed()};
  check_usable("release");
  return {std::move(call), locks_.release(lease, env_.now() + patience)};
}

void Core::detach(KeptLease& lease) {
  check_usable("detach");
  keeper_.drop(lease, LossReason::released);
}

Job<std::optional<LeaseInfo>> Core::find(Name const& name, Call::Operation why) {
  check_usable("find");
  return {Call(telemetry_, why, name), leases().find(name, call_deadline())};
}

Job<std::optional<LeaseInfo>> Core::find(Handle const& handle) {
  check_usable("find");
  return {Call(telemetry_, Call::Operation::lookup, handle.name, handle.owner),
          only_of(handle.owner, leases().find(handle.name, call_deadline()))};
}

asio::awaitable<LeasePage> Core::list(std::string_view prefix, std::string const& cursor,
                                      std::uint32_t limit) {
  check_usable("list");
  if (limit < 1 || limit > 1000) {
    throw InvalidArgument(fmt::format("a page of {} leases is not possible: use 1 to 1000", limit));
  }
  return leases().list(std::string(prefix), cursor, limit, call_deadline());
}

asio::awaitable<BreakResult> Core::break_lock(Name const& name, std::string_view reason,
                                              BreakOptions options) {
  check_usable("break");
  if (reason.empty() || reason.size() > max_reason_bytes) {
    throw InvalidArgument(fmt::format("a reason of {} bytes is not possible: use 1 to {}",
                                      reason.size(), max_reason_bytes));
  }
  BreakRequest request(name, std::string(reason));
  request.fence = options.fence;
  request.now = options.now;
  return leases().break_lease(std::move(request), call_deadline());
}

Job<Core::Answer> Core::extend(Handle const& handle, std::chrono::milliseconds ttl) {
  check_usable("extend");
  std::vector<LeaseRenewal> renewals;
  renewals.emplace_back(handle.name, handle.owner, checked_ttl(ttl));
  return {Call(telemetry_, Call::Operation::extend, handle.name, handle.owner),
          first_of(leases().renew(std::move(renewals), call_deadline()))};
}

Job<Core::Answer> Core::release(Handle const& handle) {
  check_usable("release");
  return {Call(telemetry_, Call::Operation::release, handle.name, handle.owner),
          leases().release(handle.name, handle.owner, call_deadline())};
}

void Core::close(std::chrono::milliseconds deadline) {
  if (forked() || closed_.exchange(true)) return;
  closing_.request_stop();
  locks_.end_waits();
  auto const until = env_.now() + deadline;
  for (auto const& lease : keeper_.drop_all(LossReason::closed)) {
    if (env_.now() >= until) break;
    try {
      [[maybe_unused]] auto const answer =
          run(Job<Answer>{Call(telemetry_, Call::Operation::release, *lease),
                          leases().release(lease->name(), lease->owner(), until)});
    } catch (EngineError const& error) {
      log_.report(LogLevel::warn, "error", lease->name(), lease->owner(), lease->fence(),
                  error.what());
      break;  // a store that failed once fails for the rest: their ttl ends them
    }
  }
}

HeldLease::~HeldLease() {
  if (core_->forked()) {
    // Their other half is in the parent: forget them without running any clean-up.
    new std::shared_ptr<KeptLease>(std::move(lease_));
    return;
  }
  auto const loss = lease_->loss();
  if (loss == LossReason::released || loss == LossReason::closed) return;
  try {
    [[maybe_unused]] auto const answer = core_->run(core_->release(lease_, guard_patience));
  } catch (std::exception const&) {
    return;  // the ttl ends it
  }
}

}  // namespace holt::client
