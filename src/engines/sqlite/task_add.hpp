// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskAddStep: TaskStore::add.

#include "contracts/task_store.hpp"
#include "engines/sqlite/task_step.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sqlite {

class TaskAddStep final : public TaskStep {
 public:
  TaskAddStep(Env& env, std::string_view instance, AddRequest const& request, Instant deadline)
      : TaskStep(env, instance, "add tasks", deadline),
        request_(request),
        key_(fmt::format("{}.{}", request.request.series, request.request.number)) {}

  [[nodiscard]] std::vector<Added>& result() noexcept { return result_; }

 private:
  void decide(TaskRows& rows) override;
  bool answer_again(TaskRows& rows);
  void remember(TaskRows& rows) const;
  void find_lanes(TaskRows& rows);
  void add(TaskRows& rows, NewTask const& task, std::uint64_t number);
  void put(TaskRows& rows, NewTask const& task, TaskRecord& record);
  void wake(TaskRows& rows);

  AddRequest const& request_;
  std::string const key_;  ///< of its request
  std::vector<Added> result_;
  std::map<std::string_view, std::int64_t> lanes_;
  std::map<std::string, std::uint64_t> pending_;  ///< of each kind
  NewTask const* first_due_ = nullptr;            ///< is due before all that waited
  std::optional<std::int64_t> next_ms_;           ///< when the first is due
};

}  // namespace holt::sqlite
