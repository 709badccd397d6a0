// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/cluster.hpp"

#include "engines/redis/cluster_state.hpp"
#include "redis_scripts.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <future>

namespace holt::redis {
namespace {

// A slot that moves is between two nodes for a moment, a dead master is replaced after seconds.
constexpr int most_steps = 40;
constexpr int steps_at_once = 4;  // MOVED and ASK: then even those are taken slowly
constexpr std::chrono::milliseconds first_pause{5};
constexpr std::chrono::milliseconds longest_pause{200};
constexpr std::chrono::seconds look_every{5};  // while there are calls
// Less than it takes to replace a dead master, let alone to move a slot there and back.
constexpr std::chrono::seconds introduced_for{2};
constexpr std::size_t most_introduced = 10'000;
constexpr std::chrono::seconds look_on_connect{1};  // a node that is gone takes long to connect to

bool is_trouble_of_connection(EngineError const& error) {
  return error.outcome() == Outcome::not_applied &&
         (error.code() == ErrorCode::service_unavailable ||
          error.code() == ErrorCode::network_timeout);
}

EngineError closed_error(std::string_view operation) {
  return failed(ErrorCode::aborted, Outcome::not_applied, operation, "the client was closed");
}

EngineError gave_up(std::string_view operation, std::string_view said) {
  if (!said.starts_with("MOVED") && !said.starts_with("ASK")) return refused(operation, said);
  return failed(ErrorCode::service_unavailable, Outcome::not_applied, operation,
                fmt::format("the cluster's nodes send each other's calls on ({})", said),
                "do they agree about the slots? redis-cli --cluster check HOST:PORT says so");
}

}  // namespace

// Calls.

Cluster::State::Journey Cluster::State::journey_to(std::string_view key, Purpose purpose,
                                                   std::string command, std::string_view operation,
                                                   Instant deadline) const {
  Journey journey;
  if (keys.is_in_shard(key)) {
    journey.shard = shard_in(key);
  } else {
    journey.slot = slot_of(key);
  }
  if (key.starts_with(keys.shards_prefix())) journey.counter = Keys::counter_beside(key);
  journey.purpose = purpose;
  journey.command = std::move(command);
  journey.operation = operation;
  journey.deadline = deadline;
  return journey;
}

std::shared_ptr<Cluster::State::Node> Cluster::State::owner_of(Journey const& journey) {
  if (!journey.slot) return owners[journey.shard];
  if (journey.moved) return node_at(*journey.moved);
  auto const* const master = map->master_of(*journey.slot);
  return master == nullptr ? nullptr : node_at(*master);
}

asio::awaitable<TwoReplies> Cluster::State::travel(Journey journey) {
  auto const self = shared_from_this();
  for (;;) {
    if (!map) co_await mapped(journey.operation, journey.deadline);
    if (closed) throw closed_error(journey.operation);
    if (env.now() >= looked_at + look_every) start_look();
    auto node = journey.ask ? node_at(*journey.ask) : owner_of(journey);
    std::string said = "CLUSTERDOWN no node has this slot";
    if (node) {
      TwoReplies replies;
      std::optional<EngineError> error;
      try {
        replies = co_await send(*node, journey);
      } catch (EngineError const& thrown) {
        error = thrown;
      }
      if (error) {
        bool const hopeless = !is_trouble_of_connection(*error) || env.now() >= journey.deadline;
        if (hopeless) throw *error;
        journey.ask.reset();
        journey.moved.reset();
        co_await looked(journey.deadline);
        bool const same = owner_of(journey) == node;
        node.reset();
        if (closed) throw *error;
        // The node may come back, or another one may take its place.
        if (same) co_await pause(journey, *error);
        continue;
      }
      auto const redirect =
          replies.first->is_error() ? redirect_of(replies.first->text(), node->at) : std::nullopt;
      if (!redirect || (journey.purpose.divides && redirect->kind == Redirect::Kind::later)) {
        bool const leaving = node->retired;
        node.reset();
        if (leaving) drop_retired();
        co_return replies;
      }
      said = replies.first->text();
      bool const at_once = take(journey, *node, *redirect);
      node.reset();
      if (at_once) continue;
    } else {
      start_look();
    }
    EngineError const otherwise = gave_up(journey.operation, said);
    co_await pause(journey, otherwise);
  }
}

/// Whether to go on without a pause.
bool Cluster::State::take(Journey& journey, Node& node, Redirect const& redirect) {
  journey.ask.reset();
  journey.moved.reset();
  switch (redirect.kind) {
    case Redirect::Kind::moved:
      // It may be nobody's master any more, and another one's history when it is again.
      node.connection->check_again();
      if (journey.slot) {
        journey.moved = redirect.to;
      } else {
        owners[journey.shard] = node_at(redirect.to);
      }
      introduced.erase(journey.counter);
      start_look();
      break;
    case Redirect::Kind::ask:
      journey.ask = redirect.to;
      break;
    case Redirect::Kind::later:
      return false;
    case Redirect::Kind::no_one:
      node.connection->check_again();
      start_look();
      return false;
  }
  return ++journey.steps <= steps_at_once;
}

/// Throws `otherwise` when there is no time left for it.
asio::awaitable<void> Cluster::State::pause(Journey& journey, EngineError const& otherwise) {
  auto const doubled = first_pause * (1 << std::min(journey.steps, 8));
  auto const length = std::min(doubled, longest_pause);
  auto const jitter = env.random() % static_cast<std::uint64_t>(length.count());
  auto const until = env.now() + length / 2 + std::chrono::milliseconds(jitter);
  if (++journey.steps > most_steps || until >= journey.deadline) throw otherwise;
  co_await wait(until, false);
}

asio::awaitable<TwoReplies> Cluster::State::send(Node& node, Journey const& journey) {
  auto const connection = node.connection;
  if (!connection->is_ready()) {
    if (env.now() >= looked_at + look_on_connect) start_look();
    co_await connection->ready(journey.operation, journey.deadline, Retry::never);
  }
  TwoReplies replies;
  if (journey.purpose.draws && !is_introduced(journey, node)) {
    Introduced const here{node.number, connection->server().generation, env.now()};
    replies.first = co_await introduce(node, journey);
    // The counter is elsewhere, or not yet anywhere: so is what would be drawn from it.
    bool const elsewhere = replies.first->is_error() && replies.first->text().starts_with("ASK ");
    if (replies.first->is_error() && !elsewhere) co_return replies;
    bool const known = !elsewhere && (!journey.ask || replies.first->integer() == 1);
    if (introduced.size() >= most_introduced) introduced.clear();
    if (known) introduced[journey.counter] = here;
  }
  if (journey.ask) connection->tell(command("ASKING"));
  if (journey.then.empty()) {
    Answer answer = co_await connection->call(journey.command, journey.purpose.effect,
                                              journey.operation, journey.deadline);
    replies.first = reply_of(std::move(answer));
  } else {
    replies = co_await connection->call_both(journey.command, journey.then, journey.operation,
                                             journey.deadline);
  }
  co_return replies;
}

/// The slot may have gone to a server that lost numbers and come back, unseen by us: not for ever.
bool Cluster::State::is_introduced(Journey const& journey, Node const& node) const {
  auto const found = introduced.find(journey.counter);
  if (found == introduced.end()) return false;
  auto const& last = found->second;
  return last.node == node.number && last.generation == node.connection->server().generation &&
         env.now() < last.at + introduced_for;
}

/// Tells the counter on which server it is.
asio::awaitable<Reply> Cluster::State::introduce(Node& node, Journey const& journey) {
  auto const& script = scripts::introduce;
  auto const& identity = node.connection->server().identity;
  if (journey.ask) node.connection->tell(command("ASKING"));
  auto const bytes = command("EVAL", script.text, "1", journey.counter, identity);
  // Whether it was done or not, the call itself was not: so it only "reads".
  Answer answer =
      co_await node.connection->call(bytes, Effect::reads, journey.operation, journey.deadline);
  co_return reply_of(std::move(answer));
}

// Waiting.

asio::awaitable<void> Cluster::State::wait(Instant until, bool for_map) {
  auto initiate = [](auto handler, State* self, Instant end, bool map_too) {
    Waiter waiter;
    waiter.done = [handler = std::move(handler)]() mutable { std::move(handler)(); };
    waiter.id = self->next_waiter++;
    waiter.for_map = map_too;
    self->env.call_at(end, [weak = self->weak_from_this(), id = waiter.id] {
      auto const state = weak.lock();
      if (!state) return;
      auto const found = std::ranges::find(state->waiters, id, &Waiter::id);
      if (found == state->waiters.end()) return;
      auto late = std::move(*found);
      state->waiters.erase(found);
      late.done();
    });
    self->waiters.push_back(std::move(waiter));
  };
  co_await asio::async_initiate<asio::use_awaitable_t<> const, void()>(
      initiate, asio::use_awaitable, this, until, for_map);
}

/// Those that wait for a map, or everybody.
void Cluster::State::wake(bool all) {
  std::vector<Waiter> woken;
  for (auto it = waiters.begin(); it != waiters.end();) {
    if (!all && !it->for_map) {
      ++it;
      continue;
    }
    woken.push_back(std::move(*it));
    it = waiters.erase(it);
  }
  for (auto& waiter : woken) waiter.done();
}

void Cluster::State::close() {
  closed = true;
  on_change.clear();
  constexpr std::string_view why = "the client was closed";
  wake(true);
  if (auto const last = asker) last->end(why);
  for (auto const* const list : {&nodes, &retired}) {
    auto const each = *list;
    for (auto const& node : each) node->connection->end(why);
  }
  wake(true);
}

// Outside.

Cluster::Cluster(Env& env, Place const& place, Keys const& keys)
    : state_(std::make_shared<State>(env, place, keys)) {}

Cluster::~Cluster() { close(); }

void Cluster::close() {
  if (state_->closed) return;
  std::promise<void> closed;
  asio::post(state_->env.executor(), [this, &closed] {
    state_->close();
    closed.set_value();
  });
  closed.get_future().wait();
}

asio::awaitable<void> Cluster::ready(std::string_view operation, Instant deadline) {
  if (!state_->map) co_await state_->mapped(operation, deadline);
}

asio::awaitable<Reply> Cluster::call(std::string_view key, Purpose purpose, std::string command,
                                     std::string_view operation, Instant deadline) {
  auto journey = state_->journey_to(key, purpose, std::move(command), operation, deadline);
  TwoReplies replies = co_await state_->travel(std::move(journey));
  co_return std::move(replies.first);
}

asio::awaitable<TwoReplies> Cluster::call_both(std::string_view key, Purpose purpose,
                                               std::string command, std::string then,
                                               std::string_view operation, Instant deadline) {
  auto journey = state_->journey_to(key, purpose, std::move(command), operation, deadline);
  journey.then = std::move(then);
  return state_->travel(std::move(journey));
}

asio::awaitable<SlotMap> Cluster::look(Instant deadline) {
  auto const state = state_;
  state->looked_at = Instant();
  co_await state->looked(deadline);
  if (state->trouble) throw *state->trouble;
  if (!state->map) throw closed_error("look at the cluster");
  co_return *state->map;
}

std::shared_ptr<Connection> Cluster::connection_to(Endpoint const& master) {
  return state_->node_at(master)->connection;
}

Endpoint Cluster::any_node() {
  bool const known = state_->map && !state_->map->masters().empty();
  auto const& from = known ? state_->map->masters() : state_->place.cluster;
  return from[state_->turn++ % from.size()];
}

bool Cluster::has_master(Endpoint const& at) const {
  return state_->map &&
         std::ranges::find(state_->map->masters(), at) != state_->map->masters().end();
}

std::vector<Endpoint> Cluster::owners() const {
  std::vector<Endpoint> found;
  for (auto const& node : state_->owners) {
    if (!node || std::ranges::find(found, node->at) != found.end()) continue;
    found.push_back(node->at);
  }
  return found;
}

void Cluster::refresh() { state_->start_look(); }

void Cluster::on_change(std::function<void()> changed) {
  state_->on_change.push_back(std::move(changed));
}

}  // namespace holt::redis
