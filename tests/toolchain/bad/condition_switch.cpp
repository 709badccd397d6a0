// SPDX-License-Identifier: Apache-2.0
// Shape: co_await in the condition of a switch.
// Bad with: g++ 12

#include "../task.hpp"

Task<bool> shape() {
  switch (co_await number(2)) {
    case 1:
      co_return false;
    case 2:
      co_return true;
    default:
      co_return false;
  }
}

int main() { return run(shape()); }
