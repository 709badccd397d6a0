// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the store of a test between processes is. All tests share a place and take names of their
// own in it; a server keeps what it knows when it is started again.

#include "process/remote.hpp"
#include "support/engines.hpp"
#include "support/servers/postgres_server.hpp"
#include "support/servers/redis_server.hpp"

#include <cstdint>
#include <string>

namespace holt::test {

class Place {
 public:
  virtual ~Place() = default;
  [[nodiscard]] virtual std::string url() const = 0;
};

class FilePlace final : public Place {
 public:
  [[nodiscard]] std::string url() const override { return store_.url(); }

 private:
  TempStore store_;
};

class ServerPlace : public Place {
 public:
  [[nodiscard]] std::string url() const override { return url_at(port()); }
  /// By another way than the usual one.
  [[nodiscard]] virtual std::string url_at(std::uint16_t port) const = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  virtual void restart() = 0;
};

class RedisPlace final : public ServerPlace {
 public:
  [[nodiscard]] std::string url_at(std::uint16_t port) const override {
    return "redis://127.0.0.1:" + std::to_string(port);
  }
  [[nodiscard]] std::uint16_t port() const override { return server_.port(); }
  void restart() override { server_.restart(); }

 private:
  RedisServer server_{{.append_only = true}};
};

class PostgresPlace final : public ServerPlace {
 public:
  [[nodiscard]] std::string url_at(std::uint16_t port) const override {
    return "postgres://postgres@127.0.0.1:" + std::to_string(port) + "/postgres";
  }
  [[nodiscard]] std::uint16_t port() const override { return server_.port(); }
  void restart() override {
    server_.stop();
    server_.start();
  }

 private:
  PostgresServer server_;
};

template <class Kind>
Kind& only() {
  use_built_modules();
  static Kind it;
  return it;
}

/// The one place of a kind, as what a test wants to know of it.
template <class Kind, class As = Place>
As& shared() {
  return only<Kind>();
}

}  // namespace holt::test
