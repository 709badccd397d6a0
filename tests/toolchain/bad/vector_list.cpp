// SPDX-License-Identifier: Apache-2.0
// Shape: a list of texts in braces, as an argument of the awaited call.
// g++ 12: does not compile ("array used as initializer").
// Bad with: g++ 12

#include "../task.hpp"

#include <vector>

Task<bool> count(std::vector<std::string> names) { co_return names.size() == 2; }

Task<bool> shape() { co_return co_await count({std::string("a"), long_text()}); }

int main() { return run(shape()); }
