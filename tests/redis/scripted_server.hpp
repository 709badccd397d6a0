// SPDX-License-Identifier: Apache-2.0
#pragma once
// ScriptedServer: answers what a test wants, for replies that a real Redis cannot be made to give.
// It greets as a master does; everything else it asks `answer` about.

#include "support/servers/reserved_port.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace holt::test {

class ScriptedServer {
 public:
  using Words = std::vector<std::string>;
  /// The bytes to send back, as they go over the wire; nothing for no reply. On its own thread.
  using Answer = std::function<std::string(Words const&)>;

  explicit ScriptedServer(Answer answer);
  /// Ends all connections.
  ~ScriptedServer();
  ScriptedServer(ScriptedServer const&) = delete;
  ScriptedServer& operator=(ScriptedServer const&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_.number(); }
  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port()); }
  /// Accepted until now.
  [[nodiscard]] int connections() const { return connections_; }

  /// What INFO says on a master.
  [[nodiscard]] static std::string greeting();

 private:
  struct Client {
    int socket;
    std::string received;
    std::size_t answered = 0;
  };
  void serve();
  void hear(Client& client);
  bool receive(Client& client);

  Answer answer_;
  ReservedPort port_;
  int listener_ = -1;
  int stop_ = -1;
  std::atomic<int> connections_ = 0;
  std::vector<Client> clients_;
  std::thread thread_;
};

/// An error reply.
[[nodiscard]] inline std::string error_reply(std::string const& text) {
  return "-" + text + "\r\n";
}

}  // namespace holt::test
