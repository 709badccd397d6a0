// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be told of any store and of this process as its client, whatever the engine. Judgements
// of values that were read or measured; Core::diagnose puts them together.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"

#include <holt/diagnosis.hpp>
#include <holt/error.hpp>
#include <holt/instance.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::client {

/// "store": it could be opened, or why not.
[[nodiscard]] Finding store_opened(std::string const& url);
[[nodiscard]] Finding store_refused(EngineError const& error);
[[nodiscard]] Finding store_refused(InvalidArgument const& error);

[[nodiscard]] Finding version_finding();
[[nodiscard]] Finding instance_finding(std::string_view instance);

/// "instances": how many live in the store, against how many an `up` allows.
[[nodiscard]] Finding instances_finding(std::vector<InstanceInfo> const& instances);

/// "timeout": how long a call may take, against the ttl.
[[nodiscard]] Finding timeout_finding(std::chrono::milliseconds timeout,
                                      std::chrono::milliseconds ttl);

/// "descriptors": how many more files this process may open.
[[nodiscard]] Finding descriptors_finding(std::uint64_t limit, std::uint64_t used);
[[nodiscard]] Finding descriptors_finding();

/// How long calls took, and whether the store did what was asked.
struct Measured {
  std::vector<Nanos> calls;
  std::optional<EngineError> error;  ///< what ended the measurement early
};

/// Takes and releases leases under a name of its own, `samples` times or for about two seconds.
/// Leaves none: what cannot be released ends after a second by itself. Does not throw EngineError.
[[nodiscard]] asio::awaitable<Measured> measure(Env& env, LeaseStore& leases, std::string inbox,
                                                int samples, Nanos patience);

/// The shortest ttl among leases that are held now; nothing when there are none, or the store does
/// not say.
[[nodiscard]] asio::awaitable<std::optional<std::chrono::milliseconds>> shortest_ttl(
    Env& env, LeaseStore& leases, Nanos patience);

/// "writable" and, when something was measured, "latency" against the ttl in use.
[[nodiscard]] Finding writable_finding(Measured const& measured);
[[nodiscard]] Finding latency_finding(std::vector<Nanos> calls, std::chrono::milliseconds ttl,
                                      std::optional<std::chrono::milliseconds> shortest);

}  // namespace holt::client
