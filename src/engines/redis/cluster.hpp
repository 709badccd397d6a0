// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nodes of a Redis Cluster: which master has a shard's keys, a connection to each that is
// needed, and calls that follow the keys when they move. Only masters are used. The map of the
// slots is read when first needed, when a node says that it is wrong, when a node is lost, and
// every few seconds while there are calls.
// All of it on Env::executor(), but for the constructor, the destructor and close().

#include "contracts/env.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/place.hpp"
#include "engines/redis/slot_map.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holt::redis {

/// What a call is for.
struct Purpose {
  Effect effect = Effect::reads;
  bool draws = false;    ///< it may draw a fence or a version
  bool divides = false;  ///< its keys can be sent one by one: TRYAGAIN is an answer, not waited out
};
inline constexpr Purpose reading{};
inline constexpr Purpose writing{.effect = Effect::writes};
inline constexpr Purpose drawing{.effect = Effect::writes, .draws = true};

class Cluster {
 public:
  Cluster(Env& env, Place const& place, Keys const& keys);
  ~Cluster();
  Cluster(Cluster const&) = delete;
  Cluster& operator=(Cluster const&) = delete;

  /// As Connection::close().
  void close();

  /// Waits until the map is known. Throws EngineError with outcome not_applied.
  asio::awaitable<void> ready(std::string_view operation, Instant deadline);

  /// As Connection::call(), to the master that has the key, wherever that is meanwhile: MOVED and
  /// ASK are followed, TRYAGAIN and CLUSTERDOWN waited out; not for ever, and not beyond the
  /// deadline. Only what is in a shard of this instance can draw.
  asio::awaitable<Reply> call(std::string_view key, Purpose purpose, std::string command,
                              std::string_view operation, Instant deadline);
  /// The same for two commands in a row, of which the first writes.
  asio::awaitable<TwoReplies> call_both(std::string_view key, Purpose purpose, std::string command,
                                        std::string then, std::string_view operation,
                                        Instant deadline);

  /// Reads the map anew.
  asio::awaitable<SlotMap> look(Instant deadline);
  /// A connection to this master, made when it is first asked for.
  [[nodiscard]] std::shared_ptr<Connection> connection_to(Endpoint const& master);

  /// Some living node to listen to; another one each time.
  [[nodiscard]] Endpoint any_node();
  [[nodiscard]] bool has_master(Endpoint const& at) const;
  /// The masters that have shards of this instance, each once; none while the map is not known.
  [[nodiscard]] std::vector<Endpoint> owners() const;
  /// Has the map read anew, soon; nobody waits for it.
  void refresh();
  /// Called when the map has changed, beside those that were given before.
  void on_change(std::function<void()> changed);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::redis
