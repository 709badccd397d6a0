// SPDX-License-Identifier: Apache-2.0
#include "client/node_name.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>

namespace holt::client {

std::string host_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}

std::string node_name(Env& env) {
  auto const started =
      std::chrono::duration_cast<std::chrono::nanoseconds>(env.wall().time_since_epoch());
  return fmt::format("{}-{}-{:08x}", host_name(), started.count(),
                     static_cast<std::uint32_t>(env.random()));
}

std::string process_name() { return fmt::format("{}-{}", host_name(), ::getpid()); }

}  // namespace holt::client
