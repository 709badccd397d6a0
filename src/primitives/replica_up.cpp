// SPDX-License-Identifier: Apache-2.0
// How a replica comes up: names, numbers, workspaces and who is in the way.

#include "primitives/replica.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace holt {
namespace {

/// How many names default-N in a row may be taken by hand.
constexpr std::uint32_t most_numbers = 100;
/// Those who come up in one folder do so one after the other; each takes some milliseconds. How
/// long one that dies may hold up the others: as long as its name, between these.
constexpr std::chrono::seconds shortest_turn{1};
constexpr std::chrono::seconds longest_turn{10};
constexpr std::chrono::seconds turn_wait{30};
/// How often a name may change hands while we decide whether to take it or to join.
constexpr int most_tries = 16;

EngineError too_slow(std::string_view what) {
  return {ErrorCode::acquisition_timeout, Outcome::not_applied, "holt", "up", std::string(what),
          "wait a moment, then try again"};
}

std::string who(InstanceNote const& note) {
  return note.hostname + ", process " + std::to_string(note.orchestrator_pid);
}

}  // namespace

InstanceRefused Replica::refused(InstanceRefused::Why why, std::string by) const {
  InstanceRefused refusal;
  refusal.why = why;
  refusal.name = charter_.about.instance;
  refusal.workspace = charter_.about.workspace_path;
  refusal.by = std::move(by);
  return refusal;
}

LockRequest Replica::request(Name name) const {
  LockRequest request(std::move(name), charter_.ttl);
  request.patience = charter_.patience;
  request.give_up = env_.now() + charter_.patience;
  request.renew_every = charter_.heartbeat;
  request.note = charter_.about.note();
  return request;
}

asio::awaitable<Replica::Refusal> Replica::up() {
  auto const& about = charter_.about;
  locks_.listen();
  LockRequest turn(up_lease(about.hostname, about.workspace_path),
                   std::clamp<Nanos>(charter_.ttl, shortest_turn, longest_turn));
  turn.wait = true;
  turn.patience = charter_.patience;
  turn.give_up = env_.now() + std::max<Nanos>(turn_wait, charter_.patience);
  auto const ours = co_await locks_.acquire(std::move(turn));
  if (!ours) throw too_slow("others that come up in this folder take too long");
  Refusal answer;
  std::exception_ptr failure;
  try {
    answer = co_await claim();
    if (answer) co_await instances_.clean(about.hostname, about.workspace_path);
    if (answer && has(name_)) co_await write_record();
  } catch (EngineError const&) {
    failure = std::current_exception();
  }
  co_await release(*ours);
  if (failure || !answer) co_await let_go();
  if (failure) std::rethrow_exception(failure);
  if (answer) {
    running_ = true;
    nursery_.spawn(run());
  }
  co_return answer;
}

asio::awaitable<Replica::Refusal> Replica::claim() {
  Refusal answer;
  if (charter_.about.instance.empty()) {
    answer = co_await claim_number();
  } else {
    answer = co_await claim_name();
  }
  co_return answer;
}

/// What would refuse it is looked at before a number is drawn.
asio::awaitable<Replica::Refusal> Replica::claim_number() {
  auto& about = charter_.about;
  InstanceRegister::Holder const there =
      co_await instances_.holder_of(workspace_lease(about.hostname, about.workspace_path));
  if (there.lives && !charter_.force) {
    co_return std::unexpected(refused(InstanceRefused::Why::workspace_taken,
                                      there.note ? there.note->instance : std::string()));
  }
  Refusal answer;
  for (std::uint32_t tries = 0; tries < most_numbers; ++tries) {
    about.instance.clear();
    bool const full = co_await instances_.has(charter_.max_instances);
    if (full) {
      auto refusal = refused(InstanceRefused::Why::too_many);
      refusal.limit = charter_.max_instances;
      co_return std::unexpected(std::move(refusal));
    }
    std::int64_t const number = co_await instances_.next_number();
    about.instance = "default-" + std::to_string(number);
    answer = co_await take_name(true);
    bool const taken = !answer && answer.error().why == InstanceRefused::Why::name_taken;
    if (!taken) co_return answer;
  }
  about.instance.clear();
  auto refusal = refused(InstanceRefused::Why::no_number);
  refusal.limit = most_numbers;
  co_return std::unexpected(std::move(refusal));
}

asio::awaitable<Replica::Refusal> Replica::claim_name() {
  Refusal answer;
  for (int tries = 0; tries < most_tries; ++tries) {
    InstanceRegister::Holder const holder =
        co_await instances_.holder_of(name_lease(charter_.about.instance));
    if (charter_.join && holder.note) co_return co_await join_run(*holder.note);
    if (!holder.lives) {
      bool const full = co_await instances_.has(charter_.max_instances);
      if (full) {
        auto refusal = refused(InstanceRefused::Why::too_many);
        refusal.limit = charter_.max_instances;
        co_return std::unexpected(std::move(refusal));
      }
    }
    answer = co_await take_name(true);
    bool const raced = !answer && answer.error().why == InstanceRefused::Why::name_taken;
    if (!raced || !charter_.join) break;
  }
  co_return answer;
}

/// The one step: name, workspace and that this replica lives, all or none.
asio::awaitable<Replica::Refusal> Replica::take_name(bool with_workspace) {
  auto const& about = charter_.about;
  std::vector<Lease> others;
  auto wanted = request(name_lease(about.instance));
  wanted.also.push_back(replica_lease(about.instance, about.replica));
  if (with_workspace) {
    wanted.also.push_back(workspace_lease(about.hostname, about.workspace_path));
  }
  wanted.also_kept = &others;
  auto answer = co_await locks_.acquire(std::move(wanted));
  if (answer) {
    name_ = std::move(*answer);
    replica_ = others.at(0);
    if (with_workspace) workspace_ = others.at(1);
    had_workspace_ = with_workspace;
    present_.begin(name_);
    co_return Refusal();
  }
  if (answer.error().why != Busy::Why::held) throw too_slow("the store takes too long to answer");
  auto const holder = read_instance_note(answer.error().note);
  // The name is asked for first, so a busy workspace means that the name was free.
  if (!holder || holder->instance == about.instance) {
    co_return std::unexpected(
        refused(InstanceRefused::Why::name_taken, holder ? who(*holder) : answer.error().note));
  }
  if (!charter_.force) {
    co_return std::unexpected(refused(InstanceRefused::Why::workspace_taken, holder->instance));
  }
  overridden_ = holder->instance;
  Refusal const forced = co_await take_name(false);
  co_return forced;
}

/// One more replica of a run that lives: it only has to show that it is there.
asio::awaitable<Replica::Refusal> Replica::join_run(InstanceNote holder) {
  auto& about = charter_.about;
  std::optional<std::string> const ended = co_await instances_.why_ended(holder.run_id);
  if (ended) co_return std::unexpected(refused(InstanceRefused::Why::ending, *ended));
  about.run_id = holder.run_id;
  about.started_at = holder.started_at;
  auto answer = co_await locks_.acquire(request(replica_lease(about.instance, about.replica)));
  // Nobody else has this replica's id: if it is held, then by a call of ours that came through late
  // and that nobody renews.
  if (!answer) throw too_slow("the store takes too long to answer");
  replica_ = std::move(*answer);
  co_return Refusal();
}

}  // namespace holt
