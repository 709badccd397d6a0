// SPDX-License-Identifier: Apache-2.0
// Looking at a store and at ourselves: the part of Core and of the public API that holt doctor
// uses.

#include "base/random_text.hpp"
#include "client/core.hpp"
#include "client/findings.hpp"
#include "primitives/trust.hpp"

#include <holt/instance.hpp>
#include <holt/open.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace holt {
namespace client {
namespace {

using std::chrono::milliseconds;

constexpr int most_samples = 10'000;
constexpr auto longest_measurement = std::chrono::seconds(2);
constexpr Nanos measured_ttl = std::chrono::seconds(1);
constexpr Nanos short_patience = milliseconds(500);

void check(DiagnoseOptions options) {
  // In milliseconds: a huge value would overflow in nanoseconds before it is refused.
  if (options.ttl < std::chrono::floor<milliseconds>(trust::min_ttl) ||
      options.ttl > std::chrono::floor<milliseconds>(trust::max_ttl)) {
    throw InvalidArgument(
        fmt::format("a ttl of {} ms is out of range: use 100 ms to 24 h", options.ttl.count()));
  }
  if (options.samples < 1 || options.samples > most_samples) {
    throw InvalidArgument(
        fmt::format("{} samples are not possible: use 1 to {}", options.samples, most_samples));
  }
}

/// The instance that open() would choose.
std::string instance_of(OpenOptions const& options) {
  if (!options.instance.empty()) return options.instance;
  char const* const variable = std::getenv("HOLT_INSTANCE");
  return variable != nullptr && *variable != '\0' ? variable : "default";
}

/// One lease, taken and released; how long each took.
asio::awaitable<void> measure_once(Env& env, LeaseStore& leases, Name name, Owner owner,
                                   Nanos patience, std::vector<Nanos>& calls) {
  LeaseRequest request({name}, owner, measured_ttl);
  auto const asked = env.now();
  auto const granted = co_await leases.acquire(std::move(request), asked + patience);
  auto const answered = env.now();
  calls.push_back(answered - asked);
  if (!granted) co_return;  // cannot be: nobody else knows the name
  auto const released = co_await leases.release(name, owner, answered + patience);
  static_cast<void>(released);  // lost: a call took longer than the lease lives, which shows anyway
  calls.push_back(env.now() - answered);
}

/// Of the register; nothing where the store has none, or does not answer.
std::optional<Finding> register_finding(std::string_view url, OpenOptions const& options) {
  try {
    return instances_finding(open_instances(url, options).list());
  } catch (std::exception const&) {
    return std::nullopt;
  }
}

}  // namespace

asio::awaitable<Measured> measure(Env& env, LeaseStore& leases, std::string inbox, int samples,
                                  Nanos patience) {
  auto const token = [&env] { return random_token([&env] { return env.random(); }); };
  Name const name("holt-doctor/" + token());
  auto const end = env.now() + longest_measurement;
  Measured measured;
  for (int i = 0; i < samples && env.now() < end; ++i) {
    Owner const owner(inbox, token());
    try {
      co_await measure_once(env, leases, name, owner, patience, measured.calls);
    } catch (EngineError const& error) {
      measured.error = error;
    }
    if (measured.error) break;
  }
  co_return measured;
}

asio::awaitable<std::optional<milliseconds>> shortest_ttl(Env& env, LeaseStore& leases,
                                                          Nanos patience) {
  constexpr std::uint32_t page_size = 1000;
  std::optional<milliseconds> shortest;
  try {
    std::string cursor;
    do {
      auto page = co_await leases.list("", cursor, page_size, env.now() + patience);
      for (auto const& lease : page.leases) {
        shortest = std::min(shortest.value_or(lease.ttl), lease.ttl);
      }
      cursor = std::move(page.next);
    } while (!cursor.empty());
  } catch (EngineError const&) {
    shortest.reset();
  }
  co_return shortest;
}

std::vector<Finding> Core::diagnose(DiagnoseOptions options) {
  check(options);
  check_usable("diagnose");
  auto& leases = engine_->leases();
  auto measured =
      loops_.run(measure(env_, leases, engine_->signals().inbox(), options.samples, timeout_));
  // A store that does not answer is asked no more than it must be.
  auto const patience = measured.error ? std::min(timeout_, short_patience) : timeout_;
  auto const shortest = loops_.run(shortest_ttl(env_, leases, patience));

  std::vector<Finding> findings{version_finding(), store_opened(url()), instance_finding(instance_),
                                writable_finding(measured)};
  if (!measured.error) {
    findings.push_back(latency_finding(std::move(measured.calls), options.ttl, shortest));
  }
  findings.push_back(timeout_finding(std::chrono::ceil<milliseconds>(timeout_), options.ttl));
  findings.push_back(descriptors_finding());
  std::ranges::move(loops_.run(engine_->diagnose(patience)), std::back_inserter(findings));
  return findings;
}

FenceRaise Core::raise_fence() {
  check_usable("raise fence");
  return loops_.run(engine_->raise_fence(call_deadline()));
}

}  // namespace client

std::vector<Finding> Holt::diagnose(DiagnoseOptions options) { return core_->diagnose(options); }

FenceRaise Holt::raise_fence() { return core_->raise_fence(); }

std::vector<Finding> diagnose(std::string_view url, OpenOptions open_options,
                              DiagnoseOptions options) {
  client::check(options);
  auto const timeout = open_options.timeout;
  auto const instance = client::instance_of(open_options);
  auto const without_store = [&](Finding refused) {
    return std::vector<Finding>{
        client::version_finding(), std::move(refused), client::instance_finding(instance),
        client::timeout_finding(timeout, options.ttl), client::descriptors_finding()};
  };
  try {
    auto holt = open(url, open_options);
    auto findings = holt.diagnose(options);
    if (auto found = client::register_finding(url, open_options)) {
      findings.push_back(std::move(*found));
    }
    return findings;
  } catch (EngineError const& error) {
    return without_store(client::store_refused(error));
  } catch (InvalidArgument const& error) {
    return without_store(client::store_refused(error));
  }
}

}  // namespace holt
