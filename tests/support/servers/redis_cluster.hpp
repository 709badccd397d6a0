// SPDX-License-Identifier: Apache-2.0
#pragma once
// RedisCluster: six nodes, three masters with a replica each, made as an operator makes them, with
// `redis-cli --cluster create`. When the constructor returns every node says that all slots are
// served and the replicas are in sync. A dead master is replaced after about 2 s.

#include "support/servers/redis_server.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holt::test {

class RedisCluster {
 public:
  /// `options` are those of every node, without password. With TLS the nodes talk among themselves
  /// over it too, all with the same certificates.
  explicit RedisCluster(RedisOptions options = {});

  /// redis+cluster://[credentials@]127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT (the nodes that
  /// were masters at the start); with TLS rediss+cluster://... with the client's files.
  [[nodiscard]] std::string url(std::string const& credentials = {}) const;

  static constexpr std::size_t size = 6;
  /// The port that it tells its peers and clients like them: with TLS that one.
  [[nodiscard]] std::uint16_t port_of(RedisServer const& node) const;
  [[nodiscard]] RedisServer& node(std::size_t number) { return *nodes_.at(number); }
  /// The slot of a key, of 16384.
  [[nodiscard]] std::int64_t slot_of(std::string const& key);
  /// The node that serves this slot, as most of the living nodes see it.
  [[nodiscard]] RedisServer& master_of(std::int64_t slot);
  [[nodiscard]] RedisServer& master_for(std::string const& key) { return master_of(slot_of(key)); }
  /// The name the nodes have for it.
  [[nodiscard]] static std::string id_of(RedisServer& node);

  /// Kills the master of this slot without a warning and waits for the new one, which is answered.
  RedisServer& fail_over_by_kill(std::int64_t slot);
  /// Moves a slot, with its keys, to another master: afterwards the old one answers MOVED.
  void move_slot(std::int64_t slot, RedisServer& to);
  /// The same in steps: from the first to the last of them the old one answers ASK or TRYAGAIN for
  /// keys that it has not.
  void begin_move(std::int64_t slot, RedisServer& to);
  void move_keys(std::vector<std::string> const& keys, RedisServer& to);
  void end_move(std::int64_t slot, RedisServer& to);
  /// Whatever there is still to do after begin_move().
  void move_rest(std::int64_t slot, RedisServer& to);
  /// Leaves no key and no script, as if it were new. Every node must run.
  void flush();
  /// How long a node may be silent before the others take it for dead.
  void set_node_timeout(std::chrono::milliseconds timeout);
  /// Waits until this master's replica has what was written to it until now.
  static void await_replicated(RedisServer& master);
  /// Waits until every running node says that all slots are served.
  void await_ok();

 private:
  void create();
  void await_replicas();
  /// Whom most nodes take for it; null: they do not agree.
  [[nodiscard]] RedisServer* agreed_master_of(std::int64_t slot);
  [[nodiscard]] std::uint16_t port_serving(std::int64_t slot, RedisServer& asked) const;

  std::shared_ptr<TlsFiles const> tls_;  ///< null: in the clear
  TemporaryFolder folder_;
  std::array<ReservedPort, size> bus_ports_;
  std::array<std::unique_ptr<RedisServer>, size> nodes_;
};

}  // namespace holt::test
