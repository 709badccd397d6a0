// SPDX-License-Identifier: Apache-2.0
#pragma once
// SimEnv: one node's Env in a World. Its clock has its own zero and its own pace, its wall clock
// may be anywhere and jump; its timers, posts and callbacks are events of the node.

#include "contracts/env.hpp"
#include "support/sim_world.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace holt::sim {

/// How a node's clock differs from true time.
struct Skew {
  Nanos offset = std::chrono::hours(24);  ///< what its clock shows at the beginning
  std::int64_t drift_ppm = 0;             ///< runs faster by this many millionths
};

class SimEnv final : public Env {
 public:
  /// Timers fire up to `lateness` after their time, as on a busy machine.
  SimEnv(World& world, NodeId node, Skew skew, std::uint64_t seed, Nanos lateness = {});

  [[nodiscard]] Instant now() const override { return at(world_.now()); }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const override;
  std::uint64_t random() override { return random_.next(); }
  [[nodiscard]] std::string boot_id() const override { return boot_id_; }
  TimerId call_at(Instant when, Task task) override;
  void cancel(TimerId timer) override;
  [[nodiscard]] asio::any_io_executor executor() override { return world_.executor(node_); }
  [[nodiscard]] asio::any_io_executor blocking() override {
    return world_.executor(node_, blocking_delay_);
  }
  void call_user(Task task) override;

  [[nodiscard]] World& world() const { return world_; }
  [[nodiscard]] NodeId node() const { return node_; }

  /// What this clock shows at a true time, and the first true time at which it shows `shown`.
  [[nodiscard]] Instant at(Nanos true_time) const;
  [[nodiscard]] Nanos true_time(Instant shown) const;

  void step_wall(Nanos by) { wall_offset_ += by; }
  /// Which boot of its machine the node runs in; "sim-boot" unless told.
  void boot_as(std::string boot_id) { boot_id_ = std::move(boot_id); }
  void be_late(Nanos lateness) { lateness_ = lateness; }
  /// Blocking work is another thread's from here on, and starts this much later. Zero: it is done
  /// where it is asked for.
  void block_for(Nanos delay) { blocking_delay_ = delay; }

 private:
  void fire(TimerId timer);

  World& world_;
  NodeId node_;
  Skew skew_;
  Nanos lateness_;
  Nanos wall_offset_;
  std::string boot_id_ = "sim-boot";
  Nanos blocking_delay_{};
  Nanos user_busy_until_{};  ///< the user's callbacks run one after the other
  std::shared_ptr<std::deque<Task>> const user_calls_ = std::make_shared<std::deque<Task>>();
  Random random_;
  Random late_;
  TimerId next_timer_ = 1;
  std::map<TimerId, Task> timers_;
};

}  // namespace holt::sim
