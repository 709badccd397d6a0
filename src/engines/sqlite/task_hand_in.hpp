// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskHandIn: the first half of an exchange. Tasks leave claims: handed in or given back by who has
// them, or taken back because the claim has ended.

#include "contracts/task_store.hpp"
#include "engines/sqlite/task_rows.hpp"
#include "engines/sqlite/task_settle.hpp"

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace holt::sqlite {

class TaskHandIn {
 public:
  TaskHandIn(TaskRows& rows, TaskSettler& settler) : rows_(rows), settler_(settler) {}

  /// Each for itself: what became of the task, or that it was not in this claim.
  std::expected<TaskState, Lost> hand_in(TaskFinish const& finish);
  /// All that is left of a claim.
  void give_back(Owner const& owner);
  /// Stores what is left of the claims; the answer of `answered` need not be kept any more.
  void store(Owner const& answered);

  /// Takes back what has ended, so much as one step may. True: there is more.
  bool take_back();

 private:
  struct OpenClaim {
    ClaimRow row;
    std::unordered_map<std::uint64_t, std::size_t> places;  ///< of tasks, by number
    std::size_t gone = 0;
  };

  OpenClaim* open(Owner const& owner);
  void store(OpenClaim& claim);

  TaskRows& rows_;
  TaskSettler& settler_;
  std::map<std::string, OpenClaim> claims_;
};

}  // namespace holt::sqlite
