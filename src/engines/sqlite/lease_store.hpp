// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseStore on SQLite: hands steps to the writer, reads through the reader, and signals waiters
// after the commit. The decisions are in lease_steps, the statements in lease_rows and sql/.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "contracts/signal_bus.hpp"
#include "engines/sqlite/lease_steps.hpp"
#include "engines/sqlite/reader.hpp"
#include "engines/sqlite/writer.hpp"

#include <optional>
#include <string>
#include <vector>

namespace holt::sqlite {

class SqliteLeaseStore final : public LeaseStore {
 public:
  /// All that is passed must outlive the store.
  SqliteLeaseStore(Env& env, Writer& writer, Reader& reader, SignalBus& signals,
                   std::string instance);

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
  void tell_risen(std::vector<std::string> const& owners);
  asio::awaitable<void> tell_waiters(std::vector<Offer> offers, Instant deadline);

  Env& env_;
  Writer& writer_;
  Reader& reader_;
  SignalBus& signals_;
  std::string const instance_;
};

}  // namespace holt::sqlite
