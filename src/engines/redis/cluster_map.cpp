// SPDX-License-Identifier: Apache-2.0
// How a Cluster learns which node has what.

#include "engines/redis/cluster_state.hpp"

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace holt::redis {
namespace {

constexpr std::chrono::seconds patience{1};          // for one node's answer
constexpr std::chrono::milliseconds fresh_for{100};  // no look is newer than that
constexpr std::string_view operation = "look at the cluster";

/// The error of a node that is no part of a cluster.
EngineError explained(EngineError const& error) {
  if (!error.reason().starts_with("ERR This instance has cluster support disabled")) return error;
  return failed(ErrorCode::invalid_argument, Outcome::not_applied, operation,
                "this server is no part of a cluster", "use redis:// for a single server");
}

}  // namespace

Cluster::State::State(Env& of, Place const& where, Keys const& with)
    : env(of), place(where), keys(with), turn(of.random() % where.cluster.size()) {}

/// Waits until there is a map. Throws what is in the way.
asio::awaitable<void> Cluster::State::mapped(std::string_view of, Instant deadline) {
  co_await looked(deadline);
  if (map) co_return;
  if (closed) throw failed(ErrorCode::aborted, Outcome::not_applied, of, "the client was closed");
  if (trouble) {
    throw failed(trouble->code(), Outcome::not_applied, of, trouble->reason(), trouble->hint());
  }
  throw failed(ErrorCode::network_timeout, Outcome::not_applied, of,
               "no node of the cluster said in time which of them has what",
               "are the nodes in the store's address up and reachable?");
}

/// Waits until the map is fresh or cannot be had, or until the deadline.
asio::awaitable<void> Cluster::State::looked(Instant deadline) {
  if (closed || (!looking && env.now() < looked_at + fresh_for)) co_return;
  start_look();
  if (looking) co_await wait(deadline, true);
}

void Cluster::State::start_look() {
  if (closed || looking || env.now() < looked_at + fresh_for) return;
  looking = true;
  asio::co_spawn(env.executor(), look(), [self = shared_from_this()](std::exception_ptr) {});
}

/// Asks one after the other until one knows.
asio::awaitable<void> Cluster::State::look() {
  std::string said;
  std::optional<EngineError> worst;
  std::optional<SlotMap> found;
  std::vector<Endpoint> const asked = whom_to_ask();
  for (auto const& at : asked) {
    std::optional<EngineError> error;
    try {
      found = co_await ask(at);
    } catch (EngineError const& thrown) {
      error = explained(thrown);
    }
    if (closed || (found && found->covered() > 0)) break;
    if (!error) continue;
    said += fmt::format("{}{}: {}", said.empty() ? "" : "; ", to_string(at), error->reason());
    bool const transient = error->retryable();
    if (!worst || !transient) worst = error;
  }
  looking = false;
  looked_at = env.now();
  if (found) {
    trouble.reset();
    if (!closed) apply(std::move(*found));
  } else if (worst) {
    trouble = failed(worst->code(), Outcome::not_applied, operation,
                     fmt::format("no node of the cluster can be asked ({})", said), worst->hint());
  }
  wake(false);
}

/// Connected masters first, in turn: one that was cut off from the others would tell the same
/// old map for ever.
std::vector<Endpoint> Cluster::State::whom_to_ask() {
  std::vector<Endpoint> asked;
  auto const add = [&asked](Endpoint const& at) {
    if (std::ranges::find(asked, at) == asked.end()) asked.push_back(at);
  };
  ++turn;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto const& node = *nodes[(i + turn) % nodes.size()];
    if (node.connection->is_ready()) add(node.at);
  }
  for (std::size_t i = 0; i < place.cluster.size(); ++i) {
    add(place.cluster[(i + turn) % place.cluster.size()]);
  }
  for (auto const& node : nodes) add(node->at);
  return asked;
}

asio::awaitable<SlotMap> Cluster::State::ask(Endpoint at) {
  auto const node = std::ranges::find(nodes, at, [](auto const& each) { return each->at; });
  auto const deadline = env.now() + patience;
  auto connection = node == nodes.end() ? nullptr : (*node)->connection;
  bool const borrowed = connection && connection->is_ready();
  if (!borrowed) {
    auto where = place_of(at);
    where.any_role = true;
    connection = std::make_shared<Connection>(env, std::move(where));
    asker = connection;
  }
  auto const question = command("CLUSTER", "SLOTS");
  std::optional<Reply> reply;
  std::optional<EngineError> error;
  try {
    co_await connection->ready(operation, deadline, Retry::never);
    Answer answer = co_await connection->call(question, Effect::reads, operation, deadline);
    reply = reply_of(std::move(answer));
  } catch (EngineError const& thrown) {
    error = thrown;
  }
  if (!borrowed) {
    connection->end("it was only asked for the map");
    asker.reset();
  }
  if (error) throw *error;
  if ((*reply)->is_error()) throw refused(operation, (*reply)->text());
  co_return SlotMap(**reply, at);
}

void Cluster::State::apply(SlotMap found) {
  bool changed = !map;
  map = std::move(found);
  for (unsigned shard = 0; shard < shards; ++shard) {
    auto const* const master = map->master_of(slot_of(keys.counter(shard)));
    auto owner = master == nullptr ? nullptr : node_at(*master);
    if (owner == owners[shard]) continue;
    owners[shard] = std::move(owner);
    introduced.erase(keys.counter(shard));
    changed = true;
  }
  for (std::size_t i = nodes.size(); i-- > 0;) {
    auto const& masters = map->masters();
    if (std::ranges::find(masters, nodes[i]->at) == masters.end()) retire(i);
  }
  drop_retired();
  if (!changed) return;
  for (auto const& tell : on_change) tell();
}

std::shared_ptr<Cluster::State::Node> Cluster::State::node_at(Endpoint const& at) {
  for (auto const& node : nodes) {
    if (node->at == at) return node;
  }
  auto node = std::make_shared<Node>();
  node->at = at;
  node->number = next_node++;
  node->connection = std::make_shared<Connection>(env, place_of(at));
  node->connection->listen(nullptr, [weak = weak_from_this()] {
    if (auto const self = weak.lock()) self->start_look();
  });
  nodes.push_back(node);
  return node;
}

Place Cluster::State::place_of(Endpoint const& at) const {
  auto where = place;
  where.host = at.host;
  where.port = at.port;
  return where;
}

/// Who waits for a connection to it goes elsewhere.
void Cluster::State::retire(std::size_t which) {
  auto node = nodes[which];
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(which));
  node->retired = true;
  bool const in_use = node->connection->is_ready();
  if (!in_use) {
    node->connection->end("it is no master of the cluster any more");
    return;
  }
  retired.push_back(std::move(node));
}

/// Calls under way hold theirs.
void Cluster::State::drop_retired() {
  auto const idle = [](std::shared_ptr<Node> const& node) {
    if (node.use_count() > 1) return false;
    node->connection->end("it is no master of the cluster any more");
    return true;
  };
  std::erase_if(retired, idle);
}

}  // namespace holt::redis
