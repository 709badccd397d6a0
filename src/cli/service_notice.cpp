// SPDX-License-Identifier: Apache-2.0
#include "cli/service_notice.hpp"

#include "cli/descriptor.hpp"
#include "cli/flag.hpp"
#include "cli/text.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

std::string_view variable(char const* name) {
  auto const* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

std::optional<std::chrono::milliseconds> half_of_watchdog() {
  auto const time = parse_count(variable("WATCHDOG_USEC"));
  auto const pid = parse_count(variable("WATCHDOG_PID"));
  if (!time || (pid && *pid != static_cast<std::uint64_t>(::getpid()))) return std::nullopt;
  constexpr std::uint64_t a_day = 86'400'000'000;
  std::chrono::microseconds const whole(std::clamp<std::uint64_t>(*time, 2'000, a_day));
  return std::chrono::floor<std::chrono::milliseconds>(whole / 2);
}

/// One line, whatever was in it.
std::string status_line(std::string_view status) { return "STATUS=" + printable(status); }

}  // namespace

ServiceNotice::ServiceNotice() : socket_(variable("NOTIFY_SOCKET")) {
  bool const usable = socket_.starts_with('/') || socket_.starts_with('@');
  if (!usable || socket_.size() >= sizeof sockaddr_un::sun_path) socket_.clear();
  if (!socket_.empty()) alive_every_ = half_of_watchdog();
}

void ServiceNotice::ready(std::string_view status) const {
  send("READY=1\n" + status_line(status));
}

void ServiceNotice::status(std::string_view status) const { send(status_line(status)); }

void ServiceNotice::stopping() const { send("STOPPING=1"); }

void ServiceNotice::alive() const { send("WATCHDOG=1"); }

void ServiceNotice::send(std::string_view message) const {
  if (socket_.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(socket_, address.sun_path);
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  Descriptor const out(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // Nor may a lack of descriptors or a full queue hold us up; a word that is lost is followed by
  // others.
  if (out.get() < 0) return;
  ::sendto(out.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<sockaddr const*>(&address), size);
}

}  // namespace holt::cli
