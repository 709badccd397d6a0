// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/socket.hpp"

#include "engines/redis/errors.hpp"
#include "engines/redis/tls.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <utility>

namespace holt::redis {
namespace {

using boost::system::error_code;

struct Option {
  int level;
  int name;
  int value;
};

// A server that went away without a word is noticed within half a minute, at no cost while it is
// there; the deadline of a call is shorter still.
constexpr auto tcp_options = std::to_array<Option>({
    {IPPROTO_TCP, TCP_NODELAY, 1},
    {SOL_SOCKET, SO_KEEPALIVE, 1},
    {IPPROTO_TCP, TCP_KEEPIDLE, 10},
    {IPPROTO_TCP, TCP_KEEPINTVL, 5},
    {IPPROTO_TCP, TCP_KEEPCNT, 3},
    {IPPROTO_TCP, TCP_USER_TIMEOUT, 20'000},
});

[[noreturn]] void cannot_connect(Place const& place, error_code const& error) {
  throw failed(ErrorCode::service_unavailable, Outcome::not_applied, "connect",
               fmt::format("cannot connect to {}: {}", place.url(), error.message()),
               "is the server running, and is the address right?");
}

}  // namespace

Socket::Socket(asio::any_io_executor const& executor) : socket_(executor) {}

Socket::~Socket() = default;

asio::awaitable<void> Socket::connect(Place place) {
  if (place.host.empty()) {
    co_await connect_unix(place);
  } else {
    co_await connect_tcp(place);
  }
  if (!place.tls) co_return;
  tls_ = std::make_unique<Tls>(socket_, place);
  co_await tls_->handshake(place);
}

asio::awaitable<void> Socket::connect_tcp(Place const& place) {
  asio::ip::tcp::resolver resolver(socket_.get_executor());
  auto const port = std::to_string(place.port);
  error_code error;
  auto token = asio::redirect_error(asio::use_awaitable, error);
  auto const found = co_await resolver.async_resolve(place.host, port, token);
  if (!error && closed_) error = asio::error::operation_aborted;
  if (error) cannot_connect(place, error);
  for (auto const& entry : found) {
    error_code ignored;
    socket_.close(ignored);
    asio::generic::stream_protocol::endpoint const endpoint(entry.endpoint());
    co_await socket_.async_connect(endpoint, token);
    if (!error || closed_) break;
  }
  if (error) cannot_connect(place, error);
  for (auto const& option : tcp_options) {
    ::setsockopt(socket_.native_handle(), option.level, option.name, &option.value,
                 sizeof option.value);
  }
}

asio::awaitable<void> Socket::connect_unix(Place const& place) {
  if (place.path.size() >= sizeof(sockaddr_un::sun_path)) {
    throw failed(ErrorCode::invalid_argument, Outcome::not_applied, "connect",
                 fmt::format("the path {} is too long for a socket", place.path));
  }
  error_code error;
  auto token = asio::redirect_error(asio::use_awaitable, error);
  asio::local::stream_protocol::endpoint const local(place.path);
  asio::generic::stream_protocol::endpoint const endpoint(local);
  co_await socket_.async_connect(endpoint, token);
  if (error) cannot_connect(place, error);
}

std::size_t Socket::write_now(std::string_view bytes) {
  if (tls_) return 0;
  auto const sent =
      ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

void Socket::write(std::string const& bytes, Written done) {
  auto written = [done = std::move(done)](error_code error, std::size_t) mutable { done(error); };
  if (tls_) {
    asio::async_write(tls_->stream(), asio::buffer(bytes), std::move(written));
  } else {
    asio::async_write(socket_, asio::buffer(bytes), std::move(written));
  }
}

void Socket::read_some(asio::mutable_buffer into, Received done) {
  if (tls_) {
    tls_->stream().async_read_some(into, std::move(done));
  } else {
    socket_.async_read_some(into, std::move(done));
  }
}

void Socket::close() {
  closed_ = true;
  error_code ignored;
  socket_.close(ignored);
}

EngineError broken(error_code const& error, std::string_view operation) {
  auto const trouble = tls_trouble(error);
  if (!trouble.reason.empty()) {
    return failed(ErrorCode::auth_failed, Outcome::unknown, operation, trouble.reason,
                  trouble.hint);
  }
  bool const ended = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
  return failed(ErrorCode::service_unavailable, Outcome::unknown, operation,
                ended ? std::string("the server closed the connection")
                      : "the connection broke: " + error.message());
}

}  // namespace holt::redis
