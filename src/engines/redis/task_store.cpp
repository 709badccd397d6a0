// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/task_store.hpp"

#include "contracts/task_rules.hpp"
#include "engines/redis/lease_steps.hpp"
#include "engines/redis/task_exchange.hpp"
#include "engines/redis/task_record.hpp"
#include "engines/redis/together.hpp"
#include "redis_scripts.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::size_t renewals_per_call = 64;  // so that no call keeps the server for long

std::vector<TaskId> ids_in(std::string const& queue, std::string_view text) {
  std::vector<TaskId> ids;
  while (!text.empty()) {
    auto const end = std::min(text.find(' '), text.size());
    ids.emplace_back(queue, number_in(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ids;
}

std::expected<RenewedClaim, Lost> renewal_of(std::string const& queue, ReplyView const& answer) {
  if (!answer.is_array()) {
    bool const ended = answer.integer() == 2;
    return std::unexpected(Lost{ended ? LossReason::expired : LossReason::taken, {}});
  }
  return RenewedClaim{ids_in(queue, answer[0].text()), ids_in(queue, answer[1].text())};
}

/// By queue, and at most so many in each.
std::vector<Chunk> by_queue(std::vector<ClaimRenewal> const& renewals) {
  std::vector<Chunk> chunks;
  std::map<std::string_view, std::size_t> filling;
  for (std::size_t i = 0; i < renewals.size(); ++i) {
    auto const [place, is_new] = filling.try_emplace(renewals[i].queue, chunks.size());
    if (!is_new && chunks[place->second].size() == renewals_per_call) place->second = chunks.size();
    if (place->second == chunks.size()) chunks.emplace_back();
    chunks[place->second].push_back(i);
  }
  return chunks;
}

ScriptCall renew_call(QueueCalls const& calls, std::vector<ClaimRenewal> const& renewals,
                      Chunk const& which) {
  std::size_t words = 0;
  for (auto const i : which) words += 4 + 2 * renewals[i].progress.size();
  ScriptCall call(scripts::task_renew, QueueCalls::all_keys, words);
  calls.add_keys(renewals[which.front()].queue, QueueCalls::all_keys, call);
  for (auto const i : which) {
    auto const& renewal = renewals[i];
    call.add(renewal.owner.text()).add(renewal.fence.value()).add(script_ms(renewal.ttl));
    call.add(renewal.progress.size());
    for (auto const& note : renewal.progress) call.add(note.task.number()).add(note.text);
  }
  return call;
}

}  // namespace

asio::awaitable<std::vector<Added>> RedisTaskStore::add(AddRequest request, Instant deadline) {
  return adds_.add(std::move(request), deadline);
}

asio::awaitable<Claimed> RedisTaskStore::claim(ClaimRequest request, Instant deadline) {
  check_claim(request);
  // Who is idle must be reachable, or it would not hear of what is added meanwhile.
  bool const idles = request.want > 0 && request.idle_for > Nanos(0);
  if (idles && request.owner.inbox() == signals_.inbox()) co_await signals_.reachable(deadline);
  TaskExchange const exchange(request);
  std::string const identity =
      co_await calls_.identity(request.queue, scripts::task_exchange.name, deadline);
  ScriptCall const call = exchange.call(calls_, identity);
  Reply const reply = co_await calls_.write(request.queue, call, drawing, deadline);
  co_return exchange.claimed(*reply);
}

asio::awaitable<void> RedisTaskStore::renew_some(std::vector<ClaimRenewal> const& renewals,
                                                 Chunk const& which, Renewed& renewed,
                                                 Instant deadline) {
  ScriptCall const call = renew_call(calls_, renewals, which);
  try {
    Reply const reply = co_await calls_.send(call, writing, deadline);
    for (std::size_t i = 0; i < which.size(); ++i) {
      renewed.answers[which[i]] = renewal_of(renewals[which[i]].queue, (*reply)[i]);
    }
  } catch (EngineError const& error) {
    bool const worse = !renewed.failure || error.outcome() == Outcome::unknown;
    if (worse) renewed.failure = error;
  }
}

asio::awaitable<std::vector<std::expected<RenewedClaim, Lost>>> RedisTaskStore::renew(
    std::vector<ClaimRenewal> renewals, Instant deadline) {
  check_renewals(renewals);
  Renewed renewed;
  renewed.answers.resize(renewals.size());
  std::vector<Chunk> const chunks = by_queue(renewals);
  std::vector<asio::awaitable<void>> calls;
  calls.reserve(chunks.size());
  for (auto const& chunk : chunks) calls.push_back(renew_some(renewals, chunk, renewed, deadline));
  co_await together(std::move(calls));
  bool const some = std::ranges::any_of(renewed.answers, [](auto const& each) { return !!each; });
  if (renewed.failure && !some) throw *renewed.failure;
  Lost const unknown{LossReason::none, renewed.failure ? renewed.failure->what() : ""};
  std::vector<std::expected<RenewedClaim, Lost>> answers;
  answers.reserve(renewed.answers.size());
  for (auto& each : renewed.answers) {
    answers.push_back(each ? std::move(*each) : std::unexpected(unknown));
  }
  co_return answers;
}

asio::awaitable<Cancellation> RedisTaskStore::cancel(TaskId id, Instant deadline) {
  check_task_id(id);
  ScriptCall call(scripts::task_cancel, QueueCalls::all_keys, 3);
  calls_.add_keys(id.queue(), QueueCalls::all_keys, call);
  call.add(calls_.inbox_channel()).add(id.queue()).add(id.number());
  Reply const reply = co_await calls_.write(id.queue(), call, writing, deadline);
  switch (reply->integer()) {
    case 1:
      co_return Cancellation::cancelled;
    case 2:
      co_return Cancellation::asked;
    case 3:
      co_return Cancellation::finished;
    default:
      co_return Cancellation::not_found;
  }
}

asio::awaitable<void> RedisTaskStore::raise_fences(Instant deadline) {
  std::vector<std::string> const queues = co_await calls_.queues(deadline);
  for (auto const& queue : queues) {
    ScriptCall call(scripts::raise_fence, 1, 0);
    calls_.add_keys(queue, 1, call);
    [[maybe_unused]] Reply const raised = co_await calls_.write(queue, call, writing, deadline);
  }
}

}  // namespace holt::redis
