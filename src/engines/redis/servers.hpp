// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a store's calls go: to one server (alone, or the master that Sentinels name), or to the
// node of a cluster that has the shard's keys.

#include "contracts/env.hpp"
#include "engines/redis/cluster.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/place.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string_view>

namespace holt::redis {

class Servers {
 public:
  Servers(Env& env, Place const& place, Keys const& keys) {
    if (place.cluster.empty()) {
      one_.emplace(env, place);
    } else {
      cluster_.emplace(env, place, keys);
    }
  }

  /// See Connection::close().
  void close() {
    if (one_) one_->close();
    if (cluster_) cluster_->close();
  }

  /// Whether each shard has a server of its own.
  [[nodiscard]] bool are_cluster() const { return cluster_.has_value(); }
  [[nodiscard]] Connection& one() { return *one_; }
  [[nodiscard]] Cluster& cluster() { return *cluster_; }

  /// Waits until a server is there; who opens a store that is not there is told so at once.
  asio::awaitable<void> open(std::string_view operation, Instant deadline) {
    return one_ ? one_->ready(operation, deadline, Retry::never)
                : cluster_->ready(operation, deadline);
  }

 private:
  std::optional<Connection> one_;
  std::optional<Cluster> cluster_;
};

}  // namespace holt::redis
