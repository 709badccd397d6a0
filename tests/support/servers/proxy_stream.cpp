// SPDX-License-Identifier: Apache-2.0
#include "support/servers/proxy_stream.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace holt::test {

void ProxyStream::read(ProxyRules& rules) {
  std::array<char, 65536> buffer;  // NOLINT(*-member-init): filled by recv
  auto const got = ::recv(from_, buffer.data(), buffer.size(), 0);
  if (got > 0) {
    take(std::string(buffer.data(), static_cast<std::size_t>(got)), rules);
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    read_end_ = true;
  }
}

void ProxyStream::take(std::string bytes, ProxyRules& rules) {
  recorded += bytes;
  if (rules.swallow) return;
  bytes.resize(allowed(bytes.size(), rules));
  if (bytes.empty()) return;
  kept_ += bytes.size();
  pieces_.push_back({ProxyClock::now() + rules.delay, std::move(bytes)});
}

std::size_t ProxyStream::allowed(std::size_t size, ProxyRules& rules) {
  auto const before = seen_;
  seen_ += size;
  if (!rules.cut) return size;
  auto& cut = *rules.cut;
  auto const done = cut.per_connection ? before : 0;
  auto const left = cut.bytes > done ? cut.bytes - done : 0;
  if (size < left || (size == left && !cut.at_once)) {
    if (!cut.per_connection) cut.bytes -= size;
    return size;
  }
  cut_ = true;
  if (!cut.per_connection) rules.cut.reset();
  return static_cast<std::size_t>(left);
}

std::uint64_t ProxyStream::write(ProxyRules const& rules, ProxyClock::time_point now) {
  std::uint64_t written = 0;
  while (!write_failed_ && wants_to_write(rules, now)) {
    auto& bytes = pieces_.front().bytes;
    auto const put = ::send(to_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0) {
      write_failed_ = errno != EAGAIN && errno != EINTR;
      break;
    }
    written += static_cast<std::uint64_t>(put);
    kept_ -= static_cast<std::size_t>(put);
    bytes.erase(0, static_cast<std::size_t>(put));
    if (bytes.empty()) pieces_.pop_front();
  }
  return written;
}

std::optional<ProxyClock::time_point> ProxyStream::due(ProxyRules const& rules) const {
  if (rules.hold || pieces_.empty()) return std::nullopt;
  return pieces_.front().due;
}

ProxyStream::State ProxyStream::state(ProxyRules const& rules) const {
  if (write_failed_) return State::ended;
  if (!pieces_.empty()) return State::open;
  if (cut_) return State::cut;
  return read_end_ && !rules.hold && !rules.swallow ? State::ended : State::open;
}

}  // namespace holt::test
