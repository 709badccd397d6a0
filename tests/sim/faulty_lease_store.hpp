// SPDX-License-Identifier: Apache-2.0
#pragma once
// FaultyLeaseStore: one node's way to the real store, with everything that can happen on it. A
// request and its reply travel as events of their own, so a paused or dead node's request may
// still be applied. What the store answers is shown to the checker before the way back begins.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "primitives/event.hpp"
#include "sim/checker.hpp"
#include "sim/options.hpp"
#include "support/sim_env.hpp"

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::sim {

class FaultyLeaseStore final : public LeaseStore {
 public:
  FaultyLeaseStore(SimEnv& node, SimEnv& store_env, LeaseStore& store, Checker& checker,
                   FaultOptions const& faults, std::uint64_t seed);

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

  /// Called with each request that leaves.
  void on_call(std::function<void()> callback) { on_call_ = std::move(callback); }
  /// Nothing gets through, either way, until it is cleared.
  void cut(bool off) { cut_ = off; }
  /// The node has crashed: its calls fail at once, nothing is sent any more.
  void unplug() { unplugged_ = true; }
  /// And so has the store: what was on its way is lost, what it still decides counts for nothing.
  void lose_store() { store_lost_ = true; }
  /// From here on only ordinary delays.
  void heal() {
    faults_ = FaultOptions{};
    last_arrival_ = {};  // a new connection
  }
  /// Requests that the store has not finished with.
  [[nodiscard]] int under_way() const { return under_way_; }

 private:
  enum class Fate { fine, refused, lost, reply_lost, reset };
  struct Plan {
    Fate fate = Fate::fine;
    bool repeated = false;
    bool copy = false;     ///< the second of two: comes whenever it likes
    bool patient = false;  ///< the store does not know when the caller gives up
    Nanos there{};
    Nanos back{};
  };
  template <class Answer>
  struct Exchange;
  template <class Answer>
  using Request = std::function<asio::awaitable<Answer>(Instant deadline)>;

  Plan draw();
  Nanos draw_delay();
  template <class Answer>
  asio::awaitable<Answer> call(std::string operation, Request<Answer> request, Instant deadline);
  template <class Answer>
  void send(std::shared_ptr<Exchange<Answer>> exchange, Plan plan);
  template <class Answer>
  asio::awaitable<void> serve(std::shared_ptr<Exchange<Answer>> exchange, Plan plan);
  template <class Answer>
  void reply(std::shared_ptr<Exchange<Answer>> exchange, Plan plan, std::optional<Answer> answer,
             std::exception_ptr error);

  asio::awaitable<std::expected<LeaseGrant, Busy>> seen_acquire(LeaseRequest request,
                                                                Instant deadline);
  asio::awaitable<std::expected<void, Lost>> seen_release(Name name, Owner owner, Instant deadline);
  asio::awaitable<std::vector<std::expected<void, Lost>>> seen_renew(
      std::vector<LeaseRenewal> renewals, Instant deadline);
  asio::awaitable<BreakResult> seen_break(BreakRequest request, Instant deadline);
  asio::awaitable<std::optional<LeaseInfo>> seen_find(Name name, Instant deadline);
  void say(std::string_view text);

  SimEnv& node_;
  SimEnv& store_env_;
  LeaseStore& store_;
  Checker& checker_;
  World& world_;
  FaultOptions faults_;
  Random random_;
  std::function<void()> on_call_;
  bool cut_ = false;
  bool unplugged_ = false;
  bool store_lost_ = false;
  int under_way_ = 0;
  Nanos last_arrival_{};  ///< at the store, of what was sent in order
};

}  // namespace holt::sim
