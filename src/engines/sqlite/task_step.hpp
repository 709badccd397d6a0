// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskStep: what the steps that change tasks share. It collects what is to be signalled once the
// step is stored.

#include "contracts/env.hpp"
#include "contracts/signal_bus.hpp"
#include "engines/sqlite/step.hpp"
#include "engines/sqlite/task_rows.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::sqlite {

struct Notice {
  std::string inbox;
  Signal signal;
};

class TaskStep : public Step {
 public:
  TaskStep(Env& env, std::string_view instance, std::string_view operation, Instant deadline)
      : Step(operation, deadline), env_(env), instance_(instance) {}

  void run(Connection& store) final {
    notices_.clear();
    TaskRows rows(store, env_, instance_);
    decide(rows);
  }

  [[nodiscard]] std::vector<Notice> const& notices() const noexcept { return notices_; }

 protected:
  ~TaskStep() = default;

  virtual void decide(TaskRows& rows) = 0;

  void tell(std::string_view inbox, std::string_view topic, std::string text) {
    notices_.push_back({std::string(inbox), {std::string(topic), std::move(text)}});
  }

 private:
  Env& env_;
  std::string_view instance_;
  std::vector<Notice> notices_;
};

}  // namespace holt::sqlite
