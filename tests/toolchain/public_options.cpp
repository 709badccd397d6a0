// SPDX-License-Identifier: Apache-2.0
// The options of the public API, written in braces inside an await as users write them: they own
// nothing, so the temporaries that g++ 12 destroys twice cost nothing. Fails to compile when one of
// them comes to own something.

#include "task.hpp"

#include <holt/detail/async_calls.hpp>
#include <holt/detail/async_tasks.hpp>
#include <holt/lock.hpp>
#include <holt/open.hpp>
#include <holt/queue.hpp>
#include <holt/retry.hpp>

#include <chrono>
#include <type_traits>

using namespace std::chrono_literals;

static_assert(std::is_trivially_destructible_v<holt::LockOptions>);
static_assert(std::is_trivially_destructible_v<holt::RetryOptions>);
static_assert(std::is_trivially_destructible_v<holt::BreakOptions>);
static_assert(std::is_trivially_destructible_v<holt::TaskOptions>);
static_assert(!std::is_aggregate_v<holt::Name>);
static_assert(!std::is_aggregate_v<holt::Handle>);
static_assert(!std::is_aggregate_v<holt::TaskId>);
static_assert(!std::is_aggregate_v<holt::detail::Outcome<int>>);
static_assert(!std::is_aggregate_v<holt::detail::TaskToAdd>);

namespace {

Task<bool> retry_lock(std::string name, holt::LockOptions options, holt::RetryOptions retry) {
  co_return name == long_text() && options.ttl == 5s && options.note == "n" && retry.attempts == 3;
}
Task<bool> break_lock(std::string reason, holt::BreakOptions options) {
  co_return reason == long_text() && options.now;
}

Task<bool> add(std::string kind, std::string payload, holt::TaskOptions options) {
  co_return kind == "k" && payload == long_text() && options.unique == "u";
}

Task<bool> shapes() {
  bool const retried = co_await retry_lock(long_text(), {.ttl = 5s, .note = "n"},
                                           {.attempts = 3, .jitter = holt::Jitter::full});
  bool const broken = co_await break_lock(long_text(), {.now = true});
  bool const added = co_await add("k", long_text(), {.delay = 5s, .unique = "u"});
  co_return retried&& broken&& added;
}

}  // namespace

int main() { return run(shapes()); }
