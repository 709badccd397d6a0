// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskCrew: so many workers (doer.hpp), each in a process of its own, from a process that does
// nothing but to replace those that die: starting one is a fork, cheap enough for a thousand of
// them.

#include "process/doer.hpp"
#include "support/other_process.hpp"

#include <string>

namespace holt::test {

class TaskCrew {
 public:
  /// `plan.who` is what the names of all begin with.
  TaskCrew(std::string const& url, Doer::Plan const& plan, int workers);

  /// Waits until all have stopped in good order: whether they have.
  bool stop();

 private:
  OtherProcess process_;
};

}  // namespace holt::test
