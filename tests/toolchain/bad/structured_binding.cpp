// SPDX-License-Identifier: Apache-2.0
// Shape: auto [a, b] = co_await. Right with g++ 12; g++ 15 and 16 skip its destructor
// (gcc PR 124584), so the rule is kept for those who come with a newer compiler.
// Bad with: g++ 15, 16

#include "../task.hpp"

int alive = 0;

struct Counted {
  Counted() { ++alive; }
  Counted(Counted&&) noexcept { ++alive; }
  ~Counted() { --alive; }
};

struct Two {
  Counted counted;
  int number = 0;
};

Task<Two> two() { co_return Two{{}, 2}; }

Task<bool> inner() {
  auto [counted, number] = co_await two();
  co_return number == 2 && alive > 0;
}

int main() { return run(inner()) != 0 || alive != 0 ? 1 : 0; }
