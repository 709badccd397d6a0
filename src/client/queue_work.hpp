// SPDX-License-Identifier: Apache-2.0
#pragma once
// QueueWork: a Worker's inside: the handlers, the threads that they run on, and what keeps the
// client alive.

#include "client/call_gate.hpp"
#include "contracts/home.hpp"
#include "env/crew.hpp"
#include "primitives/turns.hpp"
#include "primitives/worker.hpp"

#include <holt/queue.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace holt::client {

class Core;

/// When a failed task is tried again; owns the list.
class Retries {
 public:
  /// Throws InvalidArgument for a policy that cannot be.
  explicit Retries(RetryPolicy const& policy);
  [[nodiscard]] Nanos delay(std::uint32_t failures, std::uint64_t random) const;

 private:
  RetryPolicy policy_;
  std::vector<std::chrono::milliseconds> delays_;
};

class QueueWork {
 public:
  /// `home`: where the engine's signals come in; null if it has no loop of its own.
  QueueWork(std::shared_ptr<Core> core, WorkTools tools, WorkPlan plan, Retries retries,
            Home* home);
  /// Stops it. In a forked child the other half is in the parent: then nothing is cleaned up.
  ~QueueWork();
  QueueWork(QueueWork const&) = delete;
  QueueWork& operator=(QueueWork const&) = delete;

  // As those of Worker.
  void handle(std::string_view kind, Worker::Handler handler);
  void handle_others(Worker::Handler handler);
  void on_late(Worker::OnLate late);
  void start();
  bool stop(std::chrono::milliseconds patience);
  [[nodiscard]] std::string const& name() const noexcept { return worker_->plan().worker; }

  /// From now on claims are lost when `gone` fires, and handlers asked to stop when `closing` does.
  void heed(std::stop_token const& gone, std::stop_token const& closing);

 private:
  using Handlers = std::map<std::string, Worker::Handler, std::less<>>;
  using Reaction = std::stop_callback<std::function<void()>>;
  /// What runners have of it, for they may outlive it.
  struct Shop;

  static void work(std::shared_ptr<Core> const& core, Shop const& shop);
  static TaskEnd attempt(std::shared_ptr<Core> const& core, Shop const& shop,
                         std::shared_ptr<HeldTask> held);
  static TaskEnd failure(Shop const& shop, std::shared_ptr<HeldTask> held, std::string_view error);
  void check_not_started(std::string_view what) const;
  [[nodiscard]] bool start_runner();
  void tell(LateFinish const& late);
  asio::awaitable<bool> stop_in_turn(Nanos patience);
  asio::awaitable<bool> close_after(Nanos patience);
  /// Runs it where the worker's loop runs, and waits for its end.
  bool at_work(asio::awaitable<bool> work);
  void at_work(std::function<void()> const& work);

  std::shared_ptr<Core> core_;
  Env& env_;
  Retries const retries_;
  Home* const home_;
  std::unique_ptr<Crew> crew_;
  std::shared_ptr<CallGate> gate_ = std::make_shared<CallGate>();
  Turns stop_turns_;  ///< one at a time stops

  // Where the worker's loop runs only:
  bool started_ = false;
  Handlers handlers_;
  Worker::Handler others_;
  Worker::OnLate late_;
  std::shared_ptr<Shop const> shop_;  ///< of the present start
  std::shared_ptr<void> attention_;   ///< while we work: a signal is heard at once

  std::unique_ptr<TaskWorker> worker_;
  std::optional<Reaction> gone_;
  std::optional<Reaction> closing_;
};

}  // namespace holt::client
