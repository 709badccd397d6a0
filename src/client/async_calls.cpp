// SPDX-License-Identifier: Apache-2.0
#include <holt/detail/async_calls.hpp>

#include "client/core.hpp"
#include "client/inside.hpp"

#include <utility>

namespace holt::detail {

using client::Core;
using client::Inside;

void start_lock(Holt const& holt, Name const& name, LockOptions const& options,
                std::optional<RetryOptions> const& retry, std::stop_token stop,
                Done<std::expected<Lock, Busy>> done) {
  auto& core = Inside::core(holt);
  auto job = retry ? core.retry_lock(name, options, *retry, std::move(stop))
                   : core.lock(name, options, std::move(stop));
  Done<Core::Kept> kept = [&core, done = std::move(done)](Outcome<Core::Kept> outcome) mutable {
    Outcome<std::expected<Lock, Busy>> guarded(std::move(outcome.error), std::move(outcome.client));
    if (outcome.answer) guarded.answer.emplace(core.guard(std::move(*outcome.answer)));
    done(std::move(guarded));
  };
  core.start(std::move(job), std::move(kept));
}

void start_extend(Lock const& lock, std::chrono::milliseconds ttl,
                  Done<std::expected<void, Lost>> done) {
  auto& core = Inside::core(lock);
  core.start(core.extend(Inside::lease(lock), ttl), std::move(done));
}

void start_release(Lock const& lock, Done<std::expected<void, Lost>> done) {
  auto& core = Inside::core(lock);
  core.start(core.release(Inside::lease(lock), core.timeout()), std::move(done));
}

void start_find(Holt const& holt, Name const& name, Observation::Operation why,
                Done<std::optional<LeaseInfo>> done) {
  auto& core = Inside::core(holt);
  core.start(core.find(name, why), std::move(done));
}

void start_list(Holt const& holt, std::string prefix, std::string cursor, std::uint32_t limit,
                Done<LeasePage> done) {
  auto& core = Inside::core(holt);
  core.start(core.list(prefix, cursor, limit), std::move(done));
}

void start_break(Holt const& holt, Name const& name, std::string reason, BreakOptions options,
                 Done<BreakResult> done) {
  auto& core = Inside::core(holt);
  core.start(core.break_lock(name, reason, options), std::move(done));
}

void start_extend(Holt const& holt, Handle const& handle, std::chrono::milliseconds ttl,
                  Done<std::expected<void, Lost>> done) {
  auto& core = Inside::core(holt);
  core.start(core.extend(handle, ttl), std::move(done));
}

void start_release(Holt const& holt, Handle const& handle, Done<std::expected<void, Lost>> done) {
  auto& core = Inside::core(holt);
  core.start(core.release(handle), std::move(done));
}

}  // namespace holt::detail
