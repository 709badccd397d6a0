// SPDX-License-Identifier: Apache-2.0
// Shape: an aggregate temporary that owns something, as an argument of the awaited call.
// Bad with: g++ 12

#include "../task.hpp"

struct Options {
  int ttl = 0;
  std::string owner;
};

Task<bool> acquire(Options options) { co_return options.owner == long_text(); }

Task<bool> shape() { co_return co_await acquire({.ttl = 1, .owner = long_text()}); }

int main() { return run(shape()); }
