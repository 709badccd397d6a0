// SPDX-License-Identifier: Apache-2.0
// Shape: an aggregate initialised with braces around a co_await.
// Bad with: g++ 12

#include "../task.hpp"

struct Inner {
  std::string text;
};
struct Outer {
  Inner inner;
};

Task<std::string> text() { co_return long_text(); }

Task<bool> shape() {
  Outer outer{Inner(co_await text())};
  co_return outer.inner.text == long_text();
}

int main() { return run(shape()); }
