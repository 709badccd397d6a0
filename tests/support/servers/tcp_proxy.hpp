// SPDX-License-Identifier: Apache-2.0
#pragma once
// TcpProxy: stands between a test's client and a server on 127.0.0.1 and does to their connections
// what networks do: cut them at a chosen byte, keep bytes back, lose them, refuse. It counts and
// records all that it sees.
//
// It has one thread of its own. Every call is carried out there and has been when it returns; calls
// may come from any thread. What is set holds for connections that are open and for later ones,
// until pass().
//
// An end of connection travels like the byte after the last one: where bytes are kept back or
// swallowed it is too, so that a server that dies behind a black hole is not noticed.

#include "support/servers/reserved_port.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holt::test {

enum class Way { to_server, to_client };

class TcpProxy {
 public:
  /// What bytes are counted against the number that a cut names.
  enum class Count {
    from_now,        ///< of all connections together, from the call on; cuts one, once
    per_connection,  ///< of each connection from its beginning; cuts every one, until pass()
  };

  explicit TcpProxy(std::uint16_t server_port);
  /// Ends all connections.
  ~TcpProxy();
  TcpProxy(TcpProxy const&) = delete;
  TcpProxy& operator=(TcpProxy const&) = delete;

  /// Where clients connect, on 127.0.0.1.
  [[nodiscard]] std::uint16_t port() const { return port_.number(); }
  /// Connections made from now on go there.
  void set_server(std::uint16_t server_port);

  // Faults. ---------------------------------------------------------------------------------------

  /// Ends all faults; bytes that were kept back go on, in order.
  void pass();
  /// Lets `bytes` through and ends the connection when one more wants to go this way, which is
  /// lost.
  void cut_before(Way way, std::uint64_t bytes = 0, Count count = Count::from_now);
  /// Lets `bytes` through and ends the connection right after them, before anything comes back.
  void cut_after(Way way, std::uint64_t bytes, Count count = Count::from_now);
  /// Ends all connections that are open.
  void cut_all();
  /// Every byte arrives this much later, in order.
  void delay(Way way, std::chrono::nanoseconds by);
  /// Bytes wait here until pass().
  void hold(Way way);
  /// Bytes of this way are lost; the connection stays open.
  void swallow(Way way);
  /// Connections are accepted and never answered, open ones fall silent, both ways. pass() ends
  /// those that were made meanwhile.
  void black_hole();
  /// Nobody listens: new connections are refused. Open ones go on.
  void refuse();

  // What has happened. ----------------------------------------------------------------------------

  /// Accepted until now.
  [[nodiscard]] std::uint64_t connections() const;
  [[nodiscard]] std::uint64_t open_connections() const;
  /// Ended by a cut.
  [[nodiscard]] std::uint64_t cuts() const;
  /// Handed on to the other side, over all connections.
  [[nodiscard]] std::uint64_t bytes(Way way) const;
  /// All that came from one side, whether it was handed on or not: one text per connection, in the
  /// order they were made, those that have ended too.
  [[nodiscard]] std::vector<std::string> recorded(Way way) const;
  /// Sets all counts to 0 and forgets what was recorded. Open connections are recorded from here.
  void forget();

 private:
  class Loop;

  ReservedPort port_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace holt::test
