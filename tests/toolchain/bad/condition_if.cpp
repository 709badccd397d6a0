// SPDX-License-Identifier: Apache-2.0
// Shape: co_await in the condition of an if, in a coroutine that has declared no local yet.
// g++ 12: the body is skipped, or the value is wrong, without a warning.
// Bad with: g++ 12

#include "../task.hpp"

int entered = 0;

Task<bool> shape() {
  if (co_await is(true)) {
    ++entered;
    co_return entered == 1;
  }
  co_return false;
}

int main() { return run(shape()); }
