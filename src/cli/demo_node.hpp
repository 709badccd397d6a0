// SPDX-License-Identifier: Apache-2.0
#pragma once
// A node of the polling of `holt demo`: polls what it has, with threads as a program would, and
// tells the stage when each poll begins and ends.

#include <holt/open.hpp>
#include <holt/polling.hpp>

#include <string_view>
#include <thread>
#include <vector>

namespace holt::cli {

class DemoNode {
 public:
  DemoNode(Holt& holt, std::string_view name);
  /// Leaves; all polls have ended then, and the stage was told.
  ~DemoNode();
  DemoNode(DemoNode const&) = delete;
  DemoNode& operator=(DemoNode const&) = delete;

 private:
  void poll_in_turn();

  Polling polling_;
  std::vector<std::jthread> threads_;  // end before it does
};

}  // namespace holt::cli
