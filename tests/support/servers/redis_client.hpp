// SPDX-License-Identifier: Apache-2.0
#pragma once
// RedisClient: one blocking connection with which a test plays the other side in plain commands: it
// looks at what an engine stored, plays a stranger's client, tells a server what to do. No TLS.
//
// A call waits 10 s at most and throws std::runtime_error when there is no answer; the connection
// is of no use then. One thread.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct redisContext;

namespace holt::test {

struct RedisReply {
  enum class Kind { nil, integer, text, status, error, array };

  Kind kind = Kind::nil;
  std::int64_t integer = 0;
  std::string text;  ///< of text, status and error
  std::vector<RedisReply> items;

  [[nodiscard]] bool is_error() const { return kind == Kind::error; }
  [[nodiscard]] bool is_nil() const { return kind == Kind::nil; }
};

class RedisClient {
 public:
  using Words = std::vector<std::string>;

  /// Connects to 127.0.0.1; throws when that fails.
  explicit RedisClient(std::uint16_t port);
  /// Connects to a unix socket.
  explicit RedisClient(std::string const& socket_path);

  /// How long a call may take from now on.
  void set_patience(std::chrono::milliseconds patience);

  /// Sends the command and answers what came back, an error reply too.
  RedisReply ask(Words const& words);

  // As ask(); an error reply, or one of another kind, throws. -------------------------------------

  /// Of a text or status; a nil throws.
  std::string text(Words const& words);
  std::int64_t number(Words const& words);
  /// Any reply but an error.
  RedisReply done(Words const& words);

  // For subscriptions and the like. ---------------------------------------------------------------

  void send(Words const& words);
  /// The next reply.
  RedisReply receive();

 private:
  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

/// The value of `field:` in the text of INFO, CLUSTER INFO and the like; empty when it is not
/// there.
[[nodiscard]] std::string info_field(std::string const& text, std::string const& field);

}  // namespace holt::test
