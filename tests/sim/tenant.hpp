// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tenant: one replica after the other on one node. In the storm it comes up under a name or a
// number, by force, as one more replica, in a folder that others want too; stops, and ends others
// from afar. When the world has healed it must lead once. The landlord judges.

#include "primitives/replica.hpp"
#include "sim/client.hpp"
#include "sim/landlord.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace holt::sim {

class Tenant {
 public:
  Tenant(Tools tools, RecordStore& records, Landlord& landlord, std::uint32_t number);

  /// Works until it has led in a healthy world, or until the end, or until its node is dead.
  asio::awaitable<void> run();

  void die();
  [[nodiscard]] bool served() const { return dead_ || served_; }

 private:
  [[nodiscard]] bool over() const { return dead_ || served_ || tools_.phase.ending; }
  asio::awaitable<void> act();
  asio::awaitable<void> come_up();
  asio::awaitable<void> go(bool well);
  asio::awaitable<void> stop();
  asio::awaitable<void> end_one();
  Charter charter();
  std::string choose_name();
  void hear(std::int64_t pid, InstanceEvent const& event);
  void say(std::string const& text) { tools_.env.world().say(tools_.env.node(), text); }
  void expect(bool is_so, std::string const& promise);

  Tools tools_;
  Landlord& landlord_;
  Random random_;
  InstanceRegister instances_;
  std::string id_;
  std::string host_;
  std::unique_ptr<Replica> replica_;  ///< null: none is up
  std::int64_t heard_end_of_ = 0;     ///< the last replica that was told that it is over
  bool dead_ = false;
  bool served_ = false;
};

}  // namespace holt::sim
