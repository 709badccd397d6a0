// SPDX-License-Identifier: Apache-2.0
#include "redis/scripted_server.hpp"

#include "support/servers/redis_traffic.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace holt::test {
namespace {

int listen_on(std::uint16_t port) {
  int const listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int const yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 16) != 0) {
    throw std::runtime_error("cannot listen");
  }
  return listener;
}

}  // namespace

ScriptedServer::ScriptedServer(Answer answer)
    : answer_(std::move(answer)),
      listener_(listen_on(port_.number())),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { serve(); }) {}

ScriptedServer::~ScriptedServer() {
  ::eventfd_write(stop_, 1);
  thread_.join();
  for (auto const& client : clients_) ::close(client.socket);
  ::close(listener_);
  ::close(stop_);
}

std::string ScriptedServer::greeting() {
  std::string const text =
      "role:master\r\nmaster_replid:0123456789012345678901234567890123456789\r\n"
      "redis_version:7.0.0\r\nmaxmemory_policy:noeviction\r\n";
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

void ScriptedServer::serve() {
  while (true) {
    std::vector<pollfd> ready{{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (auto const& client : clients_) ready.push_back({client.socket, POLLIN, 0});
    ::poll(ready.data(), ready.size(), -1);
    if (ready[0].revents != 0) return;
    for (std::size_t i = clients_.size(); i-- > 0;) {
      if (ready[i + 2].revents == 0 || receive(clients_[i])) continue;
      ::close(clients_[i].socket);
      clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (ready[1].revents != 0) {
      clients_.push_back({::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC), {}});
      ++connections_;
    }
  }
}

bool ScriptedServer::receive(Client& client) {
  std::array<char, 4096> bytes{};
  auto const got = ::read(client.socket, bytes.data(), bytes.size());
  if (got <= 0) return false;
  client.received.append(bytes.data(), static_cast<std::size_t>(got));
  hear(client);
  return true;
}

void ScriptedServer::hear(Client& client) {
  auto const commands = commands_in(client.received);
  for (; client.answered < commands.size(); ++client.answered) {
    auto const& words = commands[client.answered];
    auto const reply = words[0] == "INFO" ? greeting() : answer_(words);
    [[maybe_unused]] auto const sent =
        ::send(client.socket, reply.data(), reply.size(), MSG_NOSIGNAL);
  }
}

}  // namespace holt::test
