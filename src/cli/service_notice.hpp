// SPDX-License-Identifier: Apache-2.0
#pragma once
// What systemd wants to hear of a service of Type=notify, by the datagrams that sd_notify(3)
// describes. Where nobody asked (NOTIFY_SOCKET is not set) it does nothing.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holt::cli {

class ServiceNotice {
 public:
  /// Reads NOTIFY_SOCKET, a path or (@...) an abstract name, WATCHDOG_USEC and WATCHDOG_PID.
  ServiceNotice();

  /// `status` is for people: `systemctl status` shows it. Any thread.
  void ready(std::string_view status) const;
  void status(std::string_view status) const;
  void stopping() const;
  void alive() const;

  /// How often it wants to hear alive(): twice as often as it looks. Nothing: never.
  [[nodiscard]] std::optional<std::chrono::milliseconds> alive_every() const noexcept {
    return alive_every_;
  }

 private:
  void send(std::string_view message) const;

  std::string socket_;  ///< empty: nobody listens
  std::optional<std::chrono::milliseconds> alive_every_;
};

}  // namespace holt::cli
