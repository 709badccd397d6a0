// SPDX-License-Identifier: Apache-2.0
#pragma once
// What only reads: TaskStore::find, list and count, each on one state of the file.

#include "contracts/env.hpp"
#include "contracts/task_store.hpp"
#include "engines/sqlite/step.hpp"
#include "engines/sqlite/task_info.hpp"
#include "engines/sqlite/task_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sqlite {

class TaskQuery : public Step {
 public:
  TaskQuery(Env& env, std::string_view instance, std::string_view operation, Instant deadline)
      : Step(operation, deadline), env_(env), instance_(instance) {}

  void run(Connection& store) final {
    Snapshot const snapshot(store);
    TaskRows rows(store, env_, instance_);
    look(rows);
  }

 protected:
  ~TaskQuery() = default;
  virtual void look(TaskRows& rows) = 0;

 private:
  Env& env_;
  std::string_view instance_;
};

class TaskFindStep final : public TaskQuery {
 public:
  TaskFindStep(Env& env, std::string_view instance, TaskId const& id, Instant deadline)
      : TaskQuery(env, instance, "find a task", deadline), id_(id) {}

  [[nodiscard]] std::optional<TaskInfo>& result() noexcept { return result_; }

 private:
  void look(TaskRows& rows) override;

  TaskId const& id_;
  std::optional<TaskInfo> result_;
};

class TaskListStep final : public TaskQuery {
 public:
  TaskListStep(Env& env, std::string_view instance, std::string const& queue, Instant deadline)
      : TaskQuery(env, instance, "list tasks", deadline), queue_(queue) {}

  /// Which of them: `limit` that come after this number.
  void select(TaskFilter filter, std::uint64_t after, std::uint32_t limit);
  [[nodiscard]] TaskPage& result() noexcept { return result_; }

 private:
  void look(TaskRows& rows) override;
  void look_at_ready(TaskRows& rows, TaskView& view);
  void look_at_waiting(TaskRows& rows, TaskView& view);
  void look_at_running(TaskRows& rows, TaskView& view);
  void look_at_ended(TaskRows& rows, TaskView& view);
  [[nodiscard]] bool wanted(TaskInfo const& task) const;

  std::string const& queue_;
  TaskFilter filter_;
  std::uint64_t after_ = 0;
  std::uint32_t limit_ = 0;
  TaskPage result_;
};

class TaskCountStep final : public TaskQuery {
 public:
  TaskCountStep(Env& env, std::string_view instance, std::string const& queue, Instant deadline)
      : TaskQuery(env, instance, "count tasks", deadline), queue_(queue) {}

  [[nodiscard]] TaskCounts const& result() const noexcept { return result_; }

 private:
  void look(TaskRows& rows) override;
  void count_waiting(TaskRows& rows);
  void count_ended(TaskRows& rows);

  std::string const& queue_;
  TaskCounts result_;
};

}  // namespace holt::sqlite
