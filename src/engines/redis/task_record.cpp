// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/task_record.hpp"

#include "engines/redis/errors.hpp"
#include "engines/redis/lease_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace holt::redis {
namespace {

using std::chrono::milliseconds;
using WallTime = std::chrono::system_clock::time_point;

[[noreturn]] void not_a_record() { not_ours("read", "a task"); }

/// Takes fields, divided by single blanks, and then texts of known lengths off a text.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  std::string_view word() {
    auto const end = std::min(rest_.find_first_of(" \n"), rest_.size());
    auto const found = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return found;
  }
  std::uint64_t number() { return number_in(word()); }
  char letter() {
    auto const found = word();
    if (found.size() != 1) not_a_record();
    return found.front();
  }
  std::string_view text(std::uint64_t size) {
    if (size > rest_.size()) not_a_record();
    auto const found = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return found;
  }
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// A record, taken apart. The texts are parts of it.
struct Record {
  bool aside = false;
  std::uint32_t attempt = 0;
  std::uint32_t returns = 0;
  Fence fence;
  std::uint32_t max_attempts = 0;
  milliseconds timeout{};
  std::uint64_t added_ms = 0;
  std::int32_t priority = 0;
  std::string_view kind;
  std::string_view unique;
  std::string_view metadata;
  std::string_view payload;
};

std::uint32_t small(std::uint64_t number) { return static_cast<std::uint32_t>(number); }
WallTime wall(std::uint64_t ms) { return WallTime(milliseconds(static_cast<std::int64_t>(ms))); }

Record parse_task(std::string_view text) {
  Fields fields(text);
  Record record;
  fields.letter();
  auto const payload = fields.number();
  record.aside = fields.letter() == 's';
  record.attempt = small(fields.number());
  record.returns = small(fields.number());
  fields.letter();
  record.fence = Fence(fields.number());
  record.max_attempts = small(fields.number());
  record.timeout = milliseconds(static_cast<std::int64_t>(fields.number()));
  fields.number();  // how long it is kept
  record.added_ms = fields.number();
  record.priority = static_cast<std::int32_t>(fields.number()) + 1;
  fields.letter();
  auto const kind = fields.number();
  auto const unique = fields.number();
  auto const tell = fields.number();
  auto const metadata = fields.number();
  record.kind = fields.text(kind);
  record.unique = fields.text(unique);
  fields.text(tell);
  record.metadata = fields.text(metadata);
  if (!record.aside && fields.rest().size() == payload) record.payload = fields.rest();
  return record;
}

std::vector<Attempt> attempts_in(std::string_view text) {
  std::vector<Attempt> attempts;
  for (Fields fields(text); !fields.empty();) {
    Attempt attempt;
    attempt.number = small(fields.number());
    attempt.fence = Fence(fields.number());
    attempt.claimed_at = wall(fields.number());
    attempt.ended_at = wall(fields.number());
    auto const worker = fields.number();
    auto const error = fields.number();
    attempt.worker = fields.text(worker);
    attempt.error = fields.text(error);
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

/// Ended: "+state attempts fence ended_ms until_ms".
void show_end(TaskInfo& info, std::string_view stamp) {
  Fields fields(stamp.substr(1));
  auto const state = fields.letter();
  info.state = state == 'c'   ? TaskState::completed
               : state == 'd' ? TaskState::dead
                              : TaskState::cancelled;
  info.attempt += small(fields.number());
  info.fence = Fence(fields.number());
  info.ended_at = wall(fields.number());
}

/// Running: the row of its claim, and in how many ms that ends.
void show_claim(TaskInfo& info, std::string_view row, std::int64_t left) {
  info.state = TaskState::running;
  ++info.attempt;
  info.expires_in = milliseconds(std::max<std::int64_t>(left, 0));
  if (row.empty()) return;
  Fields fields(row);
  info.fence = Fence(fields.number());
  for (auto const* skipped : {"made", "left", "since", "answered"}) {
    static_cast<void>(skipped);
    fields.word();
  }
  info.worker = fields.text(fields.number());
}

}  // namespace

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  auto const* const begin = text.data();
  auto const* const end = begin + text.size();
  auto const [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end) not_a_record();
  return value;
}

char unique_letter(NewTask const& task) {
  if (task.unique.empty()) return '-';
  return task.unique_while == Unique::waiting      ? 'w'
         : task.unique_while == Unique::unfinished ? 'u'
                                                   : 'p';
}

bool packable(NewTask const& task) {
  return task.payload.size() <= payload_in_pack && task.metadata.empty() && task.unique.empty() &&
         task.tell.empty() && task.delay == Nanos(0) && task.keep == NewTask::usual_keep &&
         task.not_before == WallTime();
}

bool same_pack(NewTask const& a, NewTask const& b) {
  return a.priority == b.priority && a.max_attempts == b.max_attempts && a.timeout == b.timeout &&
         a.kind == b.kind;
}

std::string pack_head(NewTask const& task, std::int64_t wall_ms) {
  return fmt::format("{} {} {} {} {}\n{}", task.max_attempts, script_ms(task.timeout), wall_ms,
                     task.priority - 1, task.kind.size(), task.kind);
}

std::string record_of(NewTask const& task, std::int64_t wall_ms) {
  bool const aside = task.payload.size() > payload_in_record;
  bool const plain =
      !aside && task.unique.empty() && task.tell.empty() && task.keep == NewTask::usual_keep;
  std::string record;
  record.reserve(80 + task.kind.size() + task.metadata.size() + task.payload.size());
  fmt::format_to(std::back_inserter(record), "{} {} {} 0 0 - 0 {} {} {} {} {} {} {} {} {} {}\n",
                 plain ? '.' : '*', task.payload.size(), aside ? 's' : 'i', task.max_attempts,
                 script_ms(task.timeout), script_ms(task.keep), wall_ms, task.priority - 1,
                 unique_letter(task), task.kind.size(), task.unique.size(), task.tell.size(),
                 task.metadata.size());
  record.append(task.kind).append(task.unique).append(task.tell).append(task.metadata);
  if (!aside) record.append(task.payload);
  return record;
}

Task task_of(TaskId id, std::string_view record, std::string_view large) {
  auto const stored = parse_task(record);
  Task task;
  task.id = std::move(id);
  task.kind = stored.kind;
  task.payload = stored.aside ? large : stored.payload;
  task.metadata = stored.metadata;
  task.priority = stored.priority;
  task.attempt = stored.attempt + 1;
  task.max_attempts = stored.max_attempts;
  task.timeout = stored.timeout;
  return task;
}

void add_tasks_of(std::string const& queue, std::uint64_t first, std::string_view pack,
                  std::vector<Task>& tasks) {
  Fields fields(pack.substr(1));
  auto const count = fields.number();
  fields.number();  // the fence of the claim that they were given back from
  auto const max_attempts = small(fields.number());
  auto const timeout = milliseconds(static_cast<std::int64_t>(fields.number()));
  fields.number();  // when they were added
  auto const priority = static_cast<std::int32_t>(fields.number()) + 1;
  auto const kind = fields.text(fields.number());
  auto const lengths = fields.text(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto& task = tasks.emplace_back();
    task.id = TaskId(queue, first + i);
    task.kind = kind;
    task.payload = fields.text(static_cast<unsigned char>(lengths[i]));
    task.priority = priority;
    task.attempt = 1;
    task.max_attempts = max_attempts;
    task.timeout = timeout;
  }
}

TaskInfo info_of(std::string const& queue, ReplyView const& seen) {
  auto const stored = parse_task(seen[1].text());
  TaskInfo info;
  info.id = TaskId(queue, number_in(seen[0].text()));
  info.kind = stored.kind;
  info.metadata = stored.metadata;
  info.priority = stored.priority;
  info.attempt = stored.attempt;
  info.max_attempts = stored.max_attempts;
  info.returns = stored.returns;
  info.timeout = stored.timeout;
  info.unique = stored.unique;
  info.added_at = wall(stored.added_ms);
  info.fence = stored.fence;
  info.progress = seen[6].text();
  auto const where = seen[2].text();
  auto const waits_for = seen[3].integer();
  if (where.starts_with('+')) {
    show_end(info, where);
  } else if (!where.empty()) {
    show_claim(info, seen[4].text(), seen[5].integer());
    info.cancel_asked = where.ends_with('!');
  } else if (waits_for > 0) {
    bool const tried = info.attempt > 0 || info.returns > 0;
    info.state = tried ? TaskState::retrying : TaskState::scheduled;
    info.run_at = wall(static_cast<std::uint64_t>(waits_for));
  }
  bool const whole = seen.size() > 7;
  if (!whole) return info;
  bool const keeps_payload =
      info.state != TaskState::completed && info.state != TaskState::cancelled;
  if (keeps_payload) info.payload = stored.aside ? seen[7].text() : stored.payload;
  info.errors = attempts_in(seen[8].text());
  info.result = seen[9].text();
  return info;
}

}  // namespace holt::redis
