// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reminders: who let go of a name that was then offered to the head of its line sees to it that the
// one behind hears of it, if the offer is not taken soon (scripts/release.lua says why). One that
// is about to be sent when the engine closes is sent then. On the executor only.

#include "contracts/env.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/servers.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace holt::redis {

class Reminders {
 public:
  Reminders(Env& env, Servers& servers, Keys const& keys);

  /// The name was offered to `offered`; behind it stands `first`.
  void remind_later(std::string_view name, std::string_view offered, std::string_view first);

  [[nodiscard]] bool about(std::string_view name) const;
  /// Somebody has the name: no need to remind anybody.
  void settled(std::string_view name);

  /// Not on the executor; sends those that are left, without asking whether they are needed.
  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::redis
