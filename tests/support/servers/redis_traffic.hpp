// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a client said to a Redis, read from the bytes that a TcpProxy recorded.

#include "support/servers/tcp_proxy.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holt::test {

/// The commands in one direction of one connection, each as its words. A command that was not sent
/// to its end is left out. Throws std::runtime_error when the bytes are not commands.
[[nodiscard]] std::vector<std::vector<std::string>> commands_in(std::string_view bytes);

/// Those that all clients of the proxy sent, connection by connection.
[[nodiscard]] std::vector<std::vector<std::string>> commands_sent(TcpProxy const& proxy);

}  // namespace holt::test
