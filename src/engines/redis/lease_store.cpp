// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/lease_store.hpp"

#include "contracts/input_rules.hpp"
#include "engines/redis/errors.hpp"
#include "engines/redis/listing.hpp"
#include "engines/redis/scripting.hpp"
#include "engines/redis/together.hpp"
#include "redis_scripts.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

namespace holt::redis {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t renewals_per_call = 128;  // so that no call keeps the server for long
constexpr std::chrono::seconds alone_for{1};
constexpr std::uint64_t fences_added = std::uint64_t{1} << 32U;  // as scripts/raise_fence.lua does

std::int64_t wall_ms(Env& env) {
  return std::chrono::duration_cast<milliseconds>(env.wall().time_since_epoch()).count();
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw failed(ErrorCode::internal, Outcome::unknown, "read",
                 "the server's answer is not a number: " + std::string(text));
  }
  return value;
}

bool is_busy(ReplyView const& answer) { return answer.is_array() && answer[0].integer() == 0; }

Busy busy_with(ReplyView const& answer, std::vector<Name> const& names) {
  auto const which = static_cast<std::size_t>(answer[1].integer() - 1) % names.size();
  auto const record = parse_record(answer[2].text());
  if (!record) not_ours("acquire", names[which].text());
  Busy busy;
  busy.holder = record->owner;
  busy.fence = record->fence;
  busy.expires_in = milliseconds(answer[3].integer());
  busy.place = static_cast<std::uint32_t>(
      std::min<std::int64_t>(answer[4].integer(), LeaseStore::max_place));
  busy.note = record->note;
  return busy;
}

/// Whether the name that is in the way is offered to somebody who has not come for it.
bool shows_offer(ReplyView const& answer) {
  if (!is_busy(answer)) return false;
  auto const record = parse_record(answer[2].text());
  return record && record->offered;
}

/// That of one name comes as a number mostly.
std::vector<Fence> fences_in(ReplyView const& answer, std::size_t names) {
  std::vector<Fence> fences;
  fences.reserve(names);
  if (names == 1 && !answer.is_array()) {
    fences.emplace_back(static_cast<std::uint64_t>(answer.integer()));
  } else {
    for (std::size_t i = 1; i <= names; ++i) fences.emplace_back(number(answer[i].text()));
  }
  return fences;
}

std::expected<void, Lost> renewal_of(ReplyView const& answer) {
  if (answer.is_text()) {
    return std::unexpected(Lost{LossReason::broken, std::string(answer.text())});
  }
  switch (answer.integer()) {
    case 1:
      return {};
    case 2:
      return std::unexpected(Lost{LossReason::expired, {}});
    default:
      return std::unexpected(Lost{LossReason::taken, {}});
  }
}

/// The names of one call must be on one node.
void check_one_shard(std::vector<Name> const& names) {
  for (auto const& name : names) {
    if (shard_of(name.text()) == shard_of(names.front().text())) continue;
    throw InvalidArgument("\"" + names.front().text() + "\" and \"" + name.text() +
                          "\" cannot be taken together on a Redis Cluster, where they are in "
                          "different slots: give such names a common part in braces, as in "
                          "\"{deploy}:eu\" and \"{deploy}:us\"");
  }
}

/// Only of what happens while a slot moves: some of the keys are here and some there.
bool is_divided(EngineError const& error) {
  return error.outcome() == Outcome::not_applied && error.reason().starts_with("TRYAGAIN");
}

}  // namespace

RedisLeaseStore::RedisLeaseStore(Env& env, Servers& servers, DurableWrites& writes,
                                 RedisSignalBus& signals, Keys const& keys)
    : env_(env),
      servers_(servers),
      writes_(writes),
      signals_(signals),
      keys_(keys),
      reminders_(env, servers, keys) {}

void RedisLeaseStore::close() {
  if (!servers_.are_cluster()) reminders_.close();
}

/// The server's identity, until the counter has heard it on this connection. A cluster sees to that
/// itself.
std::string_view RedisLeaseStore::identity_to_tell() {
  if (servers_.are_cluster()) return {};
  auto const& server = writes_.servers().one().server();
  if (std::exchange(generation_, server.generation) != server.generation) {
    counter_knows_server_ = false;
  }
  return counter_knows_server_ ? std::string_view() : server.identity;
}

/// A grant was answered that was asked for on this connection.
void RedisLeaseStore::told_identity(std::uint64_t generation) {
  if (generation == generation_) counter_knows_server_ = true;
}

AcquireStep RedisLeaseStore::acquire_step(LeaseRequest const& request) {
  return {keys_, request, wall_ms(env_), {identity_to_tell(), exact()}};
}

bool RedisLeaseStore::joins_others(std::string_view name) const {
  if (servers_.are_cluster()) return false;
  auto const until = alone_until_[hash_of(name) % alone_until_.size()];
  return until == Instant() || until < env_.now();
}

bool RedisLeaseStore::joins_others(LeaseRequest const& request) {
  return request.names.size() == 1 && !request.stand_in_line &&
         joins_others(request.names.front().text()) && identity_to_tell().empty();
}

void RedisLeaseStore::not_with_others(std::string_view name) {
  if (servers_.are_cluster()) return;
  alone_until_[hash_of(name) % alone_until_.size()] = env_.now() + alone_for;
}

/// What came of a step with others; empty: it has to be asked for alone.
Reply RedisLeaseStore::decided(Answer answer, std::string_view name, std::string_view operation) {
  Reply reply = reply_of(std::move(answer));
  if (reply.empty()) {
    not_with_others(name);
  } else if (is_unknown_script(*reply)) {
    return {};
  } else if (reply->is_error()) {
    throw refused(operation, reply->text());
  }
  return reply;
}

asio::awaitable<std::expected<LeaseGrant, Busy>> RedisLeaseStore::acquire(LeaseRequest request,
                                                                          Instant deadline) {
  check_request(request);
  if (request.stand_in_line) {
    for (auto const& name : request.names) not_with_others(name.text());
  }
  // Whoever stands in line must be reachable, or the line would take it for dead.
  if (request.stand_in_line && request.owner.inbox() == signals_.inbox()) {
    co_await signals_.reachable(deadline);
  }
  if (servers_.are_cluster()) {
    check_one_shard(request.names);
  } else if (!writes_.servers().one().is_ready()) {
    co_await writes_.servers().one().ready("acquire", deadline);
  }
  auto const& name = request.names.front().text();
  auto const generation = servers_.are_cluster() ? 0 : writes_.servers().one().server().generation;
  DurableWrites::Written written;
  if (writes_.waits()) {
    ScriptCall const call = acquire_step(request).alone();
    written = co_await writes_.run(call, drawing, deadline);
  } else {
    if (joins_others(request)) {
      AcquireStep const step(keys_, request, wall_ms(env_), {{}, exact()});
      Answer answer = co_await servers_.one().call_with_others(step, Effect::writes,
                                                               scripts::acquire.name, deadline);
      written.reply = decided(std::move(answer), name, scripts::acquire.name);
    }
    if (written.reply.empty()) written.reply = co_await acquire_alone(request, deadline);
  }
  Reply const reply = std::move(written.reply);
  told_identity(generation);
  // Somebody has it, or whom we stood in line behind was told (scripts/acquire.lua).
  if (reminders_.about(name) && (request.stand_in_line || !shows_offer(*reply))) {
    reminders_.settled(name);
  }
  if (is_busy(*reply)) co_return std::unexpected(busy_with(*reply, request.names));
  if (!written.confirmed) {
    Outcome const outcome = co_await take_back(request, deadline);
    throw writes_.not_durable(written, outcome, "acquire");
  }
  LeaseGrant grant;
  grant.fences = fences_in(*reply, request.names.size());
  for (std::size_t i = 0; i < grant.fences.size(); ++i) {
    if (!calls_for_sweep(grant.fences[i].value())) continue;
    asio::co_spawn(env_.executor(), sweep(shard_of(request.names[i].text())),
                   [](std::exception_ptr) {});
  }
  co_return grant;
}

asio::awaitable<Reply> RedisLeaseStore::acquire_alone(LeaseRequest const& request,
                                                      Instant deadline) {
  co_await know_server(scripts::acquire.name, deadline);
  ScriptCall const call = acquire_step(request).alone();
  Reply reply = co_await run_script(servers_, call, drawing, deadline);
  co_return reply;
}

/// Releases what was granted and not confirmed; whether somebody may hold it still.
asio::awaitable<Outcome> RedisLeaseStore::take_back(LeaseRequest const& request, Instant deadline) {
  try {
    for (auto const& name : request.names) {
      [[maybe_unused]] std::expected<void, Lost> const gone =
          co_await release(name, request.owner, deadline);
    }
  } catch (EngineError const&) {
    co_return Outcome::unknown;
  }
  co_return Outcome::not_applied;
}

std::vector<Chunk> RedisLeaseStore::divided(
    std::size_t count, std::size_t most, std::function<std::string_view(std::size_t)> name) const {
  return chunks_of(count, most,
                   [&](std::size_t i) { return servers_.are_cluster() ? shard_of(name(i)) : 0; });
}

asio::awaitable<void> RedisLeaseStore::run_all(std::vector<asio::awaitable<void>> calls) {
  if (servers_.are_cluster()) {
    co_await together(std::move(calls));
  } else {
    for (auto& call : calls) co_await std::move(call);
  }
}

asio::awaitable<std::vector<std::expected<void, Lost>>> RedisLeaseStore::renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  Renewed renewed;
  renewed.answers.resize(renewals.size());
  std::vector<Chunk> const chunks =
      divided(renewals.size(), renewals_per_call,
              [&](std::size_t i) -> std::string_view { return renewals[i].name.text(); });
  std::vector<asio::awaitable<void>> calls;
  calls.reserve(chunks.size());
  for (auto const& chunk : chunks) {
    calls.push_back(servers_.are_cluster() ? renew_of_shard(renewals, chunk, renewed, deadline)
                                           : renew_some(renewals, chunk, renewed, deadline));
  }
  try {
    co_await run_all(std::move(calls));
  } catch (EngineError const& error) {
    // A chunk that failed says nothing of those before it.
    if (!renewed.answers.front() || error.outcome() == Outcome::unknown) throw;
    throw failed(error.code(), Outcome::unknown, error.operation(), error.reason(), error.hint());
  }
  bool const some = std::ranges::any_of(renewed.answers, [](auto const& each) { return !!each; });
  if (renewed.failure && !some) throw *renewed.failure;
  std::vector<std::expected<void, Lost>> answers;
  answers.reserve(renewed.answers.size());
  Lost const unknown{LossReason::none, renewed.failure ? renewed.failure->what() : ""};
  for (auto& each : renewed.answers) {
    answers.push_back(each ? std::move(*each) : std::unexpected(unknown));
  }
  co_return answers;
}

/// The other shards' renewals do not fail because these do.
asio::awaitable<void> RedisLeaseStore::renew_of_shard(std::vector<LeaseRenewal> const& renewals,
                                                      Chunk const& which, Renewed& renewed,
                                                      Instant deadline) {
  try {
    co_await renew_some(renewals, which, renewed, deadline);
  } catch (EngineError const& error) {
    bool const worse = !renewed.failure || error.outcome() == Outcome::unknown;
    if (worse) renewed.failure = error;
  }
}

asio::awaitable<void> RedisLeaseStore::renew_some(std::vector<LeaseRenewal> const& renewals,
                                                  Chunk const& which, Renewed& renewed,
                                                  Instant deadline) {
  ScriptCall call(scripts::renew, which.size(), 2 * which.size());
  for (auto const i : which) keys_.add_lease(renewals[i].name.text(), call);
  for (auto const i : which) call.add(renewals[i].owner.text()).add(script_ms(renewals[i].ttl));
  auto purpose = writing;
  purpose.divides = which.size() > 1;
  DurableWrites::Written written;
  bool apart = false;
  try {
    written = co_await writes_.run(call, purpose, deadline);
  } catch (EngineError const& error) {
    if (!purpose.divides || !is_divided(error)) throw;
    apart = true;
  }
  if (apart) {
    co_await renew_each(renewals, which, renewed, deadline);
    co_return;
  }
  // A renewal that a failover may undo is none: another could be granted the name too early.
  if (!written.confirmed) throw writes_.not_durable(written, Outcome::unknown, "renew");
  Reply const reply = std::move(written.reply);
  for (std::size_t i = 0; i < which.size(); ++i) {
    renewed.answers[which[i]] = renewal_of((*reply)[i]);
  }
}

/// While their slot moves, which may take long: a key alone can always be found.
asio::awaitable<void> RedisLeaseStore::renew_each(std::vector<LeaseRenewal> const& renewals,
                                                  Chunk const& which, Renewed& renewed,
                                                  Instant deadline) {
  std::vector<Chunk> alone;
  alone.reserve(which.size());
  for (auto const i : which) alone.push_back({i});
  std::vector<asio::awaitable<void>> calls;
  calls.reserve(alone.size());
  for (auto const& one : alone) calls.push_back(renew_some(renewals, one, renewed, deadline));
  co_await together(std::move(calls));
}

/// Whom identity() is about is known once connected. On a cluster every call that draws is
/// announced by itself.
asio::awaitable<void> RedisLeaseStore::know_server(std::string_view operation, Instant deadline) {
  if (knows_server()) co_return;
  co_await servers_.one().ready(operation, deadline);
}

/// For who lets a name go on to the next in line, which draws a fence: this may be a server that
/// does not know the last ones.
std::string_view RedisLeaseStore::identity() {
  return servers_.are_cluster() ? std::string_view() : servers_.one().server().identity;
}

asio::awaitable<std::expected<void, Lost>> RedisLeaseStore::release(Name name, Owner owner,
                                                                    Instant deadline) {
  // A coroutine costs more than this look.
  if (!knows_server()) co_await know_server(scripts::release.name, deadline);
  ReleaseStep const step(keys_, name, owner, {identity_to_tell(), exact()});
  Reply reply;
  if (joins_others(name.text())) {
    Answer answer = co_await servers_.one().call_with_others(step, Effect::writes,
                                                             scripts::release.name, deadline);
    reply = decided(std::move(answer), name.text(), scripts::release.name);
  }
  if (reply.empty()) reply = co_await release_alone(name, owner, deadline);
  if (reply->is_text() && remind_later(name, reply->text())) {
    co_return std::expected<void, Lost>();
  }
  auto const answer = reply->integer();
  if (answer == 1) co_return std::expected<void, Lost>();
  Lost lost{answer == 2 ? LossReason::expired : LossReason::taken, {}};
  co_return std::unexpected(std::move(lost));
}

/// To whom it was offered, a space, and who stands behind. False: the answer is something else.
bool RedisLeaseStore::remind_later(Name const& name, std::string_view owners) {
  auto const space = owners.find(' ');
  if (space == std::string_view::npos) return false;
  reminders_.remind_later(name.text(), owners.substr(0, space), owners.substr(space + 1));
  return true;
}

asio::awaitable<Reply> RedisLeaseStore::release_alone(Name const& name, Owner const& owner,
                                                      Instant deadline) {
  co_await know_server(scripts::release.name, deadline);
  ReleaseStep const step(keys_, name, owner, {identity_to_tell(), exact()});
  ScriptCall const call = step.alone();
  // Of those that get something in one turn the server writes last to who was the first to get
  // something. We are to be that, and whoever is offered the name is to hear of it before: the
  // machine that both may be on has more to do with us than with them.
  if (!servers_.are_cluster()) servers_.one().tell(command("PING"));
  Reply reply = co_await run_script(servers_, call, drawing, deadline);
  co_return reply;
}

asio::awaitable<BreakResult> RedisLeaseStore::break_lease(BreakRequest request, Instant deadline) {
  co_await know_server("break", deadline);
  ScriptCall call(scripts::break_lease, Keys::of_a_name, 7);
  keys_.add_all(request.name.text(), call);
  call.add(request.reason);
  call.add(request.fence == Fence() ? std::string() : request.fence.decimal());
  call.add(request.now ? "1" : "0")
      .add(request.name.text())
      .add(keys_.inbox_channel())
      .add(exact())
      .add(identity());
  Reply const reply = co_await run_script(servers_, call, drawing, deadline);
  switch (reply->integer()) {
    case 1:
      co_return BreakResult::asked;
    case 2:
      co_return BreakResult::freed;
    case 3:
      co_return BreakResult::other_fence;
    default:
      co_return BreakResult::not_held;
  }
}

asio::awaitable<FenceRaise> RedisLeaseStore::raise_fence(Instant deadline) {
  if (servers_.are_cluster()) {
    FenceRaise raised = co_await raise_on_cluster(deadline);
    co_return raised;
  }
  ScriptCall call(scripts::raise_fence, 1, 0);
  call.add(keys_.counter(0));
  DurableWrites::Written written = co_await writes_.run(call, writing, deadline);
  if (!written.confirmed) throw writes_.not_durable(written, Outcome::unknown, "raise fence");
  Reply const reply = std::move(written.reply);
  FenceRaise raised;
  auto const before = (*reply)[0].text();
  if (!before.empty()) raised.before = Fence(number(before));
  raised.after = Fence(number((*reply)[1].text()));
  co_return raised;
}

/// Each shard in a step of its own: first all are read, then all are lifted to the same number.
/// What is drawn in between is less than the number that is added.
asio::awaitable<FenceRaise> RedisLeaseStore::raise_on_cluster(Instant deadline) {
  std::uint64_t highest = 0;
  std::vector<asio::awaitable<void>> reads;
  reads.reserve(shards);
  for (unsigned shard = 0; shard < shards; ++shard) {
    reads.push_back(read_counter(shard, highest, deadline));
  }
  co_await together(std::move(reads));
  FenceRaise raised;
  if (highest > 0) raised.before = Fence(highest);
  Reply const time = co_await run_command(servers_, keys_.counter(0), command("TIME"), reading,
                                          "raise fence", deadline);
  auto const now = number((*time)[0].text()) * 1'000'000 + number((*time)[1].text());
  auto const after = std::max((highest > 0 ? highest : now) + fences_added, now);
  raised.after = Fence(after);
  std::vector<asio::awaitable<void>> lifts;
  lifts.reserve(shards);
  for (unsigned shard = 0; shard < shards; ++shard) lifts.push_back(lift(shard, after, deadline));
  std::optional<EngineError> error;
  try {
    co_await together(std::move(lifts));
  } catch (EngineError const& thrown) {
    error = thrown;
  }
  if (error) {
    throw failed(error->code(), Outcome::unknown, "raise fence", error->reason(), error->hint());
  }
  co_return raised;
}

asio::awaitable<void> RedisLeaseStore::read_counter(unsigned shard, std::uint64_t& highest,
                                                    Instant deadline) {
  auto const counter = keys_.counter(shard);
  Reply const reply = co_await run_command(servers_, counter, command("HGET", counter, "n"),
                                           reading, "raise fence", deadline);
  if (!reply->is_nil()) highest = std::max(highest, number(reply->text()));
}

asio::awaitable<void> RedisLeaseStore::lift(unsigned shard, std::uint64_t to, Instant deadline) {
  ScriptCall call(scripts::lift_fence, 1, 1);
  call.add(keys_.counter(shard)).add(to);
  DurableWrites::Written const written = co_await writes_.run(call, writing, deadline);
  if (!written.confirmed) throw writes_.not_durable(written, Outcome::unknown, "raise fence");
}

}  // namespace holt::redis
