// SPDX-License-Identifier: Apache-2.0
#pragma once
// Crew: threads for users' code that may block for as long as it likes: the handlers of tasks. They
// start when there is something to run, leave after ten idle seconds, and belong to nobody: one
// that never ends harms only itself, and one may drop the last handle of its client.

#include <cstddef>
#include <functional>
#include <memory>

namespace holt {

class Crew {
 public:
  using Task = std::move_only_function<void()>;

  /// At most so many threads at a time.
  explicit Crew(std::size_t most);
  /// What is queued still runs.
  ~Crew();
  Crew(Crew const&) = delete;
  Crew& operator=(Crew const&) = delete;

  /// Queues a task, which must not throw. False: there is no thread for it, and it will not run.
  /// Any thread.
  [[nodiscard]] bool run(Task task);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt
