// SPDX-License-Identifier: Apache-2.0
#pragma once
// Doer: a worker of a queue in a process of its own. What its handler does is in the payload of the
// task, and every run of it is noted in a ledger (work_ledger.hpp):
//   (empty)      returns at once
//   nap MS       takes so long, or until it is asked to stop
//   stay         until it is asked to stop; then it completes its task all the same
//   crash FILE   kills its process, if FILE is not there yet, and makes it
//   die          kills its process
//   chain N      adds a task of its own client, "chain N-1", unless N is 0
// The result of a task is the fence that completed it.

#include "process/work_ledger.hpp"

#include <holt/holt.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace holt::test {

class Doer {
 public:
  struct Plan {
    std::string queue;
    std::chrono::milliseconds ttl{1'000};
    std::uint32_t concurrency = 4;
    std::uint32_t prefetch = 1'000;
    std::string ledger;
    std::string who;  ///< no spaces; another one in each process
  };
  static constexpr auto kind = "job";

  /// Works at once.
  Doer(Holt& holt, Plan const& plan);
  Doer(Doer const&) = delete;
  Doer& operator=(Doer const&) = delete;

  /// Whether it went in good order, which is noted then.
  bool stop(std::chrono::milliseconds patience);

 private:
  void act(Job& job);
  void add_next(Job const& job, int number);

  WorkLedger ledger_;
  Queue queue_;
  Worker worker_;
};

}  // namespace holt::test
