// SPDX-License-Identifier: Apache-2.0
// Holds a lock by the library, for tests/compare: `holder STORE TTL_MS`. Says `holding FENCE`, and
// `lost` when the library tells it so. Lets go when its stdin ends. holder.mjs is the same with
// SyncGuard.

#include <holt/holt.hpp>

#include <charconv>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>

namespace {

void say(std::string const& text) { std::cout << text + "\n" << std::flush; }

void hold(std::string const& store, std::chrono::milliseconds ttl) {
  auto holt = holt::open(store);
  say("waiting");
  auto lock = holt.lock("x", {.ttl = ttl, .wait = holt::wait_forever});
  if (!lock) return say("busy");
  say("holding " + lock->fence().decimal());
  auto const tell = [] { say("lost"); };
  std::optional<std::stop_callback<decltype(tell)>> told(std::in_place, lock->lost(), tell);
  std::string line;
  std::getline(std::cin, line);
  told.reset();
  say(lock->release() ? "released" : "not ours any more");
}

}  // namespace

int main(int argc, char** argv) {
  int ttl = 0;
  if (argc != 3) return 2;
  std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), ttl);
  hold(argv[1], std::chrono::milliseconds(ttl));
}
