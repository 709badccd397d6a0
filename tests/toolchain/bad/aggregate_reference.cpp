// SPDX-License-Identifier: Apache-2.0
// Shape: the same, taken by reference to const.
// Bad with: g++ 12

#include "../task.hpp"

struct Options {
  int ttl = 0;
  std::string owner;
};

Task<bool> acquire(Options const& options) { co_return options.owner == long_text(); }

Task<bool> shape() { co_return co_await acquire({.ttl = 1, .owner = long_text()}); }

int main() { return run(shape()); }
