// SPDX-License-Identifier: Apache-2.0
#pragma once
// RaiseFenceStep: adds 2^32 to an instance's counter of fences, as a new boot does, so that no
// later fence is among those that were given before a backup was restored.

#include "contracts/env.hpp"
#include "engines/sqlite/step.hpp"

#include <holt/fence.hpp>

#include <string_view>

namespace holt::sqlite {

class RaiseFenceStep final : public Step {
 public:
  RaiseFenceStep(Env& env, std::string_view instance, Instant deadline)
      : Step("raise fence", deadline), env_(env), instance_(instance) {}

  void run(Connection& store) override;
  [[nodiscard]] FenceRaise result() const noexcept { return result_; }

 private:
  Env& env_;
  std::string_view instance_;
  FenceRaise result_;
};

}  // namespace holt::sqlite
