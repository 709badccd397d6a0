// SPDX-License-Identifier: Apache-2.0
#pragma once
// RedisSentinels: a master, two replicas, and three Sentinels that watch them under the name
// "holt". When the constructor returns the replicas are in sync and the Sentinels know each other
// and agree.
//
// A master that is gone is replaced about 2 to 3 s later: it is given up after 1 s, and a vote that
// failed is repeated after 4 s. One that comes back believes for about 10 s that it is the master
// still, and takes writes: that is how Sentinel works.

#include "support/servers/redis_server.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holt::test {

struct SentinelOptions {
  std::string password;           ///< that they ask for, also among themselves; empty: none
  TlsFiles const* tls = nullptr;  ///< listens on tls_port() too, and talks TLS to all it watches
};

/// One Sentinel.
class RedisSentinel {
 public:
  RedisSentinel(std::string const& service, std::uint16_t master_port, SentinelOptions options);
  ~RedisSentinel() { process_->kill(); }
  RedisSentinel(RedisSentinel const&) = delete;
  RedisSentinel& operator=(RedisSentinel const&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_.number(); }
  [[nodiscard]] std::uint16_t tls_port() const { return tls_port_.number(); }
  [[nodiscard]] RedisClient connect() const;
  [[nodiscard]] ServerProcess& process() { return *process_; }
  /// The port of the master that it names; 0 when it cannot be asked.
  [[nodiscard]] std::uint16_t master_port() const;
  /// Whether it sees the master and knows so many replicas and other Sentinels.
  [[nodiscard]] bool knows(int replicas, int sentinels) const;

 private:
  void write_config(std::vector<std::string> lines) const;

  std::string service_;
  SentinelOptions options_;
  TemporaryFolder folder_;
  ReservedPort port_;
  ReservedPort tls_port_;
  std::unique_ptr<ServerProcess> process_;
};

class RedisSentinels {
 public:
  static constexpr auto service = "holt";

  /// `options` are those of the master and the replicas, without password and ACL. With TLS all
  /// of them, and the Sentinels, talk TLS to each other, with certificates of one authority.
  explicit RedisSentinels(RedisOptions const& options = {}, std::string sentinel_password = {});

  /// redis+sentinel://127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT/holt; with TLS rediss+sentinel
  /// and the options for it.
  [[nodiscard]] std::string url() const;

  /// With TLS: everybody's.
  [[nodiscard]] TlsFiles const& tls() const { return *tls_; }
  /// The three servers; the first was the master at the start.
  [[nodiscard]] RedisServer& server(std::size_t number) { return *servers_.at(number); }
  [[nodiscard]] RedisSentinel& sentinel(std::size_t number) { return *sentinels_.at(number); }
  /// The server that most Sentinels name as the master. Throws when there is no such one.
  [[nodiscard]] RedisServer& master();

  /// Kills the master without a warning and waits for the new one, which is answered. Throws when
  /// there is none within a minute.
  RedisServer& fail_over_by_kill();
  /// Waits until most Sentinels name another master than `old`, and that one says so itself.
  RedisServer& await_master_other_than(RedisServer const& old);
  /// Has the Sentinels look at the servers and tell each other every 100 ms, so that an old master
  /// is told within a second what it is now; or as often as they usually do, every 10 and 2 s.
  void look_often() { look_every("100", "100"); }
  void look_as_usual() { look_every("10000", "2000"); }
  /// Leaves no key and no script, as if it were new.
  void flush() { master().flush(); }

  /// Waits until so many replicas of `master` are in sync with it. Throws when they are not in
  /// time.
  static void await_replicas(RedisServer& master, int count);

 private:
  void await_agreement();
  void look_every(std::string const& info_ms, std::string const& publish_ms);
  /// By which the Sentinels name it.
  [[nodiscard]] std::uint16_t port_of(RedisServer const& server) const {
    return tls_ ? server.tls_port() : server.port();
  }
  /// 0: most name none.
  [[nodiscard]] std::uint16_t named_by_most() const;

  std::unique_ptr<TlsFiles> tls_;  ///< null: none
  std::array<std::unique_ptr<RedisServer>, 3> servers_;
  std::array<std::unique_ptr<RedisSentinel>, 3> sentinels_;
};

}  // namespace holt::test
