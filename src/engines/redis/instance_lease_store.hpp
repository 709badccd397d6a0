// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseStore of the register of instances: the native store, and for each lease
// {instance}/name/NAME that is held a copy for everybody to read, `holt:NAME:lock`, with the
// lease's ttl. On Env::executor().
// - The lease is the truth. The copy has a slot of its own, so it is written and deleted behind it,
//   by scripts/instance_lock.lua and instance_unlock.lua, which compare fences: who is late changes
//   nothing. A copy that could not be renewed or deleted ends by itself.
// - Where somebody else's value stands the name is busy, with that as the note: what was granted is
//   given back. Somebody who writes over the copy of a lease that is held does not end it.
// - Who renews or releases through another store object than the one that acquired has no copy.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "engines/redis/servers.hpp"

#include <holt/error.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holt::redis {

class InstanceLeaseStore final : public LeaseStore {
 public:
  InstanceLeaseStore(Env& env, Servers& servers, LeaseStore& native)
      : env_(env), servers_(servers), native_(native) {}

  void check(LeaseRequest const& request) const override { native_.check(request); }
  asio::awaitable<std::expected<LeaseGrant, Busy>> acquire(LeaseRequest request,
                                                           Instant deadline) override;
  asio::awaitable<std::vector<std::expected<void, Lost>>> renew(std::vector<LeaseRenewal> renewals,
                                                                Instant deadline) override;
  asio::awaitable<std::expected<void, Lost>> release(Name name, Owner owner,
                                                     Instant deadline) override;
  asio::awaitable<BreakResult> break_lease(BreakRequest request, Instant deadline) override;
  asio::awaitable<std::optional<LeaseInfo>> find(Name name, Instant deadline) override {
    return native_.find(std::move(name), deadline);
  }
  asio::awaitable<LeasePage> list(std::string prefix, std::string cursor, std::uint32_t limit,
                                  Instant deadline) override {
    return native_.list(std::move(prefix), std::move(cursor), limit, deadline);
  }

 private:
  /// A grant with a copy. No aggregate on purpose: docs/adr/0005-coroutine-rules.md.
  struct Held {
    Held(Name of, Owner by, Fence with, std::string says)
        : name(std::move(of)), owner(std::move(by)), fence(with), note(std::move(says)) {}
    Name name;
    Owner owner;
    Fence fence;
    std::string note;
  };

  [[nodiscard]] std::optional<Held> held(Name const& name, Owner const& owner) const;
  void remember(Held grant);
  void forget(Name const& name, Owner const& owner);

  /// Nothing, or the value of somebody else that stands there, as a lease that is in the way.
  asio::awaitable<std::optional<Busy>> write_copy(Held grant, Nanos ttl, Instant deadline);
  asio::awaitable<void> delete_copy(Name name, Fence fence, Instant deadline);
  asio::awaitable<void> renew_copy(Held grant, Nanos ttl, Instant deadline);
  /// Whether somebody may hold it still.
  asio::awaitable<Outcome> give_back(LeaseRequest const& request, Instant deadline);

  Env& env_;
  Servers& servers_;
  LeaseStore& native_;
  std::vector<Held> held_;  ///< the oldest first
};

}  // namespace holt::redis
