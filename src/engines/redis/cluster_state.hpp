// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is behind a Cluster.

#include "engines/redis/cluster.hpp"
#include "engines/redis/errors.hpp"

#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holt::redis {

struct Cluster::State : std::enable_shared_from_this<State> {
  struct Node {
    Endpoint at;
    std::shared_ptr<Connection> connection;
    std::uint64_t number = 0;  ///< of all nodes that there ever were
    bool retired = false;      ///< no longer one of the masters: calls under way still end on it
  };
  /// A call on its way to the node that has its keys.
  struct Journey {
    unsigned shard = 0;
    std::optional<unsigned> slot;  ///< of a key that is in no shard of this instance
    std::string counter;           ///< what would be drawn from
    Purpose purpose;
    std::string command;
    std::string then;  ///< empty: nothing is sent behind it
    std::string_view operation;
    Instant deadline;
    std::optional<Endpoint> ask;    ///< this node is asked next, though the slot is not its own
    std::optional<Endpoint> moved;  ///< this one has `slot`, whatever the map says
    int steps = 0;
  };
  struct Waiter {
    std::move_only_function<void()> done;
    std::uint64_t id = 0;
    bool for_map = false;
  };
  /// On which connection a counter was told the server's identity, and when.
  struct Introduced {
    std::uint64_t node = 0;
    std::uint64_t generation = 0;
    Instant at{};
  };

  State(Env& of, Place const& where, Keys const& with);

  // Calls: cluster.cpp.
  [[nodiscard]] Journey journey_to(std::string_view key, Purpose purpose, std::string command,
                                   std::string_view operation, Instant deadline) const;
  asio::awaitable<TwoReplies> travel(Journey journey);
  /// Who has its keys, as far as is known; null: nobody.
  [[nodiscard]] std::shared_ptr<Node> owner_of(Journey const& journey);
  asio::awaitable<TwoReplies> send(Node& node, Journey const& journey);
  [[nodiscard]] bool is_introduced(Journey const& journey, Node const& node) const;
  asio::awaitable<Reply> introduce(Node& node, Journey const& journey);
  [[nodiscard]] bool take(Journey& journey, Node& node, Redirect const& redirect);
  asio::awaitable<void> pause(Journey& journey, EngineError const& otherwise);

  // The map: cluster_map.cpp.
  asio::awaitable<void> mapped(std::string_view operation, Instant deadline);
  asio::awaitable<void> looked(Instant deadline);
  void start_look();
  asio::awaitable<void> look();
  asio::awaitable<SlotMap> ask(Endpoint at);
  [[nodiscard]] std::vector<Endpoint> whom_to_ask();
  void apply(SlotMap found);
  [[nodiscard]] std::shared_ptr<Node> node_at(Endpoint const& at);
  [[nodiscard]] Place place_of(Endpoint const& at) const;
  void retire(std::size_t which);
  void drop_retired();

  asio::awaitable<void> wait(Instant until, bool for_map);
  void wake(bool all);
  void close();

  Env& env;
  Place const place;
  Keys const& keys;
  bool closed = false;
  std::uint64_t turn;  ///< so that not always the same node is asked

  std::optional<SlotMap> map;
  std::optional<EngineError> trouble;  ///< why there is no new map
  bool looking = false;
  Instant looked_at;
  std::shared_ptr<Connection> asker;  ///< to a node that is only asked for the map
  std::vector<std::function<void()>> on_change;

  std::vector<std::shared_ptr<Node>> nodes;
  std::vector<std::shared_ptr<Node>> retired;
  std::uint64_t next_node = 1;
  std::array<std::shared_ptr<Node>, shards> owners;        ///< null: nobody has the shard's slot
  std::unordered_map<std::string, Introduced> introduced;  ///< by counter; a bounded number
  std::vector<Waiter> waiters;
  std::uint64_t next_waiter = 1;
};

}  // namespace holt::redis
