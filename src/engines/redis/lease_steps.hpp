// SPDX-License-Identifier: Apache-2.0
#pragma once
// Acquire and release as steps: alone scripts/acquire.lua and scripts/release.lua, with others
// scripts/acquire_many.lua and scripts/release_many.lua.

#include "contracts/lease_store.hpp"
#include "engines/redis/batch.hpp"
#include "engines/redis/layout.hpp"

#include <cstdint>
#include <string_view>

namespace holt::redis {

/// Tells names apart.
[[nodiscard]] std::uint64_t hash_of(std::string_view name);

/// In whole ms, upwards, and no longer than sums of times stay exact in a script.
[[nodiscard]] std::int64_t script_ms(Nanos span);

/// What a step says of the server. Views: the step lives no longer.
struct ServerFacts {
  std::string_view identity;  ///< empty: it need not be told
  std::string_view exact;     ///< '1' if a server knows all who listen, not only its own
};

/// The request lives as long as the step.
class AcquireStep final : public Step {
 public:
  AcquireStep(Keys const& keys, LeaseRequest const& request, std::int64_t wall_ms,
              ServerFacts facts)
      : keys_(keys), request_(request), wall_ms_(wall_ms), facts_(facts) {}

  [[nodiscard]] Script const& of_many() const override;
  [[nodiscard]] std::uint64_t name() const override;
  void add_to(Batch& batch) const override;
  [[nodiscard]] ScriptCall alone() const override;

 private:
  [[nodiscard]] std::int64_t key_life_ms() const;
  template <class Add>
  void put_record(Add const& add) const;

  Keys const& keys_;
  LeaseRequest const& request_;
  std::int64_t wall_ms_;
  ServerFacts facts_;
};

/// Name and owner live as long as the step.
class ReleaseStep final : public Step {
 public:
  ReleaseStep(Keys const& keys, Name const& name, Owner const& owner, ServerFacts facts)
      : keys_(keys), name_(name), owner_(owner), facts_(facts) {}

  [[nodiscard]] Script const& of_many() const override;
  [[nodiscard]] std::uint64_t name() const override;
  void add_to(Batch& batch) const override;
  [[nodiscard]] ScriptCall alone() const override;

 private:
  Keys const& keys_;
  Name const& name_;
  Owner const& owner_;
  ServerFacts facts_;
};

}  // namespace holt::redis
