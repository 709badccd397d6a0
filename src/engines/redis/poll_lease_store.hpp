// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseStore in the layout `poll`: the leases of polling, poll/GROUP/ENDPOINT and node/GROUP/ID,
// are in the keys of a fleet, each call one script, scripts/poll_*.lua; all others are in the
// native store. On Env::executor(). Where those leases give less than the contract:
// - A fleet has one group: whatever GROUP is, the keys are the same.
// - There is no line: a place is 0, and whoever asks first when it is free has it.
// - No delay, one name at a time, and a note that the fleet can read: the node's id, or a node's
//   status with a weight, which is not kept. A holder cannot be asked to stop: break_lease only
//   works with `now`, and not on an original, which would go on.
// - An original has no fence: Fence(). Its owner is made of its id; its ttl is what is left of it.
//   A value that cannot be read is somebody's, whose note is empty.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/poll_options.hpp"

#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::redis {

class PollLeaseStore final : public LeaseStore {
 public:
  PollLeaseStore(Env& env, Connection& connection, LeaseStore& native, Keys const& keys,
                 PollOptions const& fleet)
      : env_(env), connection_(connection), native_(native), keys_(keys), fleet_(fleet) {}

  void check(LeaseRequest const& request) const override;
  asio::awaitable<std::expected<LeaseGrant, Busy>> acquire(LeaseRequest request,
                                                           Instant deadline) override;
  asio::awaitable<std::vector<std::expected<void, Lost>>> renew(std::vector<LeaseRenewal> renewals,
                                                                Instant deadline) override;
  asio::awaitable<std::expected<void, Lost>> release(Name name, Owner owner,
                                                     Instant deadline) override;
  asio::awaitable<BreakResult> break_lease(BreakRequest request, Instant deadline) override;
  asio::awaitable<std::optional<LeaseInfo>> find(Name name, Instant deadline) override;
  asio::awaitable<LeasePage> list(std::string prefix, std::string cursor, std::uint32_t limit,
                                  Instant deadline) override;

 private:
  /// What of the fleet a name is about. The id is a part of the name.
  struct Subject {
    PollKind kind;
    std::string_view id;
  };
  /// Many renewals, and what came of them.
  struct Renewed {
    std::vector<std::expected<void, Lost>> answers;
    std::exception_ptr failure;
    std::size_t failed = 0;
  };

  asio::awaitable<std::expected<LeaseGrant, Busy>> take(LeaseRequest request, Instant deadline);
  asio::awaitable<void> renew_some(std::vector<LeaseRenewal> const& renewals,
                                   std::span<std::size_t const> which, Renewed& renewed,
                                   Instant deadline);
  asio::awaitable<void> renew_others(std::vector<LeaseRenewal> const& renewals,
                                     std::vector<std::size_t> which, Renewed& renewed,
                                     Instant deadline);
  asio::awaitable<std::int64_t> let_go(Name name, Owner owner, bool tell, Instant deadline);
  /// In the order of the ids; `head` is what their names begin with.
  asio::awaitable<std::vector<std::optional<LeaseInfo>>> look_up(PollKind kind, std::string head,
                                                                 std::vector<std::string> ids,
                                                                 Instant deadline);
  asio::awaitable<void> list_kind(PollKind kind, std::string prefix, std::string cursor,
                                  std::size_t most, std::vector<LeaseInfo>& into, Instant deadline);

  /// Nothing: it is none of the fleet's. Throws InvalidArgument for one that is half a name.
  [[nodiscard]] static std::optional<Subject> subject_of(Name const& name);
  void add_keys(ScriptCall& call, Subject const& subject) const;

  Env& env_;
  Connection& connection_;
  LeaseStore& native_;
  Keys const& keys_;
  PollOptions const& fleet_;
};

}  // namespace holt::redis
