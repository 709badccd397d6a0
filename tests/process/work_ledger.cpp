// SPDX-License-Identifier: Apache-2.0
#include "process/work_ledger.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

namespace holt::test {
namespace {
std::string notes_of(std::string const& file) { return file + ".notes"; }
}  // namespace

WorkLedger::WorkLedger(std::string const& file, std::string who)
    : who_(std::move(who)), notes_(notes_of(file)), runs_(file) {}

void WorkLedger::refused(LateFinish const& late) {
  note("refused " + late.id.text() + " " + late.fence.decimal() + "\n");
}

void WorkLedger::left() { note("left " + who_ + "\n"); }

void WorkLedger::note(std::string const& line) const {
  // One write on a file opened for appending: lines of several processes do not mix.
  int const file = ::open(notes_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  auto const written = ::write(file, line.data(), line.size());
  ::close(file);
  if (written != static_cast<ssize_t>(line.size())) {
    throw std::system_error(errno, std::generic_category(), "cannot write " + notes_);
  }
}

WorkBook::WorkBook(std::string const& file) : file_(file) {
  read_runs();
  read_notes();
}

void WorkBook::read_runs() {
  std::ifstream file(file_);
  std::string line;
  std::string what;
  std::string task;
  std::uint64_t fence = 0;
  std::string who;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    words >> what >> task >> fence >> who;
    if (what == "enter") ++starts_;
    if (what == "leave") ended_[{task, fence}] = who;
  }
}

void WorkBook::read_notes() {
  std::ifstream file(notes_of(file_));
  std::string what;
  std::string which;
  std::uint64_t fence = 0;
  while (file >> what >> which) {
    if (what == "left") left_.insert(which);
    if (what == "refused" && file >> fence) refused_.emplace(which, fence);
  }
}

std::vector<std::string> WorkBook::mistakes(std::map<TaskId, Fence> const& done) const {
  auto found = overlaps_in(file_);
  std::map<std::string, std::uint64_t> completed;
  for (auto const& [id, fence] : done) {
    Run const run(id.text(), fence.value());
    completed.insert(run);
    if (!ended_.contains(run)) found.push_back(id.text() + " is completed, but by no handler");
    if (refused_.contains(run)) found.push_back(id.text() + " is completed by a refused end");
  }
  for (auto const& [run, who] : ended_) {
    auto const by = completed.find(run.first);
    bool const counts = by != completed.end() && by->second == run.second;
    if (counts || refused_.contains(run) || !left_.contains(who)) continue;
    found.push_back(run.first + " was handed in by " + who + " with fence " +
                    std::to_string(run.second) + ", which nobody refused and the store lost");
  }
  return found;
}

}  // namespace holt::test
