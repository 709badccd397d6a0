// SPDX-License-Identifier: Apache-2.0
#pragma once
// The atomic steps of LeaseStore: what each decides and writes inside its transaction. Who has to
// be signalled afterwards is part of the result.
//
// The life of a name:
//   free -> held            acquire, nobody in line (or the asker is first)
//   free -> offered         anybody asks or lets go, somebody else is first in line
//   offered -> held         the same owner asks again: same fence
//   held, offered -> free   release; the end (until + delay) passes; a break
// "Passing on" is the one rule at every way out: a name that became free goes to the first live
// waiter as an offer, and only if there is none does nothing stay behind.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "engines/sqlite/lease_rows.hpp"
#include "engines/sqlite/step.hpp"

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sqlite {

/// A name that was promised to a waiter, who is to be told.
struct Offer {
  Name name;
  std::string owner;
};

/// What all steps share: whose leases, and what came of it for waiters.
class LeaseStep : public Step {
 public:
  LeaseStep(Env& env, std::string_view instance, std::string_view operation, Instant deadline)
      : Step(operation, deadline), env_(env), instance_(instance) {}

  void run(Connection& store) final;

  /// Offers that were made; to be signalled once the step is stored.
  [[nodiscard]] std::vector<Offer> const& offers() const noexcept { return offers_; }
  /// Waiters who should ask again, to learn when the lease or the offer ends and watch for it (the
  /// first three in line do): who came to be first as the name was offered, and who became third.
  /// Without this a line that moved would sleep through a crash.
  [[nodiscard]] std::vector<std::string> const& risen() const noexcept { return risen_; }

 protected:
  ~LeaseStep() = default;
  virtual void decide(LeaseRows& rows) = 0;

  /// The name, whose lease is gone or has ended, goes to the first live waiter; does nothing
  /// without one. With `unless` first in line it stays free for that owner, and false is answered.
  bool pass_on(LeaseRows& rows, Name const& name, std::string_view unless = {});

  /// Whoever has this place in line now should ask again.
  void tell_waiter_at(LeaseRows& rows, Name const& name, int place);

 private:
  Env& env_;
  std::string_view instance_;
  std::vector<Offer> offers_;
  std::vector<std::string> risen_;
};

class AcquireStep final : public LeaseStep {
 public:
  AcquireStep(Env& env, std::string_view instance, LeaseRequest const& request, Instant deadline)
      : LeaseStep(env, instance, "acquire", deadline), request_(request) {}

  [[nodiscard]] std::expected<LeaseGrant, Busy>& result() noexcept { return result_; }

 private:
  struct Found;

  void decide(LeaseRows& rows) override;
  Found look(LeaseRows& rows, Name const& name);
  Fence grant(LeaseRows& rows, Name const& name, Found const& found);
  void refuse(LeaseRows& rows, std::vector<Found> const& found, std::size_t busy);
  void give_up(LeaseRows& rows, Name const& name, Found const& found);

  LeaseRequest const& request_;
  std::expected<LeaseGrant, Busy> result_;
};

class RenewStep final : public LeaseStep {
 public:
  RenewStep(Env& env, std::string_view instance, std::vector<LeaseRenewal> const& renewals,
            Instant deadline)
      : LeaseStep(env, instance, "renew", deadline), renewals_(renewals) {}

  [[nodiscard]] std::vector<std::expected<void, Lost>>& results() noexcept { return results_; }

 private:
  void decide(LeaseRows& rows) override;
  static std::expected<void, Lost> renew(LeaseRows& rows, LeaseRenewal const& renewal);

  std::vector<LeaseRenewal> const& renewals_;
  std::vector<std::expected<void, Lost>> results_;
};

class ReleaseStep final : public LeaseStep {
 public:
  ReleaseStep(Env& env, std::string_view instance, Handle const& handle, Instant deadline)
      : LeaseStep(env, instance, "release", deadline), handle_(handle) {}

  [[nodiscard]] std::expected<void, Lost>& result() noexcept { return result_; }

 private:
  void decide(LeaseRows& rows) override;

  Handle const& handle_;
  std::expected<void, Lost> result_;
};

class BreakStep final : public LeaseStep {
 public:
  BreakStep(Env& env, std::string_view instance, BreakRequest const& request, Instant deadline)
      : LeaseStep(env, instance, "break", deadline), request_(request) {}

  [[nodiscard]] BreakResult result() const noexcept { return result_; }
  /// The holder who is to look at its lease; empty: nobody.
  [[nodiscard]] std::string const& holder() const noexcept { return holder_; }

 private:
  void decide(LeaseRows& rows) override;

  BreakRequest const& request_;
  BreakResult result_ = BreakResult::not_held;
  std::string holder_;
};

/// Takes an offer back from a waiter who turned out to be dead, and passes it on.
class SkipStep final : public LeaseStep {
 public:
  SkipStep(Env& env, std::string_view instance, Offer const& offer, Instant deadline)
      : LeaseStep(env, instance, "release", deadline), offer_(offer) {}

 private:
  void decide(LeaseRows& rows) override;

  Offer const& offer_;
};

}  // namespace holt::sqlite
