// SPDX-License-Identifier: Apache-2.0
#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace holt {

void check_failed(char const* expression, char const* file, int line) {
  std::fprintf(stderr, "holt: broken invariant: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace holt
