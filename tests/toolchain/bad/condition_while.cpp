// SPDX-License-Identifier: Apache-2.0
// Shape: co_await in the condition of a while.
// Bad with: g++ 12

#include "../task.hpp"

int rounds = 0;

Task<bool> shape() {
  while (co_await is(rounds < 3)) {
    ++rounds;
  }
  co_return rounds == 3;
}

int main() { return run(shape()); }
