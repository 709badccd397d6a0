// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_wake.hpp"

#include "sqlite_sql.hpp"

#include <algorithm>
#include <utility>

namespace holt::sqlite {
namespace {

bool is_among(std::string const& kind, std::vector<std::string> const& kinds) {
  return kinds.empty() || std::ranges::find(kinds, kind) != kinds.end();
}

}  // namespace

TaskWaker::TaskWaker(TaskRows& rows, std::string_view self) : rows_(rows), self_(self) {
  Query row(rows.store(), sql::task_idle_list, rows.queue(), rows.now_ns());
  while (row.next()) {
    Mark mark{std::string(row.text(0)), static_cast<std::uint64_t>(row.integer(1)),
              split(row.text(2))};
    (mark.inbox == self ? own_ : marks_).push_back(std::move(mark));
  }
}

bool TaskWaker::others_idle(std::vector<std::string> const& kinds) const {
  return std::ranges::any_of(marks_, [&](Mark const& mark) {
    return kinds.empty() || mark.kinds.empty() ||
           std::ranges::any_of(mark.kinds, [&](auto const& kind) { return is_among(kind, kinds); });
  });
}

/// Takes from the work what the mark wants, and answers how much.
std::uint64_t TaskWaker::fill(Mark const& mark, std::map<std::string, std::uint64_t>& work) {
  std::uint64_t taken = 0;
  for (auto& [kind, count] : work) {
    if (!is_among(kind, mark.kinds)) continue;
    auto const some = std::min(count, mark.want - taken);
    count -= some;
    taken += some;
  }
  return taken;
}

std::vector<std::string> TaskWaker::wake(std::map<std::string, std::uint64_t> work) {
  std::vector<std::string> woken;
  std::erase_if(marks_, [&](Mark const& mark) {
    if (fill(mark, work) == 0) return false;
    drop(mark.inbox, mark.kinds);
    woken.push_back(mark.inbox);
    return true;
  });
  return woken;
}

void TaskWaker::mark(std::vector<std::string> const& kinds, std::uint64_t want,
                     std::int64_t until_ns) {
  Query(rows_.store(), sql::task_idle_sweep, rows_.queue(), rows_.now_ns()).run();
  auto const packed = join(kinds);
  Query(rows_.store(), sql::task_idle_put, rows_.queue(), self_, until_ns, want, Blob{packed})
      .run();
}

void TaskWaker::unmark(std::vector<std::string> const& kinds) {
  if (std::ranges::find(own_, kinds, &Mark::kinds) != own_.end()) drop(self_, kinds);
}

void TaskWaker::drop(std::string const& inbox, std::vector<std::string> const& kinds) {
  auto const packed = join(kinds);
  Query(rows_.store(), sql::task_idle_drop, rows_.queue(), inbox, Blob{packed}).run();
}

}  // namespace holt::sqlite
