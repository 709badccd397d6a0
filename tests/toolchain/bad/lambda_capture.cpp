// SPDX-License-Identifier: Apache-2.0
// Shape: a lambda that captures something it owns, as an argument of the awaited call.
// Bad with: g++ 12

#include "../task.hpp"

template <class F>
Task<bool> call(F f) {
  co_return f() == long_text();
}

Task<bool> shape() {
  std::string const text = long_text();
  bool const right = co_await call([text] { return text; });
  co_return right;
}

int main() { return run(shape()); }
