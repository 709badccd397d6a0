// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reading steps of LeaseStore: find and list. They write nothing.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "engines/sqlite/step.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holt::sqlite {

class FindStep final : public Step {
 public:
  FindStep(Env& env, std::string_view instance, Name const& name, Instant deadline)
      : Step("find", deadline), env_(env), instance_(instance), name_(name) {}

  void run(Connection& store) override;
  [[nodiscard]] std::optional<LeaseInfo>& result() noexcept { return result_; }

 private:
  Env& env_;
  std::string_view instance_;
  Name const& name_;
  std::optional<LeaseInfo> result_;
};

class ListStep final : public Step {
 public:
  ListStep(Env& env, std::string_view instance, Instant deadline)
      : Step("list", deadline), env_(env), instance_(instance) {}

  /// Which page. Throws InvalidArgument when `limit` is not 1 to 1000.
  void select(std::string prefix, std::string cursor, std::uint32_t limit);
  void run(Connection& store) override;
  [[nodiscard]] LeasePage& result() noexcept { return result_; }

 private:
  Env& env_;
  std::string_view instance_;
  std::string prefix_;
  std::string first_;
  std::uint32_t limit_ = 0;
  LeasePage result_;
};

}  // namespace holt::sqlite
