// SPDX-License-Identifier: Apache-2.0
#include "support/servers/reserved_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

namespace holt::test {
namespace {

constexpr int lowest = 12'000;
constexpr int highest = 31'999;

/// The register's entry for this port, or -1 when another has it.
int enter(std::uint16_t port) {
  int const entry = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (entry < 0) return -1;
  auto const name = "holt-test-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // starts with NUL: no file
  auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(entry, reinterpret_cast<sockaddr*>(&address), size) == 0) return entry;
  ::close(entry);
  return -1;
}

/// Whether a server could listen there now.
bool is_free(std::uint16_t port) {
  int const probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_ANY);  // a server on all addresses is in the way too
  bool const free = ::bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(probe);
  return free;
}

}  // namespace

ReservedPort::ReservedPort() {
  std::random_device random;
  std::uniform_int_distribution<int> any(lowest, highest);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    auto const port = static_cast<std::uint16_t>(any(random));
    register_ = enter(port);
    if (register_ < 0) continue;
    if (is_free(port)) {
      number_ = port;
      return;
    }
    ::close(register_);
  }
  throw std::runtime_error("no free port found between 12000 and 31999");
}

ReservedPort::~ReservedPort() {
  if (register_ >= 0) ::close(register_);
}

}  // namespace holt::test
