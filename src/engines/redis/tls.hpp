// SPDX-License-Identifier: Apache-2.0
#pragma once
// TLS on a connected socket: the server must show a certificate of an authority that is trusted,
// for the name that was asked for.

#include "engines/redis/place.hpp"

#include <holt/error.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/system/error_code.hpp>

#include <string>

namespace holt::redis {

namespace asio = boost::asio;

class Tls {
 public:
  using Stream = asio::ssl::stream<asio::generic::stream_protocol::socket&>;

  /// Reads the files that `place` names, so that renewed ones count for the next connection. Throws
  /// EngineError. The socket must stay.
  Tls(asio::generic::stream_protocol::socket& socket, Place const& place);

  /// Throws EngineError, which says what is wrong with whose certificate.
  asio::awaitable<void> handshake(Place const& place);

  [[nodiscard]] Stream& stream() { return stream_; }

 private:
  asio::ssl::context context_;
  Stream stream_;
};

/// What an error on an established stream means, where TLS can tell; else empty. A server refuses
/// our certificate only after our side of the handshake is done.
struct TlsTrouble {
  std::string reason;
  std::string hint;
};
[[nodiscard]] TlsTrouble tls_trouble(boost::system::error_code const& error);

}  // namespace holt::redis
