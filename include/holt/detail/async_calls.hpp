// SPDX-License-Identifier: Apache-2.0
#pragma once
// What <holt/asio.hpp> stands on: the operations of a client, started and not waited for. Not for
// users. Standard library only, so that the library and its user need not share a build of Asio.
//
// `done` is called once, on a thread of the library, and must return at once. It gets what failed,
// or the answer; and what keeps the client alive, which it must not destroy there: the last one to
// go joins that very thread.

#include <holt/lock.hpp>
#include <holt/open.hpp>
#include <holt/retry.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#pragma GCC visibility push(default)
namespace holt::detail {

/// No aggregate on purpose: docs/adr/0005-coroutine-rules.md.
template <class T>
struct Outcome {
  Outcome() = default;
  Outcome(std::exception_ptr failed, std::shared_ptr<void> of)
      : error(std::move(failed)), client(std::move(of)) {}
  std::exception_ptr error;
  std::optional<T> answer;  ///< set unless there is an error
  std::shared_ptr<void> client;
};

template <class T>
using Done = std::move_only_function<void(Outcome<T>)>;

/// `retry`: by trying again instead of standing in line.
void start_lock(Holt const& holt, Name const& name, LockOptions const& options,
                std::optional<RetryOptions> const& retry, std::stop_token stop,
                Done<std::expected<Lock, Busy>> done);
void start_extend(Lock const& lock, std::chrono::milliseconds ttl,
                  Done<std::expected<void, Lost>> done);
void start_release(Lock const& lock, Done<std::expected<void, Lost>> done);

/// `why`: lookup or is_locked, for observers.
void start_find(Holt const& holt, Name const& name, Observation::Operation why,
                Done<std::optional<LeaseInfo>> done);
void start_list(Holt const& holt, std::string prefix, std::string cursor, std::uint32_t limit,
                Done<LeasePage> done);
void start_break(Holt const& holt, Name const& name, std::string reason, BreakOptions options,
                 Done<BreakResult> done);
void start_extend(Holt const& holt, Handle const& handle, std::chrono::milliseconds ttl,
                  Done<std::expected<void, Lost>> done);
void start_release(Holt const& holt, Handle const& handle, Done<std::expected<void, Lost>> done);

}  // namespace holt::detail
#pragma GCC visibility pop
