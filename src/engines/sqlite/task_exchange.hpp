// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskExchangeStep: TaskStore::claim.

#include "contracts/task_store.hpp"
#include "engines/sqlite/task_hand_in.hpp"
#include "engines/sqlite/task_step.hpp"
#include "engines/sqlite/task_take.hpp"
#include "engines/sqlite/task_wake.hpp"

#include <string_view>
#include <vector>

namespace holt::sqlite {

class TaskExchangeStep final : public TaskStep {
 public:
  TaskExchangeStep(Env& env, std::string_view instance, ClaimRequest const& request,
                   Instant deadline)
      : TaskStep(env, instance, "claim tasks", deadline), request_(request) {}

  [[nodiscard]] Claimed& result() noexcept { return result_; }

 private:
  void decide(TaskRows& rows) override;
  void answer_again(TaskRows& rows, ClaimRow& claim);
  bool hand_in(TaskRows& rows, TaskSettler& settler);
  void give(TaskRows& rows, std::vector<TaskRecord>& records);
  void remember(TaskRows& rows, std::vector<std::string> const& packed) const;
  void idle(TaskRows& rows, TaskWaker& waker, bool more);
  void signal(TaskSettler const& settler, TaskWaker& waker, std::vector<Lane> const& lanes);
  [[nodiscard]] Nanos ask_again(TaskRows& rows, bool more) const;

  ClaimRequest const& request_;
  Claimed result_;
  std::vector<Lane> lanes_;  ///< of the kinds that are asked for
};

}  // namespace holt::sqlite
