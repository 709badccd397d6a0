// SPDX-License-Identifier: Apache-2.0
#pragma once
// WorkLedger: files in which workers of a queue, in any number of processes, note every run of a
// handler (an overlap log: start, end, fence, who), every end that was refused, and that they went
// in good order. WorkBook reads them and says whether that fits what the store says of the tasks.
//
// A run that ended counts unless it was refused or its process died before it could hand it in. So
// of each task one at the most counts, and it is the one whose fence the store has.

#include "support/overlap_log.hpp"

#include <holt/queue.hpp>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holt::test {

class WorkLedger {
 public:
  /// `who` has no spaces; another one in each process.
  WorkLedger(std::string const& file, std::string who);

  /// A handler has started.
  [[nodiscard]] OverlapLog::Tenure started(Job const& job) {
    return runs_.enter(job.task().id.text(), job.fence(), who_, job.deadline());
  }
  void refused(LateFinish const& late);
  /// The worker was stopped in good order: what it did not hand in it gave back.
  void left();

 private:
  void note(std::string const& line) const;

  std::string const who_;
  std::string const notes_;
  OverlapLog runs_;
};

class WorkBook {
 public:
  explicit WorkBook(std::string const& file);

  /// How often a handler was started.
  [[nodiscard]] std::size_t starts() const { return starts_; }
  [[nodiscard]] std::size_t refusals() const { return refused_.size(); }
  /// What does not fit, in words. `done`: the tasks that are completed, and by which fence.
  [[nodiscard]] std::vector<std::string> mistakes(std::map<TaskId, Fence> const& done) const;

 private:
  using Run = std::pair<std::string, std::uint64_t>;  ///< a task's text, a fence
  void read_runs();
  void read_notes();

  std::string const file_;
  std::size_t starts_ = 0;
  std::map<Run, std::string> ended_;  ///< who
  std::set<Run> refused_;
  std::set<std::string> left_;
};

}  // namespace holt::test
