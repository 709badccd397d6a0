// SPDX-License-Identifier: Apache-2.0
#pragma once
// UserThread: where the user's callbacks run, in order. One that is still busy after 100 ms is
// left to itself and a fresh thread takes over, so that no callback can delay another's loss.
// Threads start when there is something to run and belong to nobody: a callback that never ends
// harms only itself, and a callback may drop the last handle of the client it belongs to.

#include <chrono>
#include <functional>
#include <memory>

namespace holt {

class UserThread {
 public:
  using Task = std::move_only_function<void()>;
  static constexpr std::chrono::milliseconds patience{100};

  UserThread();
  /// What is queued still runs.
  ~UserThread();

  /// Queues a task; what it throws is ignored. Answers true when others are before it:
  /// then call relieve() after `patience`. Any thread.
  bool run(Task task);

  /// Starts a fresh thread if tasks wait behind one that has been busy for too long. Any thread.
  void relieve();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt
