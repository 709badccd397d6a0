// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/task_exchange.hpp"

#include "engines/redis/errors.hpp"
#include "engines/redis/lease_steps.hpp"
#include "engines/redis/task_record.hpp"
#include "redis_scripts.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::size_t fixed_words = 10;

std::string_view letter_of(TaskOutcome outcome) {
  switch (outcome) {
    case TaskOutcome::completed:
      return "c";
    case TaskOutcome::failed:
      return "f";
    case TaskOutcome::rejected:
      return "r";
    case TaskOutcome::again:
      return "a";
    case TaskOutcome::untouched:
      break;
  }
  return "u";
}

std::expected<TaskState, Lost> finish_of(char letter) {
  switch (letter) {
    case 'c':
      return TaskState::completed;
    case 'p':
      return TaskState::pending;
    case 'r':
      return TaskState::retrying;
    case 'd':
      return TaskState::dead;
    case 'x':
      return TaskState::cancelled;
    default:
      return std::unexpected(Lost{LossReason::taken, {}});
  }
}

/// "number" or "number=count".
struct ClaimedPart {
  std::uint64_t number = 0;
  bool pack = false;
};

/// Divided by blanks.
std::vector<ClaimedPart> parts_in(std::string_view text) {
  std::vector<ClaimedPart> parts;
  while (!text.empty()) {
    auto const end = std::min(text.find(' '), text.size());
    auto const part = text.substr(0, end);
    auto const digits = std::min(part.find('='), part.size());
    parts.push_back({number_in(part.substr(0, digits)), digits < part.size()});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

TaskExchange::TaskExchange(ClaimRequest const& request) : request_(request) {
  for (std::size_t i = 0; i < request.finishes.size(); ++i) {
    auto const& finish = request.finishes[i];
    auto& group = group_of(finish);
    if (finish.outcome == TaskOutcome::completed && finish.text.empty()) {
      group.plain.push_back(i);
    } else if (finish.outcome == TaskOutcome::untouched) {
      group.untouched.push_back(i);
    } else {
      group.others.push_back(i);
    }
  }
  auto const number = [&](std::size_t i) { return request.finishes[i].task.number(); };
  for (auto& group : groups_) {
    std::ranges::sort(group.plain, {}, number);
    std::ranges::sort(group.untouched, {}, number);
  }
}

TaskExchange::Group& TaskExchange::group_of(TaskFinish const& finish) {
  // Mostly the last one; a worker has few claims at a time.
  auto const found = std::find_if(groups_.rbegin(), groups_.rend(), [&](Group const& group) {
    return group.first->fence == finish.fence && group.first->owner == finish.owner;
  });
  if (found != groups_.rend()) return *found;
  return groups_.emplace_back(&finish);
}

std::size_t TaskExchange::words() const {
  std::size_t count = fixed_words + 3 + request_.kinds.size() + request_.give_back.size();
  for (auto const& group : groups_) count += 5 + 4 * group.others.size();
  return count;
}

/// "number", or "number+count" for those that follow each other.
std::string TaskExchange::ranges_of(Which const& which) const {
  std::string text;
  for (std::size_t i = 0; i < which.size();) {
    auto const first = request_.finishes[which[i]].task.number();
    std::size_t count = 1;
    while (i + count < which.size() &&
           request_.finishes[which[i + count]].task.number() == first + count) {
      ++count;
    }
    text.append(Digits(first));
    if (count > 1) text.append("+").append(Digits(count));
    text.push_back(' ');
    i += count;
  }
  return text;
}

void TaskExchange::add_group(Group const& group, ScriptCall& call) const {
  call.add(group.first->owner.text()).add(group.first->fence.value());
  call.add(ranges_of(group.plain)).add(ranges_of(group.untouched));
  call.add(group.others.size());
  for (auto const i : group.others) {
    auto const& finish = request_.finishes[i];
    call.add(finish.task.number()).add(letter_of(finish.outcome));
    call.add(script_ms(finish.delay)).add(finish.text);
  }
}

ScriptCall TaskExchange::call(QueueCalls const& calls, std::string_view identity) const {
  ScriptCall call(scripts::task_exchange, QueueCalls::all_keys, words());
  calls.add_keys(request_.queue, QueueCalls::all_keys, call);
  call.add(calls.inbox_channel()).add(request_.queue).add(identity).add(request_.owner.text());
  call.add(request_.want).add(script_ms(request_.ttl)).add(request_.max_bytes);
  call.add(script_ms(request_.idle_for)).add(request_.answered.text()).add(request_.worker);
  call.add(request_.kinds.size());
  for (auto const& kind : request_.kinds) call.add(kind);
  call.add(request_.give_back.size());
  for (auto const& owner : request_.give_back) call.add(owner.text());
  call.add(groups_.size());
  for (auto const& group : groups_) add_group(group, call);
  return call;
}

/// The script answers claim by claim.
void TaskExchange::tell_finishes(std::string_view letters, Claimed& claimed) const {
  claimed.finishes.assign(request_.finishes.size(), finish_of('L'));
  std::size_t at = 0;
  for (auto const& group : groups_) {
    for (auto const* const part : {&group.plain, &group.untouched, &group.others}) {
      for (auto const i : *part) {
        if (at < letters.size()) claimed.finishes[i] = finish_of(letters[at]);
        ++at;
      }
    }
  }
}

Claimed TaskExchange::claimed(ReplyView const& answer) const {
  Claimed claimed;
  tell_finishes(answer[1].text(), claimed);
  auto const parts = parts_in(answer[4].text());
  auto const records = answer[5];
  auto const large = answer[6];
  if (parts.size() != records.size()) not_ours(scripts::task_exchange.name, request_.queue);
  std::map<std::size_t, std::string_view> payloads;
  for (std::size_t i = 0; i + 1 < large.size(); i += 2) {
    payloads[static_cast<std::size_t>(large[i].integer())] = large[i + 1].text();
  }
  claimed.tasks.reserve(request_.want);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto const record = records[i].text();
    if (parts[i].pack) {
      add_tasks_of(request_.queue, parts[i].number, record, claimed.tasks);
      continue;
    }
    auto const found = payloads.find(i + 1);
    auto const payload = found == payloads.end() ? std::string_view() : found->second;
    claimed.tasks.push_back(task_of(TaskId(request_.queue, parts[i].number), record, payload));
  }
  claimed.fence = Fence(number_in(answer[0].text()));
  if (claimed.tasks.size() < request_.want) {
    claimed.ask_again = std::chrono::milliseconds(answer[2].integer());
  }
  claimed.others_idle = answer[3].integer() != 0;
  return claimed;
}

}  // namespace holt::redis
