// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_take.hpp"

#include "sqlite_sql.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace holt::sqlite {
namespace {

constexpr std::size_t most_due = 1000;  // of one step

struct Candidate {
  std::int64_t priority = 0;
  std::int64_t number = 0;
  std::int64_t lane = 0;
  std::string packed;

  [[nodiscard]] auto rank() const { return std::pair(priority, number); }
};

bool is_before(Candidate const& one, Candidate const& other) { return one.rank() < other.rank(); }

/// Moves tasks of a lane whose time has come to where they are claimed. Answers how many.
std::size_t bring_forward(TaskRows& rows, std::int64_t lane, std::size_t most) {
  std::vector<std::string> due;
  std::pair<std::int64_t, std::int64_t> last;
  {
    Query row(rows.store(), sql::task_wait_due, lane, rows.wall_ms(), most);
    while (row.next()) {
      last = {row.integer(0), row.integer(1)};
      due.emplace_back(row.text(2));
    }
  }
  if (due.empty()) return 0;
  Query(rows.store(), sql::task_wait_cut, lane, last.first, last.second).run();
  for (auto const& packed : due) rows.put_ready(TaskRecord::unpack(packed), packed);
  return due.size();
}

/// The first `most` of all lanes. Each lane is in order, so it is read only as far as it can still
/// have one of them.
std::vector<Candidate> first_of(TaskRows& rows, std::vector<Lane> const& lanes, std::size_t most) {
  std::vector<Candidate> first;
  for (auto const& lane : lanes) {
    bool const full = first.size() == most;
    std::pair<std::int64_t, std::int64_t> const last =
        full ? first.back().rank() : std::pair<std::int64_t, std::int64_t>();
    Query row(rows.store(), sql::task_ready_head, lane.id);
    for (std::size_t i = 0; i < most && row.next(); ++i) {
      std::pair const rank(row.integer(0), row.integer(1));
      if (full && rank > last) break;
      first.push_back({rank.first, rank.second, lane.id, std::string(row.text(2))});
    }
    std::ranges::sort(first, is_before);
    if (first.size() > most) first.resize(most);
  }
  return first;
}

/// How many of them make one claim.
std::size_t fitting(std::vector<Candidate> const& first, ClaimRequest const& request) {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (auto const& one : first) {
    auto const [suspect, size] = size_of(one.packed);
    if (count == request.want) break;
    if (count > 0 && (suspect || size > request.max_bytes - std::min(bytes, request.max_bytes))) {
      break;
    }
    ++count;
    bytes += size;
    if (suspect) break;
  }
  return count;
}

/// What is taken is the head of each of its lanes.
void cut(TaskRows& rows, std::vector<Candidate> const& taken) {
  std::map<std::int64_t, Candidate const*> last;
  for (auto const& one : taken) last[one.lane] = &one;
  for (auto const& [lane, one] : last) {
    Query(rows.store(), sql::task_ready_cut, lane, one->priority, one->number).run();
  }
}

}  // namespace

TakenTasks take_tasks(TaskRows& rows, std::vector<Lane> const& lanes, ClaimRequest const& request) {
  TakenTasks taken;
  if (request.want == 0) return taken;
  auto most = most_due;
  for (auto const& lane : lanes) {
    if (most > 0) most -= bring_forward(rows, lane.id, most);
  }
  auto first = first_of(rows, lanes, request.want + std::size_t{1});
  auto const count = fitting(first, request);
  taken.more = first.size() > count || most == 0;
  first.resize(count);
  cut(rows, first);
  for (auto& one : first) {
    auto& record = taken.records.emplace_back(TaskRecord::unpack(one.packed));
    taken.packed.push_back(std::move(one.packed));
    if (record.unique.empty() || record.unique_while != Unique::waiting) continue;
    rows.drop_key(record.unique, record.number);
  }
  return taken;
}

std::int64_t next_due_in_ms(TaskRows& rows, std::vector<Lane> const& lanes) {
  std::int64_t next = -1;
  for (auto const& lane : lanes) {
    Query row(rows.store(), sql::task_wait_next, lane.id);
    if (!row.next() || row.null(0)) continue;
    auto const in = std::max<std::int64_t>(row.integer(0) - rows.wall_ms(), 0);
    next = next < 0 ? in : std::min(next, in);
  }
  return next;
}

}  // namespace holt::sqlite
