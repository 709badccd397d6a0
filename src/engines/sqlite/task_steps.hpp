// SPDX-License-Identifier: Apache-2.0
#pragma once
// The small steps of TaskStore: renew, cancel; and one that wakes others when who was woken is
// gone.

#include "contracts/task_store.hpp"
#include "engines/sqlite/task_step.hpp"

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sqlite {

class TaskRenewStep final : public TaskStep {
 public:
  TaskRenewStep(Env& env, std::string_view instance, std::vector<ClaimRenewal> const& renewals,
                Instant deadline)
      : TaskStep(env, instance, "renew claims", deadline), renewals_(renewals) {}

  [[nodiscard]] std::vector<std::expected<RenewedClaim, Lost>>& result() noexcept {
    return result_;
  }

 private:
  void decide(TaskRows& rows) override;
  static std::expected<RenewedClaim, Lost> renew(TaskRows& rows, ClaimRenewal const& renewal);
  static RenewedClaim look_into(TaskRows& rows, ClaimRenewal const& renewal);

  std::vector<ClaimRenewal> const& renewals_;
  std::vector<std::expected<RenewedClaim, Lost>> result_;
};

class TaskCancelStep final : public TaskStep {
 public:
  TaskCancelStep(Env& env, std::string_view instance, TaskId const& id, Instant deadline)
      : TaskStep(env, instance, "cancel a task", deadline), id_(id) {}

  [[nodiscard]] Cancellation result() const noexcept { return result_; }

 private:
  void decide(TaskRows& rows) override;
  bool cancel_waiting(TaskRows& rows, std::vector<Lane> const& lanes);
  void ask_to_stop(TaskRows& rows, ClaimRow& claim, std::size_t index);

  TaskId const& id_;
  Cancellation result_ = Cancellation::not_found;
};

/// Wakes so many who idle, where there is something to claim.
class TaskWakeStep final : public TaskStep {
 public:
  TaskWakeStep(Env& env, std::string_view instance, std::string const& queue, std::size_t count,
               Instant deadline)
      : TaskStep(env, instance, "wake workers", deadline), queue_(queue), count_(count) {}

 private:
  void decide(TaskRows& rows) override;

  std::string const& queue_;
  std::size_t count_;
};

/// Adds 2^32 to the counters of fences and numbers, as a new boot does.
class TaskRaiseStep final : public TaskStep {
 public:
  TaskRaiseStep(Env& env, std::string_view instance, Instant deadline)
      : TaskStep(env, instance, "raise fence", deadline) {}

 private:
  void decide(TaskRows& rows) override { rows.raise_counters(); }
};

}  // namespace holt::sqlite
