// SPDX-License-Identifier: Apache-2.0
// Takes a lock and prints its fence: the program that docs/install.md shows.
#include <holt/holt.hpp>

#include <iostream>

int main() {
  auto holt = holt::open();
  auto lock = holt.lock("deploy", {.wait = std::chrono::seconds(10)});
  if (!lock) return 1;
  std::cout << "fence " << lock->fence().decimal() << '\n';
}
