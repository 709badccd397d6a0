// SPDX-License-Identifier: Apache-2.0
#pragma once
// WorkerThread: how the library starts a thread. All signals are blocked in it, so that a user's
// handlers run on the user's threads only; it is joined when the object goes.

#include <functional>
#include <thread>

namespace holt {

class WorkerThread {
 public:
  /// Starts `body` under a literal name of at most 15 bytes that debuggers show.
  WorkerThread(char const* name, std::function<void()> body);
  /// Joins. Not from the thread itself.
  ~WorkerThread();
  WorkerThread(WorkerThread const&) = delete;
  WorkerThread& operator=(WorkerThread const&) = delete;

  /// Starts a thread that nobody joins: `body` must own all it touches.
  static void start_unowned(char const* name, std::function<void()> body);

 private:
  std::thread thread_;
};

}  // namespace holt
