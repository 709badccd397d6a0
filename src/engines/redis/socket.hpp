// SPDX-License-Identifier: Apache-2.0
#pragma once
// A connected stream to the server: TCP, TLS over it, or a Unix socket. On one executor.

#include "engines/redis/place.hpp"

#include <holt/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace holt::redis {

namespace asio = boost::asio;

class Tls;

class Socket {
 public:
  using Written = std::move_only_function<void(boost::system::error_code)>;
  using Received = std::move_only_function<void(boost::system::error_code, std::size_t)>;

  explicit Socket(asio::any_io_executor const& executor);
  ~Socket();
  Socket(Socket const&) = delete;
  Socket& operator=(Socket const&) = delete;

  /// Once. Throws EngineError with outcome not_applied. close() ends it.
  asio::awaitable<void> connect(Place place);

  /// Writes what can be written without waiting and answers how much that is; with TLS nothing. The
  /// rest, and what went wrong, is for write(). Not while that is under way.
  std::size_t write_now(std::string_view bytes);
  /// Writes all of `bytes`, which must stay until it is done. One at a time.
  void write(std::string const& bytes, Written done);
  /// Reads what there is, at least a byte. One at a time.
  void read_some(asio::mutable_buffer into, Received done);
  /// What is under way ends with an error.
  void close();

 private:
  asio::awaitable<void> connect_tcp(Place const& place);
  asio::awaitable<void> connect_unix(Place const& place);

  asio::generic::stream_protocol::socket socket_;
  std::unique_ptr<Tls> tls_;
  bool closed_ = false;
};

/// The exception for an error of write() or read_some().
[[nodiscard]] EngineError broken(boost::system::error_code const& error,
                                 std::string_view operation);

}  // namespace holt::redis
