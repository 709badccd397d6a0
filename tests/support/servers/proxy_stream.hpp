// SPDX-License-Identifier: Apache-2.0
#pragma once
// ProxyStream: one way of one connection through a TcpProxy: reads on one side, keeps bytes until
// they are due, writes on the other. Part of tcp_proxy.cpp.

#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>

namespace holt::test {

using ProxyClock = std::chrono::steady_clock;

/// What happens to one way of all connections.
struct ProxyRules {
  struct Cut {
    std::uint64_t bytes = 0;
    bool at_once = false;  ///< right after them, and not only when more comes
    bool per_connection = false;
  };
  std::optional<Cut> cut;
  std::chrono::nanoseconds delay{};
  bool hold = false;
  bool swallow = false;
};

class ProxyStream {
 public:
  enum class State { open, ended, cut };

  ProxyStream(int from, int to) : from_(from), to_(to) {}

  /// Takes what there is to read.
  void read(ProxyRules& rules);
  /// Hands on what is due; how many bytes.
  std::uint64_t write(ProxyRules const& rules, ProxyClock::time_point now);

  [[nodiscard]] bool wants_to_read() const { return !read_end_ && !cut_ && kept_ < most_kept; }
  [[nodiscard]] bool wants_to_write(ProxyRules const& rules, ProxyClock::time_point now) const {
    return !rules.hold && !pieces_.empty() && pieces_.front().due <= now;
  }
  /// When the next bytes are due; none when there are none or they are held.
  [[nodiscard]] std::optional<ProxyClock::time_point> due(ProxyRules const& rules) const;
  /// Whether all that may go has gone and the connection ends here.
  [[nodiscard]] State state(ProxyRules const& rules) const;

  std::string recorded;

 private:
  struct Piece {
    ProxyClock::time_point due;
    std::string bytes;
  };
  static constexpr std::size_t most_kept = 8 << 20;

  void take(std::string bytes, ProxyRules& rules);
  /// How many of `size` bytes may pass; plans the cut.
  std::size_t allowed(std::size_t size, ProxyRules& rules);

  int from_;
  int to_;
  std::deque<Piece> pieces_;
  std::size_t kept_ = 0;
  std::uint64_t seen_ = 0;
  bool read_end_ = false;
  bool write_failed_ = false;
  bool cut_ = false;
};

}  // namespace holt::test
