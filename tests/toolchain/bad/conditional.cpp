// SPDX-License-Identifier: Apache-2.0
// Shape: co_await in the condition of ?: whose branches make something that owns memory.
// Bad with: g++ 12

#include "../task.hpp"

Task<bool> shape() {
  std::string const text = co_await is(true) ? long_text() + "a" : long_text() + "b";
  co_return text == long_text() + "a";
}

int main() { return run(shape()); }
